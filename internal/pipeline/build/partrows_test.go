package build

import (
	"runtime"
	"testing"

	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/chunk"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/partition"
)

// TestMemoryOfPartRows checks that a merge of many shares keeps little for each region and share besides the shares' descriptions.
func TestMemoryOfPartRows(t *testing.T) {
	const regions, shares, most = 2000, 100, 1 << 20
	ranges, err := partition.New(partition.HexSplits(regions))
	testcheck.Must(t, err)
	runs := make([]PartRun, shares)
	for i := range runs {
		runs[i].Read = &PartRead{}
		for region := range regions {
			runs[i].Read.Regions = append(runs[i].Read.Regions, PartRegion{Region: region, Counts: chunk.Counts{Rows: int64(i), Bytes: 2}})
		}
	}
	before := testcheck.Heap()
	p := newPartRows([]*cells.Plan{{Ranges: ranges}}, runs)
	if n := testcheck.Heap() - before; n > most {
		t.Errorf("%d bytes of memory, at most %d are allowed", n, most)
	}
	if rows, bytes := p.Size(regions - 1); rows != shares*(shares-1)/2 || bytes != 2*shares {
		t.Errorf("%d rows of %d bytes", rows, bytes)
	}
	runtime.KeepAlive(p)
}
