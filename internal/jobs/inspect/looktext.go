package inspect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"bulkload/internal/formats/delimited"
	"bulkload/internal/formats/sniff"
	"bulkload/internal/model/fail"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
	"bulkload/pkg/source/dialect"
)

// lookText reads the beginnings of text files and determines their format.
func (r *Report) lookText(ctx context.Context, heads []*source.Head, chosen []int, share int, g *Given, o *Options) error {
	j := &judge{}
	for _, n := range g.nulls() {
		if tokenOf([]byte(n), nil) < 0 {
			j.more = append(j.more, n)
		}
	}
	files := []int{} // index of each text's file
	for _, at := range chosen {
		data, whole, err := heads[at].Text(ctx, share)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.Refused = append(r.Refused, Refusal{r.Files[at].Path, err.Error()})
			continue
		}
		f := &r.Files[at]
		f.Sampled, f.Whole = int64(len(data)), whole
		r.Sample.Files++
		r.Sample.Bytes += int64(len(data))
		j.texts, files = append(j.texts, text{path: f.Path, data: data, whole: whole, csv: heads[at].Info().Format.Traits().Header}), append(files, at)
	}
	if len(j.texts) == 0 {
		return nil
	}
	r.Sample.Whole = r.Sample.Files == len(heads) && !slices.ContainsFunc(j.texts, func(t text) bool { return !t.whole })
	set, err := detect(j.texts, g.spec.Charset)
	if err != nil {
		return fail.With(fail.Config, err)
	}
	r.Charset, r.Reason = cmp.Or(set.name, "utf-8"), set.reason
	if len(set.others) > 0 {
		r.Doubts = append(r.Doubts, Doubt{About: []string{"charset"}, Text: fmt.Sprintf("the text is in %s or in %s: %s", r.Charset, strings.Join(set.others, ", "), set.reason)})
	}
	for i := range j.texts {
		if err := decode(&j.texts[i], set.name); err != nil {
			r.Doubts = append(r.Doubts, Doubt{About: []string{"charset"}, Text: err.Error()})
			return nil
		}
	}
	if r.Sample.Whole && !slices.ContainsFunc(j.texts, func(t text) bool { return !sniff.Blank(bytes.TrimPrefix(t.data, mark)) }) {
		r.refuseEmpty()
		return nil
	}
	v := j.judge(g)
	refused, readings := len(r.Refused), slices.DeleteFunc(append(slices.Clone(v.others), v.read), func(r *reading) bool { return r == nil })
	for i := range j.texts {
		if j.crOnly(i, g, readings) {
			r.Refused = append(r.Refused, Refusal{j.texts[i].path, j.texts[i].path + ": " + sniff.ErrCROnly.Error()})
		}
	}
	if len(r.Refused) > refused {
		return nil
	}
	r.verdict(j, v, set.name)
	defer r.originalPlaces(j)
	if r.reading == nil {
		return nil
	}
	if j.aside != nil {
		r.bad = true
		r.Notes = append(r.Notes, j.aside.note(r.reading.dialect.Header == dialect.HeaderYes))
	}
	if d := r.reading.concatenated(j.texts); d != nil {
		r.Doubts = append(r.Doubts, *d)
	}
	var named bool
	if r.names, named = j.nameFirst(r.reading); !named {
		r.Doubts = append(r.Doubts, Doubt{About: []string{"header"}, Text: "the first name in the header is empty, and the names differ between files: give them as separate inputs"})
	}
	r.unnamed = r.names != nil
	if r.reading.dialect.Header == dialect.HeaderYes {
		if err := r.reading.scan.unusable(len(g.spec.Columns) > 0 && g.spec.Extra == string(source.ExtraIgnore)); err != nil {
			r.Doubts = append(r.Doubts, Doubt{About: []string{"inputs"}, Text: "a job refuses it: header: " + fieldNames(err)})
		}
	}
	r.reading.dialect.Charset = set.name
	r.Dialect, r.Writer = Nearest(&r.reading.dialect), r.reading.scan.w.what
	if err := j.check(r.reading); err != nil {
		r.Doubts = append(r.Doubts, Doubt{About: []string{"dialect"}, Text: err.Error()})
	}
	r.profileText(j, files, g, o)
	return nil
}

