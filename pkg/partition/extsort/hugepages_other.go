//go:build !linux

package extsort

// hugePages does nothing: other systems choose the page size themselves.
func hugePages([]byte) {}
