// Package dialects holds pkg/source to other readers, dialect by dialect: files
// of a random table, written as each exporter documents its text, are read by
// package source and by a judge, and all three must have the same rows: the
// table, the judge and the reader. It has tests only.
//
// Every 256 KiB a file has a zone of rows made of what is awkward in its
// dialect: quotes, escapes, separators and parts of them, line ends, texts for
// NULL, characters whose second byte is a backslash. A value of the first record
// is made longer, byte by byte, so that in each such place each of these is
// across a boundary of splits at each of its bytes. Small files are read in
// splits and chunks of a few bytes, where every place is a boundary. Damaged files
// have no judge: their rows, bad records and errors must not depend on splits,
// chunks and workers.
//
// TestRandom draws the dialect too: separators, quotes, escapes, texts for NULL and
// neighbours of them, headers, comments and compressions. Its judge is a reader in
// plain_test.go, which goes byte by byte and has nothing of the program but the
// settings' names.
//
// The judge of all others is testdata/judge.py. With -short there is none, and rows are
// compared with the table alone. Otherwise it needs python3 and no packages of
// it. With BULKLOAD_DIALECTS=1 files have 50 MB, and DuckDB and fastavro read
// what they can; make test-dialects installs them. A missing judge is a failure.
//
// Settings from the environment:
//
//	BULKLOAD_DIALECTS         "1": large files, all judges
//	BULKLOAD_DIALECTS_PYTHON  the python3 with duckdb, fastavro, cramjam and backports.zstd
//	BULKLOAD_DIALECTS_SEED    seed of the tables and of the damage, printed by every run
//	BULKLOAD_DIALECTS_DAMAGE  damaged files of each dialect (default 60, with -short 20)
//	BULKLOAD_DIALECTS_FILES   files of TestRandom (default 2000, with -short or -race 300)
package dialects