func (r *Report) verdict(j *judge, v *verdict, charset string) {
	switch {
	case v.read != nil:
		r.reading = v.read
		if v.why != "" {
			r.Notes = append(r.Notes, v.why+": it is read with the given dialect")
		}
		return
	case len(v.others) == 0:
		why := cmp.Or(v.why, "no separator gives records of several columns")
		about := []string{"dialect"}
		if r.given.Dialect != "" && v.place != nil {
			about = []string{"bad_records", "dialect"} // a dialect that is given may be right
		}
		r.Doubts = append(r.Doubts, Doubt{About: about, Text: why, Place: v.place})
		return
	}
	if r.headerDoubt(j, v) && len(v.others) == 1 {
		return
	}
	d := Doubt{Text: "the sample is ambiguous: dialects give different values"}
	if len(v.others) > 1 {
		d.Place = j.difference(v.others[0], v.others[1])
	} else {
		d.Text = "the best match is this"
	}
	if v.why != "" {
		d.Text = v.why + "; " + d.Text
	}
	for _, o := range v.others {
		o.dialect.Charset = charset
		n := Nearest(&o.dialect)
		d.Readings = append(d.Readings, Reading{Text: o.scan.w.what, Dialect: n.Preset, Settings: n.Settings, Columns: o.scan.width, Rows: int64(o.rows())})
	}
	if d.About = differingSettings(v.others); len(v.others) == 1 {
		d.About = []string{"dialect"}
	}
	r.Doubts = append(r.Doubts, d)
}

// headerDoubt adds a doubt to the report if readings disagree on whether the first records are names, and returns whether it did. Of the readings, it
// keeps those that agree with the first one.
func (r *Report) headerDoubt(j *judge, v *verdict) bool {
	if !slices.Contains(differingSettings(v.others), "header") || slices.Contains(differingSettings(v.others), "skip_lines") {
		return false
	}
	of := map[dialect.Header]*reading{}
	for _, o := range v.others {
		if of[o.dialect.Header] == nil {
			of[o.dialect.Header] = o
		}
	}
	yes, no := of[dialect.HeaderYes], of[dialect.HeaderNo]
	if yes == nil || no == nil {
		return false
	}
	d := Doubt{About: []string{"header"}, Place: j.difference(yes, no),
		Text: fmt.Sprintf("does the first record have the column names? header: yes gives %s, header: no gives %d", setting.Count(yes.rows(), "row"), no.rows())}
	if err := yes.scan.unusable(false); err != nil {
		d.Text += fmt.Sprintf("; a job refuses these names: %s (header: no, skip_lines: %d and columns name them)", fieldNames(err), j.skip+1)
	}
	r.Doubts = append(r.Doubts, d)
	first := v.others[0].dialect.Header
	v.others = slices.DeleteFunc(v.others, func(o *reading) bool { return o.dialect.Header != first })
	return true
}

// rows returns the number of records without headers.
func (r *reading) rows() int {
	n := r.scan.records
	for i := range r.scan.files {
		if r.scan.files[i].records > 0 && (r.dialect.Header == dialect.HeaderYes || r.dialect.Header == dialect.HeaderFirst && i == 0) {
			n--
		}
	}
	return n
}

func differingSettings(all []*reading) []string {
	var fields []string
	a := &all[0].dialect
	for _, o := range all[1:] {
		b := &o.dialect
		for _, f := range []struct {
			name    string
			differs bool
		}{{"field_sep", a.FieldSep != b.FieldSep}, {"record_sep", cmp.Or(a.RecordSep, "\r\n") != cmp.Or(b.RecordSep, "\r\n")}, {"quote", a.Quote != b.Quote},
			{"quotes", a.Lenient != b.Lenient}, {"escape", a.Escape != b.Escape || a.QuotedOnly != b.QuotedOnly}, {"escape_map", a.Escape == b.Escape && a.Map != b.Map},
			{"null_value", !slices.Equal(a.Null, b.Null)}, {"null_quoted", a.NullQuoted != b.NullQuoted}, {"header", a.Header != b.Header}, {"skip_lines", a.SkipLines != b.SkipLines}} {
			if f.differs && !slices.Contains(fields, f.name) {
				fields = append(fields, f.name)
			}
		}
	}
	return fields
}

