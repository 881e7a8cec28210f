package inspect

import (
	"bytes"
	"slices"

	"bulkload/internal/formats/delimited"
	"bulkload/internal/formats/rfc4180"
	"bulkload/pkg/source/dialect"
)

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
