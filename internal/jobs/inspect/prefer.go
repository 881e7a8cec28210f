package inspect

import (
	"bytes"
	"slices"
	"strings"
)

// prefer drops readings if others explain the sample better. Each rule reports whether r is to be dropped in favour of better. The comment on a rule
// describes the coincidence that it counts.
func (j *judge) prefer(all []*reading) []*reading {
	csv := j.csv()
	for _, rule := range []func(r, better *reading) bool{lineEnds, longEnds, longSeps, byEscapes, byName,
		func(r, better *reading) bool { return byQuotes(r, better, csv) }, strictQuotes, byTypes} {
		kept := slices.DeleteFunc(slices.Clone(all), func(r *reading) bool {
			return slices.ContainsFunc(all, func(better *reading) bool { return better != r && rule(r, better) })
		})
		if len(kept) > 0 {
			all = kept
		}
	}
	return all
}

// csv reports whether all files have names of CSV files.
func (j *judge) csv() bool {
	return len(j.texts) > 0 && !slices.ContainsFunc(j.texts, func(t text) bool { return !t.csv })
}

// byName prefers CSV for a file with the name of a CSV file, unless backslashes contradict that.
func byName(r, better *reading) bool {
	n, _ := r.scan.escaped()
	return r.scan.csv && !r.scan.w.quoted && n == 0 && r.scan.rawN == 0 && better.scan.w.doubled && r.dialect.FieldSep == better.dialect.FieldSep
}

// lineEnds decides whether every value of the last column ends with CR, or the CR belongs to the line ends. An exporter does not mix LF and CR LF.
func lineEnds(r, better *reading) bool {
	a, b := r.scan, better.scan
	if a.dialect.FieldSep != b.dialect.FieldSep {
		return false
	}
	if a.dialect.RecordSep == "\n" && b.dialect.RecordSep == "" {
		return b.lf == 0 && b.crlf > 1
	}
	return a.dialect.RecordSep == "" && b.dialect.RecordSep == "\n" && (a.crlf == 0 || a.lf > 0 && a.crlf > 0 && !a.w.noCR && a.w.what == b.w.what)
}

// longEnds decides whether all values of the last column end with the same bytes by chance, or these bytes belong to the record separator.
func longEnds(r, better *reading) bool {
	more, ok := strings.CutSuffix(better.dialect.RecordSep, "\n")
	if !ok || more == "" || r.dialect.RecordSep != "\n" || !bytes.HasSuffix(r.scan.suffix, []byte(more)) {
		return false
	}
	return len(more) > 1 && r.scan.records > 1 || r.scan.records >= enoughSigns
}

// longSeps decides whether all values begin or end with the same bytes by chance, or every second column has the same bytes by chance, or these bytes
// belong to the separator.
func longSeps(r, better *reading) bool {
	short, long := r.dialect.FieldSep, better.dialect.FieldSep
	times := strings.Count(long, short)
	if len(short) >= len(long) || times == 0 || r.scan.records < 2 {
		return false
	}
	return r.scan.width == (better.scan.width-1)*times+1 && (times == 1 || better.scan.width > 2)
}

// byEscapes decides whether all backslashes match an exporter's escapes by chance, or because that exporter wrote them.
func byEscapes(r, better *reading) bool {
	if r.scan.w.escapes || !better.scan.w.escapes || r.dialect.FieldSep != better.dialect.FieldSep {
		return false
	}
	n, kinds := better.scan.escaped()
	return n >= 2*enoughSigns || n >= enoughSigns && kinds > 1
}

// escaped returns the number of escapes, and the number of their kinds.
func (s *scan) escaped() (n, kinds int) {
	for _, m := range s.escapes {
		if n += m; m > 0 {
			kinds++
		}
	}
	return n, kinds
}

// byQuotes decides whether all quotes are consistent by chance, or because they enclose values: whole columns of text are quoted, or quotes within values
// are doubled. In a file with the name of a CSV file, they always enclose values.
func byQuotes(r, better *reading, csv bool) bool {
	if r.scan.w.quoted || !better.scan.w.quoted || better.scan.w.lenient || r.dialect.FieldSep != better.dialect.FieldSep || better.scan.quotes == 0 {
		return false
	}
	if csv || better.scan.doubled >= enoughSigns {
		return true
	}
	columns := true
	for i := range better.cols {
		c := &better.cols[i]
		columns = columns && (c.plain == 0 || c.quoted == 0 && c.typ.class() != 0)
	}
	if columns && better.scan.quotes >= enoughSigns {
		return true
	}
	return r.scan.w.named && slices.ContainsFunc(better.scan.files, func(f fileScan) bool {
		return slices.ContainsFunc(f.firstField, func(fd field) bool { return fd.quoted })
	})
}

// strictQuotes decides whether all quotes within values are doubled or escaped by chance, or because the writer always does so.
func strictQuotes(r, better *reading) bool {
	n, _ := better.scan.escaped()
	return r.scan.w.lenient && better.scan.w.quoted && !better.scan.w.lenient && r.dialect.FieldSep == better.dialect.FieldSep && max(n, better.scan.doubled) >= enoughSigns
}

// byTypes prefers a separator that gives columns with values of one type, if the other separator gives none.
func byTypes(r, better *reading) bool {
	return r.dialect.FieldSep != better.dialect.FieldSep && r.typed() == 0 && better.typed() > 0
}

// typed returns the number of columns with enough values that all have one type.
func (r *reading) typed() (n int) {
	for i := range r.cols {
		if c := &r.cols[i]; c.typ.class() != 0 && c.typed >= enoughSigns {
			n++
		}
	}
	return n
}
