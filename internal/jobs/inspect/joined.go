package inspect

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"bulkload/internal/formats/delimited"
	"bulkload/internal/formats/rfc4180"
	"bulkload/pkg/source/dialect"
)

var mark = []byte("\ufeff")

// repeatsFirst reports whether the current record repeats the first one, as in concatenated files with headers, and records its place. It ignores a byte
// order mark before the first value.
func (f *fileScan) repeatsFirst(c *cutter, data []byte, at int) bool {
	marked := bytes.HasPrefix(data[at:], mark)
	if marked && f.mark == nil {
		f.mark = &Place{Byte: int64(at), Record: int64(f.records + 1)}
	}
	if len(c.fields) == 1 && !marked {
		return false // equal values of a single column are common
	}
	for k, fd := range c.fields {
		v := c.value(data, fd)
		if k == 0 && marked {
			v = bytes.TrimPrefix(v, mark)
		}
		if !bytes.Equal(v, f.first[k]) {
			return false
		}
	}
	if f.again == nil {
		f.again = &Place{Byte: int64(at), Record: int64(f.records + 1)}
	}
	return true
}

// checkRowNumber records whether the first column still has the row numbers, from 0 or 1; v is its value in the current record.
func (f *fileScan) checkRowNumber(v []byte) {
	n := int64(f.records - 2) // the number of the first row is 0
	if f.records == 2 {
		f.counted = string(v) == "0" || string(v) == "1"
		f.fromOne = string(v) == "1"
	}
	if f.fromOne {
		n++
	}
	f.counted = f.counted && string(v) == strconv.FormatInt(n, 10)
}

// concatenated returns a doubt if a file is a concatenation of several, nil otherwise: a job would read headers or byte order marks as rows.
func (r *reading) concatenated(paths []text) *Doubt {
	for i := range r.scan.files {
		f, what := &r.scan.files[i], "the header is repeated"
		p := f.again
		if r.dialect.Header == dialect.HeaderNo || r.dialect.Header == dialect.HeaderFirst && i > 0 {
			p = nil
		}
		if f.mark != nil {
			p, what = f.mark, "a byte order mark before a record"
		}
		if p != nil {
			at := *p
			at.File = paths[i].path
			if r.dialect.Header == dialect.HeaderYes || r.dialect.Header == dialect.HeaderFirst && i == 0 {
				at.Record-- // as a job counts
			}
			return &Doubt{About: []string{"inputs"}, Text: fmt.Sprintf("%s in the middle of the file, as in concatenated files: give them as separate inputs", what), Place: &at}
		}
	}
	return nil
}

// noFirstName reports whether the first value of every first record is empty. In a header, that is the column of R's row names or pandas' index.
func (s *scan) noFirstName() bool {
	for i := range s.files {
		if f := &s.files[i]; f.records > 0 && (len(f.first) < 2 || len(f.first[0]) > 0) {
			return false
		}
	}
	return s.records > 0
}

// nameFirst replaces a header whose first name is empty, which jobs refuse, by a skipped line and configured names. It returns false if that is not
// possible: files have different names, or lines are already skipped in another way.
func (j *judge) nameFirst(r *reading) ([]string, bool) {
	if r.dialect.Header == dialect.HeaderNo || !r.scan.noFirstName() {
		return nil, true
	}
	names := []string{}
	for i := range r.scan.files {
		f := &r.scan.files[i]
		if f.records == 0 {
			continue
		}
		for k, name := range f.first {
			switch {
			case len(names) < len(f.first):
				names = append(names, string(name))
			case names[k] != string(name) && k > 0:
				return nil, false
			}
		}
	}
	ends := slices.Contains([]string{"", "\n", "\r\n"}, r.dialect.RecordSep)
	if r.dialect.Header == dialect.HeaderFirst || r.dialect.Name == dialect.Excel || !ends {
		return nil, false
	}
	for names[0] = "c1"; slices.Contains(names[1:], names[0]); {
		names[0] += "_"
	}
	j.skip++
	r.dialect.Header, r.dialect.SkipLines = dialect.HeaderNo, j.skip
	return names, true
}

// crOnly reports whether the lines of the i-th text end with CR only, in all its readings: a job refuses it, or reads it as one record.
func (j *judge) crOnly(i int, g *Given, readings []*reading) bool {
	t := &j.texts[i]
	start, stop := j.bounds(t)
	if !lineEnd(g.recordSep()) || g.recordSep() == "\n" || slices.ContainsFunc(readings, func(r *reading) bool { return !lineEnd(r.dialect.RecordSep) || !r.crOnly(t.data[start:stop]) }) {
		return false
	}
	if len(readings) > 0 {
		return true
	}
	only, _ := rfc4180.CROnly(t.data, ',', t.whole)
	_, rest, _ := bytes.Cut(t.data, []byte("\n"))
	below, _ := rfc4180.CROnly(rest, ',', t.whole)
	return only || below
}

// lineEnd reports whether records end with the lines. An empty text stands for LF and CR LF.
func lineEnd(sep string) bool { return sep == "" || sep == "\n" || sep == "\r\n" }

// crOnly reports whether the lines of a text that begins with a record, or those after its header, end with CR only.
func (r *reading) crOnly(text []byte) bool {
	if delimited.CROnly(&r.dialect, nil, text) {
		return true
	}
	if r.dialect.Header != dialect.HeaderYes {
		return false
	}
	_, next, bad := delimited.New(&r.dialect, 1, nil).First(text, true)
	return bad == nil && delimited.CROnly(&r.dialect, nil, text[min(next, len(text)):])
}
