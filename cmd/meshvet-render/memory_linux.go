package main

import "syscall"

// limitMemory makes the kernel refuse more memory than a number of bytes. That ends the program, in the words of Go's runtime.
func limitMemory(bytes int64) {
	limit := syscall.Rlimit{Cur: uint64(bytes), Max: uint64(bytes)}
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &limit) // where it fails, the deadline is what bounds the program
}
