package inspect

import (
	"fmt"
	"hash/maphash"
	"iter"
	"regexp"
	"slices"
	"strings"

	"bulkload/pkg/source/dialect"
)

// verdict is the result for text: one reading, or several if the sample does not decide between them.
type verdict struct {
	read   *reading   // nil: undecided
	others []*reading // if undecided, one of each group of readings with the same values
	why    string     // why there is no reading, or which bytes contradict the chosen one
	place  *Place     // place of the evidence
	failed []*scan    // without a reading: the nearest ways of cutting with several columns
}

// maxPreamble is the maximum number of lines before a header.
const maxPreamble = 20

// footer matches the line that psql writes after the rows.
var footer = regexp.MustCompile(`\n\([0-9]+ rows?\)\n*$`)

func (j *judge) judge(g *Given) *verdict {
	j.skip, j.end = g.spec.SkipLines, g.spec.SkipEnd
	excel := j.excelLine(g)
	v := j.try(g)
	if !v.found() && g.spec.SkipEnd == 0 && j.footed() {
		j.end = 1
		v = j.try(g)
	}
	if !excel && g.spec.SkipLines == 0 && g.spec.Header != "no" && !v.headed() {
		v = j.preamble(g, v)
	}
	if !v.found() {
		j.skip, j.end = g.spec.SkipLines, g.spec.SkipEnd
		if v = j.setAside(g, v); !v.found() {
			v = j.oneColumn(g, v)
		}
	}
	for _, r := range append(slices.Clone(v.others), v.read) {
		if r != nil {
			r.dialect.SkipLines, r.dialect.SkipEnd = max(r.dialect.SkipLines, j.skip), j.end
			if excel {
				r.dialect.Name, r.dialect.SkipLines = dialect.Excel, 0
			}
		}
	}
	if v.read != nil && !excel {
		j.skip = v.read.dialect.SkipLines
	}
	return v
}

// preamble looks for a header after lines that are not records. If these lines look like records, that is a doubt.
func (j *judge) preamble(g *Given, v *verdict) *verdict {
	typed := 0
	defer func() { j.only, j.skip = nil, 0 }()
	for _, r := range append(slices.Clone(v.others), v.read) {
		if r != nil {
			typed = max(typed, r.typed())
			j.only = append(j.only, r.dialect.FieldSep)
		}
	}
	for j.skip = 1; j.skip <= maxPreamble; j.skip++ {
		heads, _ := j.candidates(g)
		if !slices.ContainsFunc(heads, (*scan).headed) {
			continue
		}
		more := j.try(g)
		r := more.read
		if r == nil || r.dialect.Header != dialect.HeaderYes || r.typed() <= typed {
			continue
		}
		r.dialect.SkipLines = j.skip
		if !v.found() {
			return more
		}
		v.others = append(append([]*reading{r}, v.others...), v.read)
		v.others = slices.DeleteFunc(v.others, func(r *reading) bool { return r == nil })
		v.read = nil
		break
	}
	return v
}

// headed reports whether the types of the following values show that the first records are names.
func (s *scan) headed() bool {
	return s.w.header && slices.Equal(s.headers(), []dialect.Header{dialect.HeaderYes}) && slices.ContainsFunc(s.columns(dialect.HeaderYes), func(c stat) bool { return c.typ.class() != 0 && c.typed >= enoughSigns })
}

func (v *verdict) headed() bool {
	return slices.ContainsFunc(append(slices.Clone(v.others), v.read), func(r *reading) bool { return r != nil && r.dialect.Header != dialect.HeaderNo })
}

func (v *verdict) found() bool { return v.read != nil || len(v.others) > 0 }

func (j *judge) footed() bool {
	for i := range j.texts {
		t := &j.texts[i]
		if !t.whole || !footer.Match(t.data[max(0, len(t.data)-100):]) {
			return false
		}
	}
	return len(j.texts) > 0
}

