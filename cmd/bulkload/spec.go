package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/settings"
	"bulkload/pkg/dialect"
	"bulkload/pkg/spec"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// specFlags are the job file and the flags that override its fields.
type specFlags struct {
	jobFile string
	spec    spec.Spec // what flags gave
	inputs  []string
	columns string
	query   string
	expect  int64
}

// readByUsage is that of a flag which several commands have.
const readByUsage = "how the rows of a table come: files (of a snapshot on HDFS, default), scan (from region servers) or auto (scan if HDFS denies the files)"

// add registers the flags. The zero value of each is "not given".
func (s *specFlags) add(f *pflag.FlagSet) {
	s.addTable(f)
	f.StringArrayVar(&s.inputs, "input", nil, "file, directory or glob, local or hdfs://, a pipe, or - for standard input; may be repeated")
	f.StringVar(&s.spec.ReadBy, "read-by", "", readByUsage)
	f.StringVar(&s.spec.Parse, "parse", "", "key spec by which the row keys of an input table were made: the columns that it stores as they are become columns")
	f.StringVar(&s.spec.InputsFrom, "inputs-from", "", "file that lists the inputs, one a line, instead of --input; relative paths are relative to the working directory")
	f.StringVar(&s.spec.Format, "format", "", "csv, dump, parquet, json (lines), avro, or rejects for the bad records of an earlier job (default: by extension and content)")
	f.StringVar(&s.columns, "columns", "", "column names, separated by commas")
	s.addText(f)
	f.StringVar(&s.spec.Empty, "empty", "", "empty values: skip (no cell) or store (an empty cell); default: store in files that have NULL as well, else skip")
	f.StringVar(&s.spec.Duplicates, "duplicates", "", "rows with the same key: fail (default), first or last")
	f.StringVar(&s.spec.BadRecords, "bad-records", "", "bad records to set aside before the job fails: N or P% (default 0)")
	f.BoolVar(&s.spec.AllowEmpty, "allow-empty", false, "accept an input without rows: empty files and directories, headers alone, records that are all bad")
	f.Int64Var(&s.expect, "expect-records", 0, "records that the inputs have, such as what SELECT COUNT(*) said; with another number nothing is loaded")
	f.StringVar(&s.spec.Verify, "verify", "", "after the load: full, files, sample (default) or off")
	f.Int64Var(&s.spec.Timestamp, "timestamp", 0, "timestamp of every cell in milliseconds (default: now)")
	f.StringVar(&s.spec.PhoenixIndexes, "phoenix-indexes", "", "table with Phoenix indexes, for which a load writes no entries: refuse (default) or ignore")
	f.StringVar(&s.spec.Replicate, "replicate", "", "whether peers of replication get the load: yes (default) or no, where they are loaded too")
	f.StringVar(&s.spec.Compression, "compression", "", "overrides the family's: NONE, SNAPPY, GZ, LZ4, ZSTD")
	f.StringVar(&s.spec.CompressionLevel, "compression-level", "", "default, or better: smaller files for more work of the processor")
	f.StringVar(&s.spec.Encoding, "encoding", "", "overrides the family's: NONE, PREFIX, DIFF, FAST_DIFF, ROW_INDEX_V1")
	f.StringVar(&s.spec.Bloom, "bloom", "", "overrides the family's: NONE, ROW, ROWCOL")
	f.Var(&s.spec.BlockSize, "block-size", "overrides the family's, such as 64KiB")
}

// addReplace registers the flags of a job that leaves its table with its own rows alone.
func (s *specFlags) addReplace(f *pflag.FlagSet) {
	f.BoolVar(&s.spec.Replace, "replace", false, "the table holds exactly this export afterwards: its other rows and columns are deleted by markers, in the same load")
	f.StringVar(&s.spec.MaxDeletes, "max-deletes", "", "with --replace, rows of the table that may be deleted: N or P% (default 5%); more, and nothing is loaded")
	f.BoolVar(&s.spec.ReplaceRejected, "replace-rejected", false, "with --replace, bad records may be set aside: the table loses the rows that they have there")
}

