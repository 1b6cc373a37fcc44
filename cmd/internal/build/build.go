// Package build says of which version the programs of this module are, so that all of them say the same.
package build

import "runtime/debug"

// Version is the version of the running program: linked, which releases set, else that of the module that `go install` built, else
// "devel".
func Version(linked string) string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}