// excelLine uses the separator of a first line such as sep=; if all texts have the same.
func (j *judge) excelLine(g *Given) bool {
	sep := ""
	for i := range j.texts {
		line, _, ok := strings.Cut(strings.TrimPrefix(string(j.texts[i].data[:min(16, len(j.texts[i].data))]), "\ufeff"), "\n")
		own, is := strings.CutPrefix(strings.TrimSuffix(line, "\r"), "sep=")
		if !ok || !is || len(own) != 1 || sep != "" && own != sep {
			return false
		}
		sep = own
	}
	if sep == "" || g.spec.FieldSep != "" || g.spec.SkipLines > 0 || g.spec.Dialect != "" && g.spec.Dialect != dialect.Excel {
		return false
	}
	g.spec.FieldSep, j.skip = sep, 1
	return true
}

// try looks for readings with several columns.
func (j *judge) try(g *Given) *verdict {
	scans, failed := j.read(j.candidates(g))
	v := j.choose(g, scans)
	if v.found() || len(failed) == 0 {
		return v
	}
	v.failed = nearestOf(g, failed)
	nearest := slices.MaxFunc(v.failed, func(a, b *scan) int { return a.records - b.records })
	v.place = nearest.bad
	if g.header(nearest) == dialect.HeaderYes {
		v.place.Record-- // as a job counts
	}
	v.why = fmt.Sprintf("read as %s with %s between columns, the best match, one record differs from the others", nearest.w.what, sepText(nearest.dialect.FieldSep))
	return v
}

// header returns the header setting by which a job reads records that are cut like this.
func (g *Given) header(s *scan) dialect.Header {
	if g.spec.Header != "" {
		return dialect.Header(g.spec.Header)
	}
	if found := s.headers(); len(found) == 1 {
		return found[0]
	}
	if d, err := dialect.Preset(g.spec.Dialect); err == nil {
		return d.Header
	}
	if s.csv {
		return dialect.HeaderYes
	}
	return dialect.HeaderNo
}

// choose returns the only reading that is left, or all readings between which the sample does not decide.
func (j *judge) choose(g *Given, scans []*scan) *verdict {
	var lawful, all []*reading
	for _, s := range scans {
		if s.records == 0 {
			continue
		}
		for _, r := range s.readings(g, j.more) {
			if all = append(all, r); s.lawful {
				lawful = append(lawful, r)
			}
		}
	}
	v := &verdict{}
	odd := len(lawful) == 0
	if odd {
		lawful = all
	}
	lawful = j.prefer(lawful)
	groups := j.groups(lawful)
	if g.spec.Dialect != "" && len(groups) > 1 {
		least := slices.MinFunc(lawful, func(a, b *reading) int { return g.distance(&a.dialect) - g.distance(&b.dialect) })
		groups = slices.DeleteFunc(groups, func(r *reading) bool {
			return !slices.ContainsFunc(lawful, func(o *reading) bool { return o.sum == r.sum && g.distance(&o.dialect) == g.distance(&least.dialect) })
		})
	}
	switch {
	case len(groups) == 1 && (!odd || g.spec.Dialect != ""):
		v.read = groups[0]
	case len(groups) > 0:
		v.others = groups
	}
	if odd && len(groups) > 0 {
		v.why = "no known exporter writes all of these bytes"
	}
	return v
}

// groups returns one reading for each group of readings with the same values: the one whose settings are nearest to a preset.
func (j *judge) groups(all []*reading) []*reading {
	seed := maphash.MakeSeed()
	sums := map[string]uint64{}
	var groups []*reading
	for _, r := range all {
		key := r.dialect.Records().String() + string(r.dialect.Header)
		sum, ok := sums[key]
		if !ok {
			sum = j.sum(r, seed)
			sums[key] = sum
		}
		r.sum = sum
		at := slices.IndexFunc(groups, func(o *reading) bool { return o.sum == r.sum })
		switch {
		case at < 0:
			groups = append(groups, r)
		case len(Nearest(&r.dialect).Settings) < len(Nearest(&groups[at].dialect).Settings):
			groups[at] = r
		}
	}
	return groups
}

