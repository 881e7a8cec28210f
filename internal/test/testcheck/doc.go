// Package testcheck has what most tests of this module need and the standard library does not have: a check of an error, a wait for a
// condition, random numbers that can be drawn again, names that no other test has, a server of its own, and a program of Java.
//
//	r := testcheck.Rand(t)               // says its seed when the test fails
//	testcheck.Check(t, property)         // rapid.Check with that seed
//	table := "test:" + testcheck.Name(t) // of this test and this run alone
//	testcheck.Must(t, err)
//	testcheck.Eventually(t, time.Minute, "the region is open", func() (bool, any) {
//		state, err := admin.State(ctx, region)
//		return state == "OPEN", cmp.Or[any](err, state)
//	})
//
// It imports nothing of the module, so that the tests of every package can use it.
package testcheck
