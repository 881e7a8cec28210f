package rejects

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"bulkload/internal/formats/charset"
	"bulkload/pkg/setting"
)

// Marks say how records are put one after the other.
type Marks struct {
	End   string                 // after each
	Lines bool                   // a CR before the end would be a part of it
	Whole func(text []byte) bool // text ends where its last record does; nil: always
}

// A Section is records that have the same values by the path that they had.
type Section struct {
	At         int64    // where they begin in the text of all records
	Partitions []string // name=value
}

// Reader reads the records of a reject file as the text that they were.
type Reader struct {
	path    string
	in      *bufio.Reader
	most    int // bytes of a line
	line    []byte
	n       int64 // lines read
	form    *Form
	marks   Marks
	set     *charset.Charset // of the records, nil for UTF-8
	marksOf func(*Form) (Marks, error)
	text    []byte // of the current record
	given   int    // of it

	total    int64 // bytes of the records before it
	sections []Section
}

// NewReader reads a reject file whose records have maxRecord bytes at most. marks says how those of a form are put together, or what is wrong
// with it.
func NewReader(path string, in io.Reader, maxRecord int, marks func(*Form) (Marks, error)) *Reader {
	return &Reader{path: path, in: bufio.NewReaderSize(in, 64<<10), marksOf: marks, most: 6*maxRecord + 1<<20} // a byte takes up to six
}

func (r *Reader) fail(err error) error {
	return fmt.Errorf("reject file %s: line %d: %w", r.path, r.n, err)
}

// next reads a line that is not blank.
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
		if line := bytes.TrimSpace(r.line); len(line) > 0 {
			return line, nil
		}
	}
}

// Form reads the first line.
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

// jsonError leaves out what a message of encoding/json quotes.
func jsonError(err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("syntax error at byte %d of the line", e.Offset)
	}
	return errors.New("a field is of another type")
}

// Read implements [io.Reader].
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
				return 0, r.fail(errors.New("from here on the records have another form or order of columns: make a file of its own of this line and those that follow"))
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

// record takes the text of a line's record, which may have been made several by hand.
func (r *Reader) record(line []byte) error {
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
		if r.text = append(r.text, *j.Raw...); r.set != nil && !readsAlike(r.text, r.set) {
			return r.fail(fmt.Errorf("raw has characters that are others in %s: give its bytes in that set as raw_base64", r.set.Name()))
		}
	case len(j.RawBase64) > 0:
		r.text = append(r.text, j.RawBase64...)
	default:
		return r.fail(errors.New("it has no record: raw or raw_base64"))
	}
	if len(r.text) == 0 && len(r.form.Columns) > 1 {
		return r.fail(errors.New("its record is empty: remove the line to leave the record out"))
	}
	if r.marks.Lines && bytes.HasSuffix(r.text, []byte{'\r'}) {
		r.text = append(r.text, '\r') // it is the value's, not the line's
	}
	r.text = append(r.text, r.marks.End...)
	if r.marks.Whole != nil && !r.marks.Whole(r.text) {
		return r.fail(errOpenRecord)
	}
	return nil
}

// errOpenRecord is of a record that would take in the one that follows. One that an escape ends is read where it is the last
// of its file, and must be corrected by hand here.
var errOpenRecord = errors.New("its record has a quote that is not closed, or an escape that nothing follows: correct it, or remove the line to leave the record out")

// Sections returns the records that were read, by what they had by their path: one before any record, and one for each further line of such.
func (r *Reader) Sections() []Section { return r.sections }
