// Package testrun runs all tests of the module, each once. In packages whose code starts goroutines the tests run with the race detector
// and -short; what they leave out or make smaller under these two ([race.Reduced], a skip) runs again whole and without it, at the same time as the
// others. Tests of packages without goroutines run whole at once. Results of tests that use a test cluster are never taken from Go's cache.
//
//	err := testrun.Run(ctx, testrun.Options{Out: os.Stdout})
package testrun