// addText registers the flags that say how text is written.
func (s *specFlags) addText(f *pflag.FlagSet) {
	r := &s.spec.Reading
	f.StringVar(&r.Dialect, "dialect", "", "exporter that wrote the text: "+strings.Join(dialect.Presets(), ", "))
	f.StringVar(&s.spec.Header, "header", "", "text: whether the first record holds the column names: yes, no, first (file only), match (if it is the names)")
	f.StringVar(&s.spec.FieldSep, "field-sep", "", `text: between columns, 1 to 8 bytes, such as , or \t or \x01 (default \x01 in a dump, a comma in CSV)`)
	f.StringVar(&s.spec.RecordSep, "record-sep", "", `text: after each record, 1 to 8 bytes (default \x10 in a dump, LF or CR LF in CSV)`)
	f.StringVar(&r.Quote, "quote", "", "text: byte around values, or none")
	f.StringVar(&r.Quotes, "quotes", "", "text: strict (default) or lenient")
	f.StringVar(&r.Escape, "escape", "", "text: byte before one that is taken as it is, or none")
	f.StringVar(&r.EscapeMap, "escape-map", "", "text: what letters after the escape stand for: literal, mysql, mysql-batch, postgres, hive-crlf, jq")
	f.StringArrayVar((*[]string)(&r.NullValue), "null-value", nil, `text: what NULL is written as, such as \N; may be repeated; none`)
	f.StringVar(&r.NullQuoted, "null-quoted", "", "text: whether a value in quotes can be NULL: yes or no")
	f.IntVar(&r.SkipLines, "skip-lines", 0, "text: lines at the start of each file that are no records")
	f.IntVar(&r.SkipEnd, "skip-end", 0, "text: lines at the end of each file that are no records")
	f.StringVar(&r.Comment, "comment", "", "text: prefix of comment lines, such as #")
	f.StringVar(&r.Trim, "trim", "", "text: ends of values without quotes that lose their blanks: no, left, right, both")
	f.StringVar(&r.Charset, "charset", "", "text and JSON lines: character set, such as gbk or utf-16 (default: bytes are taken as they are, JSON lines are UTF-8)")
	f.StringVar(&r.Extra, "extra", "", "columns the job does not list: fail (default for text) or ignore")
	f.StringSliceVar((*[]string)(&r.Partitions), "partitions", nil, "directories name=value above the files: auto (columns, default), off, or their names")
	f.StringArrayVar((*[]string)(&r.Where), "where", nil, "which partitions are read, such as dt=2026-11-01 or 'dt>=2026-11-01'; may be repeated: all must hold")
	f.StringVar(&r.Missing, "missing", "", "columns that a file lacks: fail (default) or null")
}

// addTable registers the flags that say what rows of a table look like: all that a reader needs.
func (s *specFlags) addTable(f *pflag.FlagSet) {
	f.StringVar(&s.jobFile, "job", "", "job file (YAML)")
	settings.MarkJobFile(f)
	f.StringVar(&s.spec.Table, "table", "", "table, namespace:name or name")
	f.StringVar(&s.spec.Family, "family", "", "column family (default f)")
	f.StringVar(&s.spec.Key, "key", "", "row key, such as 'salt(check_id) + md5hex(check_id) + id'")
	f.StringVar(&s.query, "query", "", "columns that make up a query key, separated by commas")
	f.IntVar(&s.spec.Regions, "salt-buckets", 0, "modulus of the salt (default: the number of salts that the table is split for)")
}

// load reads the job file and puts what flags gave over it.
func (s *specFlags) load(cmd *cobra.Command) (spec.Job, error) {
	given := s.merge(cmd)
	if s.jobFile == "" && given.Key == "" && given.Table == "" {
		return spec.Job{}, usageError{settings.AboutFlags(errors.New("no job: name a job file with --job, or give --table and --key"), "job")}
	}
	if err := stdinOnce(cmd, given); err != nil {
		return spec.Job{}, err
	}
	return given.Resolve()
}

// stdinOnce refuses an input that is standard input where a flag reads that too.
func stdinOnce(cmd *cobra.Command, given spec.Spec) error {
	if !slices.Contains(given.Inputs, "-") {
		return nil
	}
	for _, name := range []string{"job", "config", "splits"} {
		f := cmd.Flags().Lookup(name)
		if f == nil {
			continue
		}
		switch file := strings.TrimPrefix(f.Value.String(), "@"); file {
		case "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0":
			return usageError{settings.AboutFlags(fmt.Errorf("--%s %s and --input - read the same standard input: give one of them a file", name, file), name, "input")}
		}
	}
	return nil
}

