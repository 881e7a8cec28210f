// Package testcheck has helpers that most tests of this module need and the standard library lacks: a check of an error, a wait for a
// condition, reproducible random numbers, unique names, a local server, and Java programs.
//
//	r := testcheck.Rand(t)               // prints its seed when the test fails
//	testcheck.Check(t, property)         // rapid.Check with that seed
//	table := "test:" + testcheck.Name(t) // of this test and this run alone
//	testcheck.Must(t, err)
//	testcheck.Eventually(t, time.Minute, "the region is open", func() (bool, any) {
//		state, err := admin.State(ctx, region)
//		return state == "OPEN", cmp.Or[any](err, state)
//	})
//
// It imports no package of the module, so that the tests of every package can use it.
package testcheck
