// Package dialects compares pkg/source with other readers, dialect by dialect. The files have the rows of a random
// table, in the text format that each exporter documents. Package source and a judge read them, and the rows of the
// table, of the judge and of the reader must be the same. It has tests only.
//
// After every 256 KiB a file has a zone of rows with the difficult texts of its dialect: quotes, escapes, separators
// and parts of them, line ends, texts for NULL, characters whose second byte is a backslash. A value of the first
// record is made longer, byte by byte, so that a boundary of splits falls on each byte of each of these texts in each
// zone. Small files are read in splits and chunks of a few bytes, where every position is a boundary. Damaged files
// have no judge: their rows, bad records and errors must not depend on splits, chunks and workers.
//
// TestRandom also draws the dialect: separators, quotes, escapes, texts for NULL and similar texts, headers, comments
// and compressions. Its judge is a reader in plain_test.go, which works byte by byte and shares only the names of
// settings with the program.
//
// The judge of all others is testdata/judge.py. With -short there is none, and rows are compared with the table only.
// Otherwise it needs python3, without packages. With BULKLOAD_DIALECTS=1 files have 50 MB, and DuckDB and fastavro
// read those that they can; make test-dialects installs them. A missing judge is a failure.
//
// Settings from the environment:
//
//	BULKLOAD_DIALECTS         "1": large files, all judges
//	BULKLOAD_DIALECTS_PYTHON  the python3 with duckdb, fastavro, cramjam and backports.zstd
//	BULKLOAD_DIALECTS_SEED    seed of the tables and of the damage, printed by every run
//	BULKLOAD_DIALECTS_DAMAGE  damaged files of each dialect (default 60, with -short 20)
//	BULKLOAD_DIALECTS_FILES   files of TestRandom (default 2000, with -short or -race 300)
package dialects
