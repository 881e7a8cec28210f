//go:build !linux

package extsort

// hugePages is for Linux alone: other systems choose pages themselves.
func hugePages([]byte) {}
