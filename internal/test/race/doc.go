// Package race detects the race detector, with which tests take ten times as long. Tests of large inputs, or of many cases in
// which the same code runs, then take fewer; make test runs all of them. It is a small leaf of its own: tests of all packages share it.
package race
