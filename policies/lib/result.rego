# METADATA
# title: Results of policies
# description: |-
#   What a policy puts into its set of findings. A finding is an object with path and message; at() and with_more() make one, and
#   a policy that judges thousands of objects writes the object out, which costs less.
package meshvet.lib.result

import rego.v1

# METADATA
# description: |-
#   A finding about the field at a path, such as ["spec", "ports", 0, "protocol"]. The message is one sentence without a full
#   stop that says what is wrong, with the value.
at(path, message) := {"path": path, "message": message}

# METADATA
# description: |-
#   A finding with more to it. Known keys: effect (what Envoy will do), severity (overrides the policy's own), key (true: point
#   at the field's name, not its value), related (list of also()), fixes (list of fix() and create()), subject ({"hosts": [],
#   "ports": [], "blocks": [], "fields": [], "objects": []}: what the finding is about, by which one finding supersedes another; blocks are
#   those of a traffic policy, fields the paths of other fields of the object that it accounts for, objects are other objects, as the mesh
#   built-ins give them).
with_more(finding, more) := object.union(finding, more)

# METADATA
# description: Another place in the same object that has to do with a finding.
also(path, message) := {"path": path, "message": message}

# METADATA
# description: |-
#   A place in another object of the mesh that has to do with a finding. The target is {"kind", "namespace", "name"}, as the
#   mesh built-ins give it.
also_in(target, path, message) := object.union(target, {"path": path, "message": message})

# METADATA
# description: |-
#   A change that would cure a finding: JSON Patch operations with the path as a list. Safety is "safe" (nothing changes that
#   the author's values do not name), "unsafe" (brings in a choice) or "show" (to be read, not applied).
fix(title, safety, ops) := {"title": title, "safety": safety, "ops": ops}

# METADATA
# description: A change that writes fields, given as {"path", "value"}; mappings that are missing on the way are created.
set(title, safety, settings) := {"title": title, "safety": safety, "set": settings}

# METADATA
# description: A change that creates an object, written after the file of the one that is judged.
create(title, manifest) := {"title": title, "safety": "unsafe", "create": {"object": manifest}}

# METADATA
# description: Not a finding, but the reason why the policy cannot judge the object; reports list it as skipped.
skip(reason) := {"path": [], "message": "", "skip": reason}
