package source

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"bulkload/internal/formats/sniff"
	"bulkload/internal/formats/valuetext"
	"bulkload/pkg/setting"
	"bulkload/pkg/source/listing"
)

// Extra determines how columns that are not requested are handled.
type Extra string

// Missing determines how a column that a file lacks is handled.
type Missing string

// Extras and missings. The default of [Options.Extra] is ExtraFail for text and ExtraIgnore for formats that name every value.
const (
	ExtraFail   Extra = "fail"
	ExtraIgnore Extra = "ignore"

	MissingFail Missing = "fail"
	MissingNull Missing = "null"
)

// Positions of columns that no record of a file has.
const placeNull = -1 // constants are below: -2 the first, -3 the second

// names returns the columns of a file: those of its records and those of its path.
func (f *inputFile) names() []string { return slices.Concat(f.columns, listing.Names(f.Partitions)) }

// schema determines the columns and how each file's columns map to them.
func (in *Input) schema() error {
	in.columns = slices.Clone(in.opts.Columns)
	first := "the given names"
	for _, f := range in.files {
		if f.columns == nil {
			continue
		}
		switch {
		case len(in.columns) == 0:
			in.columns, first = f.names(), f.Path
		case len(in.opts.Columns) == 0 && in.opts.Missing == MissingNull && in.extra(f) == ExtraFail:
			in.columns = union(in.columns, f.names())
		}
	}
	if len(in.columns) == 0 {
		for _, f := range in.files {
			if f.facts.headed() && !f.blank {
				return fmt.Errorf("%s: %w", f.Path, ErrNoHeader)
			}
		}
		in.columns, in.nothing = slices.Clone(in.opts.IfEmpty), true
	}
	in.met.has = make([]bool, len(in.columns))
	headed := slices.ContainsFunc(in.files, (*inputFile).isHeaded)
	for i, f := range in.files {
		if err := f.content.offer(in.columns, first, &in.opts); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		if err := in.headless(f); err != nil {
			return err
		}
		if f.columns == nil && !f.unnamed() {
			f.columns = in.columns // a file without anything
		}
		if err := in.fit(f, first); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		in.met.begin(f)
		if err := f.content.plan(in.columns, &in.opts); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		f.passOver(f.others)
		f.cols = len(f.columns)
		f.form = f.rejectForm(&in.opts, in.columns)
		f.form.Headed = headed && f.facts.cut && len(f.form.Columns) == 1
		f.formSections()
		if i > 0 {
			f.share(in.files[i-1])
		}
	}
	return nil
}

// share has a file use what is equal of another one, since there can be 100,000 files. It is not changed any more.
func (f *inputFile) share(o *inputFile) {
	if f.kind == o.kind {
		f.facts = o.facts
	}
	for _, l := range [][2]*[]string{{&f.columns, &o.columns}, {&f.missing, &o.missing}, {&f.ignored, &o.ignored}, {&f.others, &o.others}} {
		if len(*l[0]) > 0 && slices.Equal(*l[0], *l[1]) {
			*l[1] = slices.Clip(*l[1])
			*l[0] = *l[1]
		}
	}
	if len(o.order) > 0 && slices.Equal(f.order, o.order) {
		f.order = o.order
	}
	if reflect.DeepEqual(f.form, o.form) {
		f.form = o.form
	}
}

// unnamed reports whether a file's records do not name their columns: they have the given ones, except those of its path.
func (f *inputFile) unnamed() bool { return f.columns == nil && len(f.Partitions) > 0 }

// union returns the names of both lists, those of the first before the others.
func union(a, b []string) []string {
	a = slices.Clone(a)
	for _, name := range b {
		if !slices.Contains(a, name) {
			a = append(a, name)
		}
	}
	return a
}

// extra returns how a file's columns that are not requested are handled.
func (in *Input) extra(f *inputFile) Extra {
	switch {
	case in.opts.Extra != "":
		return in.opts.Extra
	case f.facts.Open, f.facts.Named && len(in.opts.Columns) > 0:
		return ExtraIgnore
	}
	return ExtraFail
}

// passesTextless reports whether columns whose type has no text are omitted: if columns are chosen, or others ignored.
func (o *Options) passesTextless() bool {
	return o.Extra == ExtraIgnore || o.Extra == "" && len(o.Columns) > 0
}

// noTextForm returns advice for a column whose type has no text.
func noTextForm(err error) error {
	return setting.Errorf("%w: choose columns, or give %s ignore", err, setting.Extra)
}

// nulls reports whether a file distinguishes an empty value from NULL.
func (f *inputFile) nulls() bool {
	return f.facts.Named || f.dialect != nil && len(f.dialect.Null) > 0
}

