package listing

import (
	"context"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// A tableFormat stores a table as files that may hold deleted or replaced rows, which only its own log identifies.
type tableFormat struct{ what, from string }

var (
	deltaTable   = tableFormat{"a Delta table (it has _delta_log)", "delta.`%s`"}
	icebergTable = tableFormat{"an Iceberg table (it has metadata/*.metadata.json)", "catalog.db.table"}
	hudiTable    = tableFormat{"a Hudi table (it has .hoodie)", "db.table"}
	acidTable    = tableFormat{"a transactional table of Hive (it has base_N, delta_N_N or _orc_acid_version)", "db.table"}
)

// acidName matches a directory that Hive writes for a transaction: its numbers have at least seven digits.
var acidName = regexp.MustCompile(`^(base_\d{7,}|(delete_)?delta_\d{7,}_\d{7,}(_\d+)?)(_v\d+)?$`)

func (k tableFormat) refuse(dir string) error {
	return Refuse("%s is %s: its files hold rows that were deleted or replaced, so read it by its own engine: INSERT OVERWRITE DIRECTORY '/export' USING parquet SELECT * FROM %s (Spark SQL; for Hive, STORED AS PARQUET)",
		dir, k.what, strings.ReplaceAll(k.from, "%s", dir))
}

// entryFormat returns the table format that an entry of a directory shows.
func entryFormat(dir string, entry fs.FileInfo) (tableFormat, bool) {
	name := entry.Name()
	switch {
	case entry.IsDir() && name == "_delta_log":
		return deltaTable, true
	case entry.IsDir() && name == ".hoodie":
		return hudiTable, true
	case entry.IsDir() && acidName.MatchString(name) || !entry.IsDir() && name == "_orc_acid_version":
		return acidTable, true
	case !entry.IsDir() && path.Base(dir) == "metadata" && strings.HasSuffix(name, ".metadata.json"):
		return icebergTable, true
	}
	return tableFormat{}, false
}

// checkTable rejects a directory that is a table of such a format.
func (e *expansion) checkTable(dir string, entries []fs.FileInfo) error {
	for _, entry := range entries {
		if k, ok := entryFormat(dir, entry); ok {
			if k == icebergTable {
				dir = path.Dir(dir)
			}
			return k.refuse(e.show(dir))
		}
	}
	return nil
}

// rejectInsideTable rejects an input inside such a table, at any depth. It ignores directories that cannot be read.
func (e *expansion) rejectInsideTable(ctx context.Context, name string) error {
	for dir := name; ; dir = path.Dir(dir) {
		if acidName.MatchString(path.Base(dir)) {
			return acidTable.refuse(e.show(path.Dir(dir)))
		}
		if !e.clean[dir] {
			for _, c := range []struct {
				name   string
				format tableFormat
			}{{"_delta_log", deltaTable}, {".hoodie", hudiTable}} {
				if info, err := e.fs.Stat(ctx, path.Join(dir, c.name)); err == nil && info.IsDir() {
					return c.format.refuse(e.show(dir))
				}
			}
			if entries, err := e.fs.ReadDir(ctx, path.Join(dir, "metadata")); err == nil {
				if err := e.checkTable(path.Join(dir, "metadata"), entries); err != nil {
					return err
				}
			}
			e.clean[dir] = true
		}
		if dir == "/" || dir == "." {
			return nil
		}
	}
}

// RefuseTransactional rejects files of a transactional table of Hive, which their content shows.
func RefuseTransactional(dir string) error { return acidTable.refuse(dir) }
