// Package conformance compares pkg/hfile with HBase's own classes: both write random cells with random settings, and
// each reads the files of the other. It has tests only.
//
// The Java side is HFileJudge (testdata/hfile/judge), which runs many commands in one JVM, with the jars of the test
// cluster and the codecs of testdata/hfile/compat/pom.xml. It needs a JDK and Maven; without them a test fails. With
// -short there is no JVM and no comparison.
//
// Settings from the environment:
//
//	BULKLOAD_CONFORMANCE_SEED   seed of the random cases, printed by every run
//	BULKLOAD_CONFORMANCE_CASES  number of cases (default 80; make test-hfiles: 500)
//	BULKLOAD_CONFORMANCE_FIRST  number of the first case (default 0), to run a failing case alone
//	BULKLOAD_CONFORMANCE_CELLS  run TestLarge with that many cells a file
//	BULKLOAD_CONFORMANCE_DIR    directory for failing cases (default: the test's artifacts)
//	BULKLOAD_COMPAT             "1" runs TestVersions: HBase 1.4, 2.4, 2.5 and 3.0
package conformance
