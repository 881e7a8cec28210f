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
		return setting.Errorf("%s: its first record is the names of the columns, and it has no header (%s yes, or match for files of both kinds)", f.Path, setting.Header)
	}
	f.values = len(names)
	return nil
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
	columns = slices.DeleteFunc(slices.Clone(columns), func(name string) bool { return constantAt(f.Partitions, name) >= 0 })
	if f.shorten(columns, &in.opts); f.columns == nil && others {
		f.columns = columns
	}
	return nil
}

// shorten removes the last columns of a file whose first record has fewer values, if missing columns are NULL: so it is for Hive text older
// than its table's last columns. All records of the file must have the same number. A single value does not count, as it can be a whole line
// with another separator.
func (f *inputFile) shorten(columns []string, o *Options) {
	hive := o.Missing == "" && f.dialect != nil && (f.dialect.Name == dialect.Hive || f.dialect.Name == dialect.HiveEscaped)
	if f.values < 2 || !hive && o.Missing != MissingNull {
		return
	}
	if f.short = f.values < len(columns); f.short {
		f.columns = columns[:f.values]
	}
}
