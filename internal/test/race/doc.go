// Package race lets a test know of the race detector, with which it takes ten times as long. A test of large inputs, or of many
// cases in which the same code runs, then takes fewer; make test has all of them.
// It is a small leaf of its own: tests of all packages share it.
package race
