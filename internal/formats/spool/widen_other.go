//go:build !linux

package spool

import "os"

// Widen does nothing on systems that do not let a process set the capacity of a pipe.
func Widen(*os.File) {}
