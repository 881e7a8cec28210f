package source

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"bulkload/pkg/setting"
)

// rejectFormat is that of reject files. Their records are in another format.
type rejectFormat struct{}

func (rejectFormat) facts() facts {
	return facts{Traits: Traits{Described: true}, name: FormatRejects, help: "for the bad records of an earlier job", magic: []string{string(rejectMagic)}}
}

func (rejectFormat) check(*Options) error { return nil }

// reader is nil: a reject file has the format of its records, once it was looked at.
func (rejectFormat) reader(*Reader) splitReader { return nil }

// probe reads the first line of a reject file. What follows is then the text of its records, as if it were packed.
func (rejectFormat) probe(ctx context.Context, f *inputFile, _ []byte, o *Options) (_ content, err error) {
	h, raw, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	r := newRejectReader(f.path, io.NewSectionReader(raw, 0, f.info.Size()), o)
	form, err := r.readForm()
	if err != nil {
		return nil, err
	}
	k := o.textual(form.Format)
	f.become(k)
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

// textual is the format of a name, nil if its records are no text.
func (o *Options) textual(name Format) textual {
	k, _ := o.formatOf(name).(textual)
	return k
}

// packedRejects is the compression of text that is within a reject file.
const packedRejects = "rejects"

// rejectOptions takes the separators from the reject files, which must all have the same.
func (in *Input) rejectOptions() error {
	var first *inputFile
	for _, f := range in.files {
		if f.rejects == nil {
			continue
		}
		if first == nil {
			first = f
		}
		if a, b := first.rejects, f.rejects; !a.sameText(b) {
			return fmt.Errorf("%s: its records were read in another way than those of %s (%s, separators %s %s, not %s, %s %s): read one after the other", f.path, first.path,
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
		return fmt.Errorf("%s: first line: %w", first.path, err)
	}
	return nil
}

// rejectReader reads the records of a reject file as the text that they were.
type rejectReader struct {
	path  string
	in    *bufio.Reader
	opts  *Options
	most  int // bytes of a line
	line  []byte
	n     int64 // lines read
	form  *rejectForm
	marks recordMarks
	text  []byte // of the current record
	given int    // of it

	total    int64 // bytes of the records before it
	sections []rejectSection
}

func newRejectReader(path string, in io.Reader, o *Options) *rejectReader {
	return &rejectReader{path: path, in: bufio.NewReaderSize(in, 64<<10), opts: o, most: 6*o.MaxRecord + 1<<20} // a byte takes up to six
}

func (r *rejectReader) fail(err error) error {
	return rawError{fmt.Errorf("reject file %s: line %d: %w", r.path, r.n, err)}
}

// next reads a line that is not blank.
func (r *rejectReader) next() ([]byte, error) {
	for {
		r.line = r.line[:0]
		for {
			part, err := r.in.ReadSlice('\n')
			r.line = append(r.line, part...)
			if err == nil || err == io.EOF && len(r.line) > 0 {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return nil, err
			}
			if len(r.line) > r.most {
				r.n++
				return nil, r.fail(fmt.Errorf("it is longer than %s, which no record takes", setting.Count(r.most, "byte")))
			}
		}
		r.n++
		if line := bytes.TrimSpace(r.line); len(line) > 0 {
			return line, nil
		}
	}
}

// readForm reads the first line.
func (r *rejectReader) readForm() (*rejectForm, error) {
	line, err := r.next()
	if err != nil && err != io.EOF {
		return nil, err
	}
	if err == io.EOF || !bytes.HasPrefix(line, rejectMagic) {
		r.n = 1
		return nil, r.fail(errors.New("it does not say how the records were read: the first line of a reject file begins with " + string(rejectMagic) + " and must be kept"))
	}
	form, err := r.parseForm(line)
	if err == nil {
		r.sections = []rejectSection{{constants: constantsOf(form.Partitions)}}
	}
	return form, err
}

func (r *rejectReader) parseForm(line []byte) (*rejectForm, error) {
	form := new(rejectForm)
	if err := json.Unmarshal(line, form); err != nil {
		return nil, r.fail(fmt.Errorf("no JSON: %w", jsonError(err)))
	}
	switch {
	case form.Version != 1:
		return nil, r.fail(fmt.Errorf("form %d is not known to this version", form.Version))
	case r.opts.textual(form.Format) == nil, form.needsDialect() && form.Dialect == nil:
		return nil, r.fail(errors.New("it names no format whose records have text"))
	case form.needsDialect():
		if err := form.Dialect.Check(); err != nil {
			return nil, r.fail(fmt.Errorf("dialect: %w", err))
		}
	}
	if len(form.Columns) == 0 {
		return nil, r.fail(errors.New("it names no columns"))
	}
	if err := checkTextHeader(form.Columns); err != nil {
		return nil, r.fail(err)
	}
	partitions := constantsOf(form.Partitions)
	if len(partitions) != len(form.Partitions) {
		return nil, r.fail(errors.New("its partitions are not all name=value"))
	}
	if len(partitions) > 0 {
		if err := checkTextHeader(append(constantNames(partitions), form.Columns...)); err != nil {
			return nil, r.fail(err)
		}
	}
	if r.form == nil {
		r.form = form
		field, err := ParseSep(form.FieldSep)
		if err != nil {
			return nil, r.fail(err)
		}
		record, err := ParseSep(form.RecordSep)
		if err != nil {
			return nil, r.fail(err)
		}
		of := inputFile{path: r.path, dialect: form.Dialect}
		if of.dialect != nil {
			if err := of.decode(); err != nil {
				return nil, r.fail(err)
			}
		}
		r.marks = r.opts.textual(form.Format).marks(&of, field, record)
	}
	return form, nil
}

// needsDialect says that only a dialect says how the records are written.
func (f *rejectForm) needsDialect() bool {
	t := f.Format.Traits()
	return t.Text && t.Dialect == ""
}

// jsonError leaves out what a message of encoding/json quotes.
func jsonError(err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("syntax error at byte %d of the line", e.Offset)
	}
	return errors.New("a field is of another type")
}

// Read implements [io.Reader]. Its errors are rawErrors, which go through as they are.
func (r *rejectReader) Read(p []byte) (int, error) {
	for r.given == len(r.text) {
		line, err := r.next()
		if err != nil {
			return 0, err
		}
		if bytes.HasPrefix(line, rejectMagic) {
			first := r.form
			form, err := r.parseForm(line)
			if err != nil {
				return 0, err
			}
			if first != nil && !form.sameColumns(first) {
				return 0, r.fail(errors.New("from here on the records have another form or order of columns: make a file of its own of this line and those that follow"))
			}
			if first != nil && len(form.Partitions) > 0 {
				r.sections = append(r.sections, rejectSection{at: r.total, constants: constantsOf(form.Partitions)})
			}
			continue
		}
		if err := r.record(line); err != nil {
			return 0, err
		}
		r.total += int64(len(r.text))
	}
	n := copy(p, r.text[r.given:])
	r.given += n
	return n, nil
}

// record takes the text of a line's record, which may have been made several by hand.
func (r *rejectReader) record(line []byte) error {
	var j struct {
		Raw       *string `json:"raw"`
		RawBase64 []byte  `json:"raw_base64"`
	}
	if err := json.Unmarshal(line, &j); err != nil {
		return r.fail(fmt.Errorf("no JSON: %w", jsonError(err)))
	}
	r.text, r.given = r.text[:0], 0
	switch {
	case j.Raw != nil:
		r.text = append(r.text, *j.Raw...)
	case len(j.RawBase64) > 0:
		r.text = append(r.text, j.RawBase64...)
	default:
		return r.fail(errors.New("it has no record: raw or raw_base64"))
	}
	if len(r.text) == 0 && len(r.form.Columns) > 1 {
		return r.fail(errors.New("its record is empty: remove the line to leave the record out"))
	}
	if r.marks.lines && bytes.HasSuffix(r.text, []byte{'\r'}) {
		r.text = append(r.text, '\r') // it is the value's, not the line's
	}
	r.text = append(r.text, r.marks.end...)
	if r.marks.whole != nil && !r.marks.whole(r.text) {
		return r.fail(errOpenRecord)
	}
	return nil
}

// errOpenRecord is of a record that would take in the one that follows. One that an escape ends is read where it is the last
// of its file, and must be corrected by hand here.
var errOpenRecord = errors.New("its record has a quote that is not closed, or an escape that nothing follows: correct it, or remove the line to leave the record out")

// closed says that the last record in data ends with it: no quote stays open that would take in what follows.
func closed(data []byte, comma byte) bool {
	for len(data) > 0 {
		fault := csvFault(data, comma, true)
		if fault == nil {
			_, end := firstRecord(data, comma, true)
			data = data[max(end, 1):]
			continue
		}
		if fault.reason == reasonUnclosed {
			return false
		}
		data = data[fault.end(data, true):]
	}
	return true
}
