// Package release makes the archives of a release: for each platform one
// tar.gz with the program, its documentation, completions and man pages, and a
// list of the modules that are in it.
//
// The same commit gives the same archives, byte for byte, wherever the same Go
// is: files are those that git knows, in order, without an owner, and of the
// commit's time.
package release
