package job

import (
	"cmp"
	"time"

	"bulkload/pkg/manifest"
	"bulkload/pkg/result"
)

// total adds the parts up. What is not the same for all is left out.
func (p *parts) total() {
	t := p.result
	t.Already = len(p.results) > 0
	var sum manifest.Manifest
	var v *result.Verification
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
		t.Regions = max(t.Regions, r.Regions)
		t.Snapshot = cmp.Or(t.Snapshot, r.Snapshot)
		t.LoadTime += r.LoadTime
		if r.Manifest != nil {
			sum.Add(r.Manifest)
		}
		if r.Verify != nil {
			v = v.Add(r.Verify)
		}
	}
	if !t.Already {
		t.DoneAt = time.Time{}
	}
	if sum.Schema != 0 {
		t.Manifest = &sum
	}
	t.Verify = v
}
