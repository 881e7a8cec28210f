// Package race detects the race detector, with which tests take ten times as long. Tests of large inputs, or of many cases in
// which the same code runs, then take fewer; make test runs all of them. The package is a leaf: tests of all packages share it.
package race
