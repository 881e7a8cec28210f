package source

import (
	"slices"

	"bulkload/internal/formats/delimited"
	"bulkload/internal/formats/sniff"
	"bulkload/pkg/setting"
	"bulkload/pkg/source/dialect"
)

// noHeader rejects a text whose first record would be a row of names, and counts the values of its first record.
func (f *inputFile) noHeader(data []byte, last bool, o *Options) error {
	names, _, bad := delimited.New(f.dialect, 1, f.decoder()).First(data, last)
	if bad != nil {
		return nil
	}
	if len(o.Columns) > 1 && sniff.Alike(names, o.Columns) {
		return f.errNames()
	}
	return f.firstValues(names, o)
}

// errNames is the error of a text whose first record is a header, although it has none.
func (f *inputFile) errNames() error {
	if f.facts.raw {
		return setting.Errorf("%s: its first record is the names of the columns, and a dump has no header: give %s dump with %s yes", f.Path, setting.Name("dialect"), setting.Header)
	}
	return setting.Errorf("%s: its first record is the names of the columns, and it has no header (%s yes, or match for files of both kinds)", f.Path, setting.Header)
}

// firstValues counts the values of the first record of a text without a header, and rejects names of the columns in another order: the
// others would be taken for each other. Names in the order of the columns are a stray record.
func (f *inputFile) firstValues(values []string, o *Options) error {
	f.values = len(values)
	if f.dialect != nil && f.dialect.Header == dialect.HeaderFirst {
		f.record = values
	}
	if f.swapped(values, f.without(o.Columns), o) {
		return f.errNames()
	}
	return nil
}

// swapped reports whether the values of a first record are the names of the columns in another order, or some of them if others are NULL.
func (f *inputFile) swapped(values, columns []string, o *Options) bool {
	return len(values) > 1 && f.isHeader(values, columns, o) && !sniff.Alike(values, columns[:len(values)])
}

// matches reports whether the values of a first record are a header, which may be in every file: the names of the columns, or some of them
// if others are NULL.
func (f *inputFile) matches(values []string, o *Options) bool {
	return f.isHeader(values, f.without(o.Columns), o) || sniff.Alike(values, o.Columns)
}

// isHeader reports whether values are the names of the columns in any order, or some of them where a record with so few values would be
// taken: names are never data.
func (f *inputFile) isHeader(values, columns []string, o *Options) bool {
	return (len(values) == len(columns) || f.older(len(values), columns, o)) && sniff.Named(values, columns)
}

// blankFirst reports whether a text begins with a blank line, which is a record of a single column.
func (f *inputFile) blankFirst(text []byte) bool {
	return len(delimited.AfterBlankLines(text)) < len(text)
}

// without returns columns without those of the file's path.
func (f *inputFile) without(columns []string) []string {
	return slices.DeleteFunc(slices.Clone(columns), func(name string) bool { return constantAt(f.Partitions, name) >= 0 })
}

// headless gives a text without a header its columns, if they are not those of the schema: those of the first file's header, and only the
// first of them if the file is older than the last ones.
func (in *Input) headless(f *inputFile) error {
	columns, first := in.opts.Columns, in.files[0]
	others := f.dialect != nil && f.dialect.Header == dialect.HeaderFirst && f.rejects == nil && !f.first
	switch {
	case f.columns != nil || !f.facts.cut:
		return nil
	case others && first.headed:
		columns = first.columns
	case others && first.blank && first.facts.headed() && !f.blank && len(columns) > 1:
		return setting.Errorf("%s has no header, so that the order of the columns is not known (%s no, if it is that of %s)", first.Path, setting.Header, setting.Columns)
	default:
		others = false
	}
	columns = f.without(columns)
	if others && f.swapped(f.record, columns, &in.opts) {
		return f.errNames()
	}
	f.record = nil
	if f.short = f.older(f.values, columns, &in.opts); f.short {
		f.columns = columns[:f.values]
	} else if others {
		f.columns = columns
	}
	return nil
}

// older reports whether n, the number of values of a file's first record, is less than that of columns, so that the last ones are NULL: so it is
// if missing columns are NULL, and for Hive text older than its table's last columns. All records of the file must have the same number. A single
// value does not count, as it can be a whole line with another separator.
func (f *inputFile) older(n int, columns []string, o *Options) bool {
	hive := o.Missing == "" && f.dialect != nil && (f.dialect.Name == dialect.Hive || f.dialect.Name == dialect.HiveEscaped)
	return n > 1 && n < len(columns) && (hive || o.Missing == MissingNull)
}
