# METADATA
# title: Durations
# description: What the text of a duration says.
package meshvet.lib.duration

import rego.v1

# METADATA
# description: |-
#   The nanoseconds of a duration such as 1m30s or 0.5s, in the order in which durations are written. Undefined for anything else, and for
#   more than a million hours.
nanoseconds(text) := time.parse_duration_ns(text) if {
	is_string(text)
	text != ""
	regex.match(`^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,9}(\.[0-9]{1,9})?s)?([0-9]{1,6}ms)?$`, text)
}
