// Package partition knows which region a row key belongs to. Keys are
// compared as unsigned bytes; a split point is the first key of the region
// that it opens.
package partition
