// Package parquet reads Parquet files as text: [Open] reads a footer, [File.Plan] decides which columns are read, and a [Reader] gives the
// rows of row groups as spans. It knows nothing of files and their names.
//
// Arrow's library panics on logical types that it does not know; its column readers copy every value, panic on damaged pages and loop for
// ever on some, and know neither lz4_raw nor byte stream splits. Strings are here used where their page was unpacked, and a dictionary's
// entries become text once. Begin reading at reader.go.
package parquet