// oneColumn handles text without separators. If the lines contain a byte that may be a separator, that is a doubt.
func (j *judge) oneColumn(g *Given, failed *verdict) *verdict {
	sep := g.fieldSep()
	if sep == "" {
		if len(j.texts) == 0 || failed.place != nil && g.spec.Dialect == "" {
			return failed
		}
		for i := range j.texts {
			start, stop := j.bounds(&j.texts[i])
			if at := strings.IndexAny(string(j.texts[i].data[start:stop]), strong); at >= 0 {
				if failed.place == nil {
					failed.why = fmt.Sprintf("it contains %s, and no dialect gives all records the same number of columns", sepText(string(j.texts[i].data[start+at])))
					failed.place = &Place{File: j.texts[i].path, Byte: int64(start + at)}
				}
				return failed
			}
			if b, ok := steady(j.texts[i].data[start:stop], j.texts[i].whole); ok {
				failed.why = fmt.Sprintf("it has one column, or %s between columns, equally often in each line: name the separator", sepText(string(b)))
				return failed
			}
		}
		sep = ","
	}
	var scans []*scan
	for _, w := range writers() {
		for _, end := range j.recordEnds(g.recordSep()) {
			if d := w.dialect(sep, end, '"'); w.has(sep, end) && d.Check() == nil && g.cuts(&d) {
				if s := j.scan(w, d, 0); s.bad == nil {
					scans = append(scans, s)
				}
			}
		}
	}
	v := j.choose(g, scans)
	if !v.found() {
		return failed
	}
	return v
}

// steady returns a weak separator that occurs equally often in all lines.
func steady(data []byte, whole bool) (byte, bool) {
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if !whole && len(lines) > 1 {
		lines = lines[:len(lines)-1]
	}
	for _, b := range []byte(weak) {
		n := strings.Count(lines[0], string(b))
		if n > 0 && !slices.ContainsFunc(lines, func(line string) bool { return strings.Count(line, string(b)) != n }) {
			return b, true
		}
	}
	return 0, false
}

func sepText(sep string) string {
	switch sep {
	case "\t":
		return "TAB"
	case ",":
		return "a comma"
	case " ":
		return "a blank"
	}
	if len(sep) == 1 && (sep[0] < 0x20 || sep[0] >= 0x7f) {
		return fmt.Sprintf("0x%02x", sep[0])
	}
	return dialect.Text(sep)
}

// difference returns the first place where two readings differ, in the records of the first one.
func (j *judge) difference(a, b *reading) *Place {
	if a.dialect.SkipLines != b.dialect.SkipLines {
		return nil
	}
	for i := range j.texts {
		next, stop := iter.Pull(iter.Seq[*recordAt](j.records(b, i)))
		for rec := range j.records(a, i) {
			other, ok := next()
			if p := rec.differs(other, ok); p != nil {
				stop()
				p.File = j.texts[i].path
				return p
			}
		}
		other, ok := next()
		stop()
		if ok {
			return &Place{File: j.texts[i].path, Byte: int64(other.start), Record: other.number}
		}
	}
	return nil
}

func (r *recordAt) differs(o *recordAt, ok bool) *Place {
	p := &Place{Byte: int64(r.start), Record: r.number}
	if !ok || r.start != o.start {
		return p
	}
	for k, f := range r.fields {
		p.Byte, p.Column = int64(f.from), k+1
		if k >= len(o.fields) || r.null(k) != o.null(k) {
			return p
		}
		if !r.null(k) && string(r.cutter.value(r.data, f)) != string(o.cutter.value(o.data, o.fields[k])) {
			return p
		}
	}
	if len(o.fields) > len(r.fields) {
		return &Place{Byte: int64(r.start), Record: r.number}
	}
	return nil
}
