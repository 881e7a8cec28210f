package job

import (
	"cmp"
	"time"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
)

// total adds up the parts. Fields that differ between parts are left out.
func (p *parts) total() {
	t := p.result
	t.Already = len(p.results) > 0
	var first tableTotal
	var further []tableTotal
	for i, r := range p.results {
		if t.Parts[i].Status != result.PartAlready {
			t.Already = false
		}
		if r == nil || t.Parts[i].Status != result.PartDone && t.Parts[i].Status != result.PartAlready {
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
	if !t.Already {
		t.DoneAt = time.Time{}
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
