package rejects

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"bulkload/internal/formats/charset"
	"bulkload/internal/formats/jsonlines"
	"bulkload/pkg/setting"
)

// Marks describes the text between records.
type Marks struct {
	End   string                 // follows each record
	Lines bool                   // a CR before End counts as a part of the line end
	Whole func(text []byte) bool // reports whether the last record of text ends with it; nil: always
}

// A Section is a sequence of records with the same partition columns from their path.
type Section struct {
	At         int64    // the offset of the first one in the text of all records
	Partitions []string // name=value
}

// Reader reads the records of a reject file as their original text.
type Reader struct {
	path    string
	in      *bufio.Reader
	most    int // the largest size of a line
	line    []byte
	n       int64 // lines read
	form    *Form
	marks   Marks
	set     *charset.Charset // of the records, nil for UTF-8
	marksOf func(*Form) (Marks, error)
	text    []byte // of the current record
	given   int    // the bytes of text that Read has returned

	total    int64 // bytes of the records read so far
	sections []Section
}

// NewReader returns a reader of a reject file whose records have at most maxRecord bytes. marks returns the Marks of a form, or an error if the form
// is invalid.
func NewReader(path string, in io.Reader, maxRecord int, marks func(*Form) (Marks, error)) *Reader {
	return &Reader{path: path, in: bufio.NewReaderSize(in, 64<<10), marksOf: marks, most: 6*maxRecord + 1<<20} // JSON writes up to six bytes for one
}

func (r *Reader) fail(err error) error {
	return fmt.Errorf("reject file %s: line %d: %w", r.path, r.n, err)
}

// next reads the next line that is not blank.
func (r *Reader) next() ([]byte, error) {
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
		if !utf8.Valid(r.line) { // encoding/json would replace the bytes
			return nil, r.fail(errors.New("it is not UTF-8: save the file in UTF-8, or give the record's bytes as raw_base64"))
		}
		if line := bytes.TrimSpace(r.line); len(line) > 0 {
			return line, nil
		}
	}
}

// Form reads the first line and returns the form in it.
func (r *Reader) Form() (*Form, error) {
	line, err := r.next()
	if err != nil && err != io.EOF {
		return nil, err
	}
	if err == io.EOF || !bytes.HasPrefix(line, []byte(Magic)) {
		r.n = 1
		return nil, r.fail(errors.New("it does not say how the records were read: the first line of a reject file begins with " + Magic + " and must be kept"))
	}
	form, err := r.parseForm(line)
	if err == nil {
		r.sections = []Section{{Partitions: form.Partitions}}
	}
	return form, err
}

func (r *Reader) parseForm(line []byte) (*Form, error) {
	form := new(Form)
	if err := json.Unmarshal(line, form); err != nil {
		return nil, r.fail(fmt.Errorf("no JSON: %w", jsonError(err)))
	}
	if form.Version != 1 {
		return nil, r.fail(fmt.Errorf("form %d is not known to this version", form.Version))
	}
	if err := form.unescape(); err != nil {
		return nil, r.fail(err)
	}
	marks, err := r.marksOf(form)
	if err != nil {
		return nil, r.fail(err)
	}
	if r.form == nil {
		r.form, r.marks = form, marks
		if r.set, err = form.set(); err != nil {
			return nil, r.fail(err)
		}
	}
	return form, nil
}

// jsonError returns an error without the text that messages of encoding/json quote.
func jsonError(err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("syntax error at byte %d of the line", e.Offset)
	}
	return errors.New("a field is of another type")
}

func (r *Reader) Read(p []byte) (int, error) {
	for r.given == len(r.text) {
		line, err := r.next()
		if err != nil {
			return 0, err
		}
		if bytes.HasPrefix(line, []byte(Magic)) {
			first := r.form
			form, err := r.parseForm(line)
			if err != nil {
				return 0, err
			}
			if first != nil && !form.sameColumns(first) {
				return 0, r.fail(errors.New("from here on the records have another form or order of columns: put this line and those that follow into a file of their own"))
			}
			if first != nil && len(form.Partitions) > 0 {
				r.sections = append(r.sections, Section{r.total, form.Partitions})
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

// record sets r.text to the record in a line. A user may have edited the record, and even made several of it.
func (r *Reader) record(line []byte) error {
	var j struct {
		Raw       json.RawMessage `json:"raw"`
		RawBase64 []byte          `json:"raw_base64"`
	}
	if err := json.Unmarshal(line, &j); err != nil {
		return r.fail(fmt.Errorf("no JSON: %w", jsonError(err)))
	}
	r.text, r.given = r.text[:0], 0
	switch {
	case len(j.Raw) > 0 && j.Raw[0] == '"':
		var err error
		if r.text, _, err = (jsonlines.Place{}).Append(r.text, j.Raw); err != nil { // encoding/json would replace the escape
			return r.fail(errors.New(`raw has the escape of half a character (\ud800 to \udfff): give the record's bytes as raw_base64`))
		}
		if r.set != nil && !readsAlike(r.text, r.set) {
			return r.fail(fmt.Errorf("raw has characters that have other bytes in %s: give its bytes in that set as raw_base64", r.set.Name()))
		}
	case len(j.Raw) > 0 && string(j.Raw) != "null":
		return r.fail(errors.New("no JSON: a field is of another type"))
	case len(j.RawBase64) > 0:
		r.text = append(r.text, j.RawBase64...)
	default:
		return r.fail(errors.New("it has no record: raw or raw_base64"))
	}
	if len(r.text) == 0 && len(r.form.Columns) > 1 {
		return r.fail(errors.New("its record is empty: remove the line to leave the record out"))
	}
	if r.marks.Lines && bytes.HasSuffix(r.text, []byte{'\r'}) {
		r.text = append(r.text, '\r') // the CR belongs to the value, not to the line end
	}
	r.text = append(r.text, r.marks.End...)
	if r.marks.Whole != nil && !r.marks.Whole(r.text) {
		return r.fail(errOpenRecord)
	}
	return nil
}

// errOpenRecord is the error of a record that would include the following one. The last record of an input may end with an escape,
// but in a reject file such a record is followed by others and must be corrected by hand.
var errOpenRecord = errors.New("its record has a quote that is not closed, or an escape that nothing follows: correct it, or remove the line to leave the record out")

// Line returns the number of the line, from 1, that has the record whose text Read returned last.
func (r *Reader) Line() int64 { return r.n }

// Sections returns the sections of the records read so far: one that begins with the first line, and one for each further form with partition columns.
func (r *Reader) Sections() []Section { return r.sections }
