// Package partition maps row keys to regions and computes split points. Keys
// are compared as unsigned bytes; a split point is the first key of the region
// that it opens.
package partition
