//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// linksTo is how many names a file has.
func linksTo(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink) //nolint:unconvert // narrower on some systems
	}
	return 1
}

// keepOwner gives a new file the owner of the one that it replaces. Only root may give files away; from anybody else's it becomes that
// user's own.
func keepOwner(f *os.File, like fs.FileInfo) {
	s, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if err := f.Chown(int(s.Uid), int(s.Gid)); err != nil {
		f.Chown(-1, int(s.Gid)) //nolint:errcheck // where that is allowed, see above
	}
}
