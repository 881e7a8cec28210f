package job

import (
	"cmp"
	"slices"
	"time"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
)

// total adds up the parts: all that are done, and those that this run has done. Fields that differ between parts are left out.
func (p *parts) total() {
	t := p.result
	before := 0
	for _, part := range t.Parts {
		if part.Status == result.PartAlready {
			before++
		}
	}
	t.Already = len(t.Parts) > 0 && before == len(t.Parts)
	p.sum(t, result.PartDone, result.PartAlready)
	if !t.Already {
		t.DoneAt = time.Time{}
	}
	if before > 0 && !t.Already {
		t.Now = new(*t)
		p.sum(t.Now, result.PartDone)
		t.Now.DoneAt = time.Time{}
	}
}

// sum sets t to the totals of the parts with one of the statuses.
func (p *parts) sum(t *result.Result, of ...result.PartStatus) {
	var first tableTotal
	var further []tableTotal
	for i, r := range p.results {
		if r == nil || !slices.Contains(of, t.Parts[i].Status) {
			continue
		}
		t.Table = r.Table
		if r.DoneAt.After(t.DoneAt) {
			t.DoneAt = r.DoneAt
		}
		if t.Parts[i].Status == result.PartDone || r.Snapshot == p.options.Snapshot { // else of a part that an earlier run has loaded
			t.Snapshot = cmp.Or(t.Snapshot, r.Snapshot)
		}
		first.add(result.Table{Manifest: r.Manifest, Regions: r.Regions, LoadTime: r.LoadTime, Verify: r.Verify})
		for n, own := range r.Tables {
			if n == len(further) {
				further = append(further, tableTotal{Table: result.Table{Table: own.Table, Index: own.Index}})
			}
			further[n].add(own)
		}
	}
	t.Manifest, t.Regions, t.LoadTime, t.Verify = first.Manifest, first.Regions, first.LoadTime, first.Verify
	t.Tables = nil
	for _, own := range further {
		t.Tables = append(t.Tables, own.Table)
	}
}

// tableTotal has the totals of the parts for one table.
type tableTotal struct{ result.Table }

// add adds the counts of one part. It does not modify r.
func (t *tableTotal) add(r result.Table) {
	t.Regions = max(t.Regions, r.Regions)
	t.LoadTime += r.LoadTime
	t.VerifyTime += r.VerifyTime
	if r.Manifest != nil {
		if t.Manifest == nil {
			t.Manifest = &manifest.Manifest{}
		}
		t.Manifest.Add(r.Manifest)
	}
	if r.Verify != nil {
		t.Verify = t.Verify.Add(r.Verify)
	}
}
