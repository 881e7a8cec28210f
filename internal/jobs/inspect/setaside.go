package inspect

import (
	"cmp"
	"fmt"
	"slices"

	"bulkload/internal/formats/delimited"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// A gap is a bad record that was cut out of a text.
type gap struct {
	at, size int // in the whole text
}

// aside describes the bad records that the chosen reading leaves out.
type aside struct {
	bad, records int64
	first        Place
	reason       string
}

// fewBad is the share of bad records, as 1 of fewBad, up to which a given dialect shows that the others are read rightly.
const fewBad = 10

// nearestOf returns, among ways of cutting that failed, the one that is nearest to the given dialect, and of those the one that parses the most
// records; nil if there is none.
func nearestOf(g *Given, failed []*scan) *scan {
	if len(failed) == 0 {
		return nil
	}
	return slices.MinFunc(failed, func(a, b *scan) int {
		return cmp.Or(g.distance(&a.dialect)-g.distance(&b.dialect), b.records-a.records)
	})
}

// setAside judges the texts without the records that are bad if the text is cut as in the nearest way that failed: as a job reads it with a given
// dialect or bad_records. It returns failed if there is no such reading.
func (j *judge) setAside(g *Given, failed *verdict) *verdict {
	budget, err := source.NewBudget(g.spec.BadRecords)
	if err != nil || failed.failed == nil || g.spec.Dialect == "" && budget.None() {
		return failed
	}
	texts, found := slices.Clone(j.texts), &aside{}
	for i := range texts {
		if !j.without(&texts[i], failed.failed, found) {
			return failed
		}
	}
	most := found.records / fewBad
	if !budget.None() {
		most = found.records / 2
	}
	if found.bad == 0 || found.bad > most || !budget.None() && !budget.Allows(found.bad, found.records) {
		return failed
	}
	all := j.texts
	j.texts = texts
	if v := j.try(g); v.found() {
		j.aside = found
		return v
	}
	j.texts = all
	return failed
}

// without cuts the bad records out of a text. It returns false if the first record is one, or if the end of one is unknown.
func (j *judge) without(t *text, s *scan, found *aside) bool {
	at, stop := j.bounds(t)
	c := newCutter(&s.dialect)
	first := at
	for ; first < stop; first = at {
		next, outcome := c.next(t.data[:stop], first, t.whole)
		if outcome != recordWhole {
			return false
		}
		if at = next; !c.blank() {
			break
		}
	}
	if first >= stop {
		return true
	}
	cut := delimited.New(&s.dialect, len(c.fields), nil)
	buf := make([]byte, stop+delimited.Slack)
	copy(buf, t.data[:stop])
	kept, from, records := t.data[:0:0], 0, int64(0)
	for at = first; at < stop; {
		next, bad := cut.Scan(buf, at, stop, t.whole)
		if records += int64(len(cut.Starts)); bad == nil {
			break
		}
		if bad.Unclosed || next <= at {
			return false
		}
		records++
		if found.bad++; found.bad == 1 {
			found.first, found.reason = Place{File: t.path, Byte: int64(bad.At), Record: records}, bad.Reason
			if bad.Found > 0 {
				found.reason = fmt.Sprintf("%s found, %d expected", setting.Count(bad.Found, "column"), len(c.fields))
			}
		}
		kept = append(kept, t.data[from:bad.Start]...)
		t.gaps = append(t.gaps, gap{bad.Start, next - bad.Start})
		at, from = next, next
	}
	found.records += records
	if from > 0 {
		t.data = append(kept, t.data[from:]...)
	}
	return true
}

// original changes a place in a text without its bad records to that in the whole text.
func (t *text) original(p *Place) {
	for _, g := range t.gaps {
		if p.Byte < int64(g.at) {
			return
		}
		if p.Byte += int64(g.size); p.Record > 0 {
			p.Record++
		}
	}
}

// originalPlaces changes the places of doubts to those in the whole texts.
func (r *Report) originalPlaces(j *judge) {
	for _, d := range r.Doubts {
		for i := range j.texts {
			if t := &j.texts[i]; d.Place != nil && d.Place.File == t.path {
				t.original(d.Place)
			}
		}
	}
}

// note describes the bad records. record is the number of the first one in its file, without a header.
func (a *aside) note(header bool) string {
	n := a.first.Record
	if header {
		n--
	}
	return fmt.Sprintf("%s among %d, which a job sets aside up to bad_records: the first is record %d of %s, at byte %d: %s", setting.Count(a.bad, "bad record"), a.records, n,
		a.first.File, a.first.Byte, a.reason)
}