// check reads the sample with the scanner that jobs use. It returns an error if that does not give the same values.
func (j *judge) check(r *reading) error {
	plain := r.dialect
	plain.Charset = "" // the text is UTF-8 now
	for i := range j.texts {
		next, stop := iter.Pull(iter.Seq[*recordAt](j.records(r, i)))
		err := j.checkText(&plain, r, i, next)
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

var errScanners = errors.New("a job reads the sample differently than inspect")

// checkText compares one text, value by value.
func (j *judge) checkText(d *dialect.Dialect, r *reading, i int, next func() (*recordAt, bool)) error {
	t := &j.texts[i]
	at, stop := j.bounds(t)
	if len(r.scan.files[i].first) == 0 {
		return nil
	}
	width := r.scan.files[i].width()
	s := delimited.New(d, width, nil)
	buf := make([]byte, stop+delimited.Slack)
	copy(buf, t.data[:stop])
	skip := 0
	if d.Header == dialect.HeaderYes || d.Header == dialect.HeaderFirst && i == 0 {
		skip = 1
	}
	_, bad := s.Scan(buf, at, stop, t.whole)
	if bad != nil {
		return fmt.Errorf("%w: %s: byte %d: %s", errScanners, t.path, bad.At, bad.Reason)
	}
	for row := skip; row < len(s.Starts); row++ {
		rec, ok := next()
		if !ok || len(rec.fields) != width {
			return fmt.Errorf("%w: %s: record %d", errScanners, t.path, row+1-skip)
		}
		for k, f := range s.Fields[row*width : (row+1)*width] {
			if f.IsNull() != rec.null(k) || !f.IsNull() && !bytes.Equal(f.Of(s.Data), rec.cutter.value(rec.data, rec.fields[k])) {
				return fmt.Errorf("%w: %s: record %d, column %d", errScanners, t.path, row+1-skip, k+1)
			}
		}
	}
	if _, more := next(); more {
		return fmt.Errorf("%w: %s: it ends before record %d", errScanners, t.path, len(s.Starts)+1-skip)
	}
	return nil
}

func (r *Report) profileText(j *judge, files []int, g *Given, o *Options) {
	h := r.reading.dialect.Header
	var names []string
	if h == dialect.HeaderNo {
		if names = slices.Clone(g.spec.Columns); len(names) == 0 {
			names = r.names
		}
		for k := len(names); k < r.reading.scan.width; k++ {
			names = append(names, fmt.Sprintf("c%d", k+1))
		}
		r.names = names
		if n := len(g.spec.Columns); n > 0 && n != r.reading.scan.width {
			r.Doubts = append(r.Doubts, Doubt{About: []string{"columns"}, Text: fmt.Sprintf("%s named, but the records have %d", setting.Count(n, "column is"), r.reading.scan.width)})
		}
	}
	p := newProfile(o.Values)
	for i := range j.texts {
		own := names
		f := &r.reading.scan.files[i]
		if h == dialect.HeaderYes || h == dialect.HeaderFirst && (i == 0 || names == nil) {
			own = nil
			for _, n := range f.first {
				own = append(own, string(n))
			}
			if h == dialect.HeaderFirst {
				names = own
			}
		}
		if f.records == 0 {
			continue
		}
		places := p.places(own[:min(len(own), f.width())])
		file := &r.Files[files[i]]
		for rec := range j.records(r.reading, i) {
			p.begin()
			for k, fd := range rec.fields {
				raw := rec.data[fd.from:fd.to]
				if t := tokenOf(raw, j.more); t >= 0 {
					p.token(string(raw), fd.quoted, rec.null(k))
				}
				if !rec.null(k) {
					p.value(places[k], rec.cutter.value(rec.data, fd))
				}
			}
			p.end()
			file.Rows++
		}
		file.Lacks = own
	}
	r.addProfile(p)
}
