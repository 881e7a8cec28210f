// Package testrun runs all tests of the module, each once. In packages whose code starts goroutines the tests run with the race detector and
// -short. Tests that are skipped or reduced under these two ([race.Reduced], a skip) run again in full without them, concurrently with the others.
// Tests of packages without goroutines run in full at once. Results of tests that use a test cluster are never taken from Go's cache.
//
//	err := testrun.Run(ctx, testrun.Options{Out: os.Stdout})
package testrun
