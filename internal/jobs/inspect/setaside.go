package inspect

import (
	"fmt"
	"math"
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

// nearestOf returns, among ways of cutting that failed, those that are nearest to the given dialect.
func nearestOf(g *Given, failed []*scan) []*scan {
	least := math.MaxInt
	for _, s := range failed {
		least = min(least, g.distance(&s.dialect))
	}
	return slices.DeleteFunc(failed, func(s *scan) bool { return g.distance(&s.dialect) > least })
}

// remains are the texts that ways of cutting leave, all with the same bad records.
type remains struct {
	texts []text
	aside aside
	ways  []*scan
}

// setAside judges the texts without the records that are bad in the ways of cutting that failed: as a job reads them with a given dialect or
// bad_records. It returns failed if there is no such reading, or if other records are bad in another way: which ones a job is to leave out is open.
func (j *judge) setAside(g *Given, failed *verdict) *verdict {
	budget, err := source.NewBudget(g.spec.BadRecords)
	if err != nil || g.spec.Dialect == "" && budget.None() {
		return failed
	}
	var found *verdict
	all, chosen := j.texts, &remains{}
	defer func() { j.texts = all }()
	for _, k := range j.remainsOf(failed.failed, budget) {
		var scans []*scan
		j.texts = k.texts
		for _, way := range k.ways {
			if s := j.scan(way.w, way.dialect, 0); s.bad == nil {
				scans = append(scans, s)
			}
		}
		if v := j.choose(g, scans); !v.found() {
			continue
		} else if found != nil {
			return failed
		} else {
			found, chosen = v, k
		}
	}
	if found == nil {
		return failed
	}
	all, j.aside = chosen.texts, &chosen.aside
	return found
}

// remainsOf returns the texts that ways of cutting leave, without the bad records, if those are few.
func (j *judge) remainsOf(ways []*scan, budget *source.Budget) (list []*remains) {
	for _, s := range ways {
		k := &remains{texts: slices.Clone(j.texts), ways: []*scan{s}}
		ends := true
		for i := range k.texts {
			ends = ends && j.without(&k.texts[i], s, &k.aside)
		}
		most := k.aside.records / fewBad
		if !budget.None() {
			most = k.aside.records / 2
		}
		if bad := k.aside.bad; !ends || bad == 0 || bad > most || !budget.None() && !budget.Allows(bad, k.aside.records) {
			continue
		}
		same := func(o *remains) bool {
			return slices.EqualFunc(o.texts, k.texts, func(a, b text) bool { return slices.Equal(a.gaps, b.gaps) })
		}
		if at := slices.IndexFunc(list, same); at >= 0 {
			list[at].ways = append(list[at].ways, s)
		} else {
			list = append(list, k)
		}
	}
	return list
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
