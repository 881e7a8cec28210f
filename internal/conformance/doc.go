// Package conformance holds pkg/hfile against HBase's own classes: random
// cells under random settings are written by both, and each reads what the
// other wrote. It has tests only.
//
// The Java side is the program in ../shared/oracle, many commands in one JVM
// (testdata/hfile/java), with the jars of the test cluster and the codecs of
// testdata/hfile/compat/pom.xml. Where that program or a JDK is absent the
// comparison is left out, and the cases are still written, read and checked.
//
// Settings from the environment:
//
//	BULKLOAD_CONFORMANCE_SEED   seed of the random cases, printed by every run
//	BULKLOAD_CONFORMANCE_CASES  how many (default 500)
//	BULKLOAD_CONFORMANCE_FIRST  the first of them (default 0): a failing case alone
//	BULKLOAD_CONFORMANCE_CELLS  run TestLarge with that many cells a file
//	BULKLOAD_CONFORMANCE_DIR    where failing cases are kept (default: the test's artifacts)
//	BULKLOAD_COMPAT             "1" runs TestVersions: HBase 1.4, 2.4, 2.5 and 3.0
package conformance
