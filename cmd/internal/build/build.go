// Package build says of which version the programs of this module are, so that all of them say the same.
package build

import "runtime/debug"

// Version is the version of the running program: linked, which releases set, else that of the module that `go install` built, else
// "devel".
func Version(linked string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return VersionOf(info, linked)
}

// VersionOf is the version of a program that was built so.
func VersionOf(info *debug.BuildInfo, linked string) string {
	switch {
	case linked != "":
		return linked
	case info.Main.Version != "" && info.Main.Version != "(devel)":
		return info.Main.Version
	}
	return "devel"
}
