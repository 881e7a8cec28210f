// Package conformance holds pkg/hfile against HBase's own classes: random
// cells under random settings are written by both, and each reads what the
// other wrote. It has tests only.
//
// The Java side is HFileJudge (testdata/hfile/judge), many commands in one JVM,
// with the jars of the test cluster and the codecs of
// testdata/hfile/compat/pom.xml. It needs a JDK and Maven; without them a test
// fails. With -short there is no JVM and nothing is compared.
//
// Settings from the environment:
//
//	BULKLOAD_CONFORMANCE_SEED   seed of the random cases, printed by every run
//	BULKLOAD_CONFORMANCE_CASES  how many (default 80; make test-hfiles: 500)
//	BULKLOAD_CONFORMANCE_FIRST  the first of them (default 0): a failing case alone
//	BULKLOAD_CONFORMANCE_CELLS  run TestLarge with that many cells a file
//	BULKLOAD_CONFORMANCE_DIR    where failing cases are kept (default: the test's artifacts)
//	BULKLOAD_COMPAT             "1" runs TestVersions: HBase 1.4, 2.4, 2.5 and 3.0
package conformance
