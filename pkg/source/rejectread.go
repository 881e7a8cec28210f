package source

import (
	"context"
	"errors"
	"fmt"
	"io"

	"bulkload/internal/formats/rejects"
	"bulkload/internal/formats/sniff"
	"bulkload/pkg/source/listing"
)

// rejectFormat is the format of reject files. Their records are in another format.
type rejectFormat struct{}

func (rejectFormat) facts() facts {
	return facts{Traits: Traits{Described: true}, help: "for the bad records of an earlier job", magic: []string{rejects.Magic}}
}

func (rejectFormat) check(*Options) error { return nil }

// reader returns nil: a reject file has the format of its records, once it was examined.
func (rejectFormat) reader(*Reader) splitReader { return nil }

// probe reads the first line of a reject file. The rest is then the text of its records, as if it were packed.
func (rejectFormat) probe(ctx context.Context, f *inputFile, _ []byte, o *Options) (_ content, err error) {
	h, raw, err := f.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	r := f.rejectReader(io.NewSectionReader(raw, 0, f.Info.Size()), o)
	form, err := r.Form()
	if err != nil {
		return nil, err
	}
	k := o.textual(form)
	f.become(o.formatOf(Format(form.Format)))
	f.compression, f.columns, f.rejects, f.opts = packedRejects, form.Columns, form, o
	if f.dialect = form.Dialect; f.dialect != nil {
		if err := f.decode(); err != nil {
			return nil, err
		}
	}
	if err := f.decodeAs(form.Charset); err != nil {
		return nil, err
	}
	if f.facts.Open && len(o.Columns) > 0 {
		f.columns = nil // its lines may have any others
	}
	return k.text(f), f.probeSections(r, o)
}

// textual returns the format of records, nil if they are not text.
func (o *Options) textual(form *rejects.Form) textual {
	k := o.formatOf(Format(form.Format))
	if k == nil {
		return nil
	}
	text, _ := k.format.(textual)
	return text
}

// rejectReader returns a reader of the text of a reject file's records.
func (f *inputFile) rejectReader(in io.Reader, o *Options) *rejects.Reader {
	return rejects.NewReader(f.Path, in, o.MaxRecord, func(form *rejects.Form) (rejects.Marks, error) { return f.marksOf(form, o) })
}

// marksOf checks a form, and returns how its records are joined.
func (f *inputFile) marksOf(form *rejects.Form, o *Options) (none rejects.Marks, err error) {
	k := o.textual(form)
	described := k != nil && k.facts().Text && k.facts().Dialect == "" // by a dialect alone
	partitions := listing.ParsePartitions(form.Partitions)
	switch {
	case k == nil, described && form.Dialect == nil:
		return none, errors.New("it names no format whose records have text")
	case len(form.Columns) == 0:
		return none, errors.New("it names no columns")
	case len(partitions) != len(form.Partitions):
		return none, errors.New("its partitions are not all name=value")
	}
	if described {
		if err := form.Dialect.Check(); err != nil {
			return none, fmt.Errorf("dialect: %w", err)
		}
	}
	if err := sniff.CheckTextHeader(append(listing.Names(partitions), form.Columns...)); err != nil {
		return none, err
	}
	field, err := ParseSep(form.FieldSep)
	if err != nil {
		return none, err
	}
	record, err := ParseSep(form.RecordSep)
	if err != nil {
		return none, err
	}
	of := newFile(listing.File{Path: f.Path})
	if of.dialect = form.Dialect; of.dialect != nil {
		err = of.decode()
	}
	return k.marks(of, field, record), err
}

// rejectForm returns the form of the file's records in a reject file. Records without text of their own become a line of CSV of their values,
// including those of the path, and NULL is \N.
func (f *inputFile) rejectForm(o *Options, schema []string) *rejects.Form {
	text, ok := f.content.(textForm)
	if !ok {
		return &rejects.Form{Version: 1, Format: string(FormatText), Columns: schema, Values: true, Dialect: rejects.ValuesDialect()}
	}
	form := text.rejectForm(o)
	form.Partitions = listing.Texts(f.Partitions)
	return form
}

// isHeaded reports whether a header has named the columns of the records, also if those are from a reject file.
func (f *inputFile) isHeaded() bool { return f.headed || f.rejects != nil && f.rejects.Headed }

// packedRejects is the compression name of text in a reject file.
const packedRejects = "rejects"

// rejectOptions copies the separators from the reject files, which must all have the same.
func (in *Input) rejectOptions() error {
	var first *inputFile
	for _, f := range in.files {
		if f.rejects == nil {
			continue
		}
		if first == nil {
			first = f
		}
		if a, b := first.rejects, f.rejects; !a.SameText(b) {
			return fmt.Errorf("%s: its records were read in another way than those of %s (%s, separators %s %s, not %s, %s %s): read one after the other", f.Path, first.Path,
				b.Format, b.FieldSep, b.RecordSep, a.Format, a.FieldSep, a.RecordSep)
		}
	}
	if first == nil {
		return nil
	}
	var err error
	if in.opts.FieldSep, err = ParseSep(first.rejects.FieldSep); err == nil {
		in.opts.RecordSep, err = ParseSep(first.rejects.RecordSep)
	}
	if err != nil {
		return fmt.Errorf("%s: first line: %w", first.Path, err)
	}
	return nil
}