// chooseColumns keeps only the wanted ones of a file's columns, in the order of the schema: for formats that can skip the others.
func (f *inputFile) chooseColumns() {
	if f.order == nil {
		return
	}
	chosen := []string{}
	for i, place := range f.order {
		if place >= 0 {
			f.order[i] = len(chosen)
			chosen = append(chosen, f.columns[place])
		}
	}
	if f.columns = chosen; len(chosen) == len(f.order) {
		f.order = nil
	}
}

// fit finds the position in a file of each column of the schema.
func (in *Input) fit(f *inputFile, first string) error {
	if f.unnamed() {
		for _, name := range in.columns {
			if constantAt(f.Partitions, name) < 0 {
				f.columns = append(f.columns, name)
			}
		}
	}
	if err := f.clash(f.columns); err != nil {
		return err
	}
	if len(f.columns) == 0 && !f.facts.Open && len(f.Partitions) > 0 && len(in.columns) > 0 {
		return errors.New("its records have no column: all that are named are those of its path")
	}
	if i := slices.Index(f.columns, ""); i >= 0 && f.facts.cut && (len(in.opts.Columns) == 0 || in.extra(f) != ExtraIgnore) {
		return setting.Errorf("header: column %d has no name (the index of pandas or R? %s with %s ignore passes over it)", i+1, setting.Columns, setting.Extra)
	}
	proven := f.facts.Named || len(in.opts.Columns) > 0
	if proven && f.facts.headed() && !slices.ContainsFunc(f.columns, func(name string) bool { return slices.Contains(in.columns, name) }) {
		return &sniff.HeaderError{Text: setting.Textf("none of its %s is among %s: if the first line is no header, give %s no", setting.Count(len(f.columns), "column"), first, setting.Header), Name: f.columns[0]}
	}
	if err := in.places(f, proven, first); err != nil {
		return err
	}
	if slices.IsSorted(f.order) && len(f.order) == len(f.columns) && !slices.Contains(f.order, placeNull) && len(f.Partitions) == 0 {
		f.order = nil
	}
	return nil
}

// clash reports a column of the records that is also one of the path.
func (f *inputFile) clash(names []string) error {
	for _, c := range f.Partitions {
		if slices.Contains(names, c.Name) {
			return setting.Errorf("column %s is in the records and in the path: name the columns without it, or give %s off", valuetext.Name(c.Name), setting.Partitions)
		}
	}
	return nil
}

// places finds the position of each column. A message contains names of a header only if it is proven to be a header: by a given name.
// first is what the file is compared with.
func (in *Input) places(f *inputFile, proven bool, first string) error {
	at := make(map[string]int, len(f.columns))
	for i, name := range f.columns {
		at[name] = i
	}
	for i, c := range f.Partitions {
		at[c.Name] = placeNull - 1 - i
	}
	f.order, f.missing, f.ignored = make([]int, len(in.columns)), nil, nil
	for i, name := range in.columns {
		place, ok := at[name]
		switch {
		case ok:
		case in.opts.Missing == MissingNull, f.short:
			place = placeNull
			f.missing = append(f.missing, name)
		case !proven:
			return &sniff.HeaderError{Text: setting.Textf("it lacks column %d of %s: %s null reads it all the same; if its first line is no header, give %s no", i+1, first, setting.Missing, setting.Header), Name: name}
		default:
			return setting.Errorf("column %s is missing compared with %s (%s null reads files without it)", valuetext.Name(name), first, setting.Missing)
		}
		f.order[i] = place
		delete(at, name)
	}
	for i, name := range f.columns {
		if _, left := at[name]; !left {
			continue
		}
		switch {
		case in.extra(f) == ExtraIgnore:
			f.ignored = append(f.ignored, cmp.Or(name, `""`))
		case !proven:
			return &sniff.HeaderError{Text: setting.Textf("its column %d is not in %s: %s ignore passes over it; if its first line is no header, give %s no", i+1, first, setting.Extra, setting.Header), Name: name}
		default:
			return setting.Errorf("unknown column %s compared with %s (%s ignore passes over columns the job does not list)", valuetext.Name(name), first, setting.Extra)
		}
	}
	for _, c := range f.Partitions {
		if _, left := at[c.Name]; !left {
			continue
		}
		if in.extra(f) == ExtraIgnore {
			f.ignored = append(f.ignored, c.Name)
			continue
		}
		return setting.Errorf("the path has the partition column %s, which is not in %s: add it to %s, or give %s off (or %s ignore)",
			valuetext.Name(c.Name), first, setting.Columns, setting.Partitions, setting.Extra)
	}
	if len(f.missing) == len(in.columns) && len(in.columns) > 0 {
		return fmt.Errorf("it has none of the columns compared with %s", first)
	}
	return nil
}