// merge is load without the check that a job is complete.
func (s *specFlags) merge(cmd *cobra.Command) spec.Spec {
	spec := settings.Of(cmd).JobSpec()
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	text := map[string]struct{ dst, src *string }{
		"table": {&spec.Table, &s.spec.Table}, "family": {&spec.Family, &s.spec.Family}, "format": {&spec.Format, &s.spec.Format},
		"header": {&spec.Header, &s.spec.Header}, "field-sep": {&spec.FieldSep, &s.spec.FieldSep},
		"record-sep": {&spec.RecordSep, &s.spec.RecordSep}, "key": {&spec.Key, &s.spec.Key}, "empty": {&spec.Empty, &s.spec.Empty},
		"duplicates": {&spec.Duplicates, &s.spec.Duplicates}, "bad-records": {&spec.BadRecords, &s.spec.BadRecords},
		"verify": {&spec.Verify, &s.spec.Verify}, "compression": {&spec.Compression, &s.spec.Compression},
		"compression-level": {&spec.CompressionLevel, &s.spec.CompressionLevel},
		"encoding":          {&spec.Encoding, &s.spec.Encoding}, "bloom": {&spec.Bloom, &s.spec.Bloom},
		"dialect": {&spec.Dialect, &s.spec.Dialect}, "quote": {&spec.Quote, &s.spec.Quote}, "quotes": {&spec.Quotes, &s.spec.Quotes},
		"escape": {&spec.Escape, &s.spec.Escape}, "escape-map": {&spec.EscapeMap, &s.spec.EscapeMap}, "comment": {&spec.Comment, &s.spec.Comment},
		"null-quoted": {&spec.NullQuoted, &s.spec.NullQuoted}, "trim": {&spec.Trim, &s.spec.Trim}, "charset": {&spec.Charset, &s.spec.Charset},
		"phoenix-indexes": {&spec.PhoenixIndexes, &s.spec.PhoenixIndexes}, "replicate": {&spec.Replicate, &s.spec.Replicate},
		"extra": {&spec.Extra, &s.spec.Extra}, "missing": {&spec.Missing, &s.spec.Missing}, "parse": {&spec.Parse, &s.spec.Parse},
		"read-by":     {&spec.ReadBy, &s.spec.ReadBy},
		"max-deletes": {&spec.MaxDeletes, &s.spec.MaxDeletes},
	}
	for name, t := range text {
		if given(name) {
			*t.dst = *t.src
		}
	}
	s.mergeInputs(cmd, &spec)
	if given("columns") && s.columns != "" {
		spec.Columns = splitList(s.columns)
	}
	if given("query") {
		spec.Query = splitList(s.query)
	}
	if given("salt-buckets") {
		spec.Regions = s.spec.Regions
	}
	if given("null-value") {
		spec.NullValue = s.spec.NullValue
	}
	if given("partitions") {
		spec.Partitions = s.spec.Partitions
	}
	if given("where") {
		spec.Where = s.spec.Where
	}
	if given("skip-lines") {
		spec.SkipLines = s.spec.SkipLines
	}
	if given("skip-end") {
		spec.SkipEnd = s.spec.SkipEnd
	}
	if given("allow-empty") {
		spec.AllowEmpty = s.spec.AllowEmpty
	}
	if given("replace") {
		spec.Replace = s.spec.Replace
	}
	if given("replace-rejected") {
		spec.ReplaceRejected = s.spec.ReplaceRejected
	}
	if given("expect-records") {
		spec.Expect = &s.expect
	}
	if given("timestamp") {
		spec.Timestamp = s.spec.Timestamp
	}
	if given("block-size") {
		spec.BlockSize = s.spec.BlockSize
	}
	return spec
}

func splitList(s string) []string {
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// workFlags are the flags that say with what a build works.
type workFlags struct {
	memory     spec.Size
	workers    int
	spillDir   string
	spillLimit spec.Size
	rejectFile string
}

func (w *workFlags) add(f *pflag.FlagSet) {
	w.memory = spec.DefaultMemory
	f.Var(&w.memory, "memory", "budget for sort, merge and buffers together")
	f.IntVar(&w.workers, "workers", 0, "workers of each pass (default: the number of cores)")
	f.StringVar(&w.spillDir, "spill-dir", "", "directory for sorted runs that do not fit in memory (default: the system's temporary directory)")
	f.Var(&w.spillLimit, "spill-limit", "most disk that sorted runs may take, such as 200GiB; a job that needs more fails and says how much (default no limit)")
	f.StringVar(&w.rejectFile, "reject-file", "", "where bad records go with their reasons, as JSON lines, when --bad-records allows any (default rejects.jsonl in the job's state directory; of build, next to --out)")
}

// addMerge registers those of a work without an input.
func (w *workFlags) addMerge(f *pflag.FlagSet) {
	w.memory = spec.DefaultMemory
	f.Var(&w.memory, "memory", "budget for merging and buffers together")
	f.IntVar(&w.workers, "workers", 0, "regions that are written at a time (default: the number of cores; fewer if memory allows no more)")
}

func (w *workFlags) check() error {
	if w.workers < 0 || w.workers > 1024 {
		return usageError{settings.AboutFlags(fmt.Errorf("--workers %d is outside 0..1024", w.workers), "workers")}
	}
	return nil
}
