package snapshot

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/model/choice"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// TestScanOfHBase compares scans of a snapshot with those of HBase's own region (RegionScans). The stores have several files, some of them
// compacted or loaded, with cells that are overwritten, deleted by each kind of marker, and expired by their family's and their own TTL, in
// families with 1, 3 and 5 versions, MIN_VERSIONS and KEEP_DELETED_CELLS. It also compares scans of some rows, columns and times.
func TestScanOfHBase(t *testing.T) {
	if testing.Short() {
		t.Skip("runs HBase's region in a JVM, which -short leaves out")
	}
	classPath, err := testcluster.JudgeClassPath(t.Context())
	testcheck.Must(t, err)
	dir := t.TempDir()
	out := testcheck.Java(t, nil, append(testcluster.JudgeOptions(), "-cp", classPath, "RegionScans", dir, "300")...)
	s, err := Open(t.Context(), hdfsio.Local{}, dir, "t")
	testcheck.Must(t, err)
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	judged := 0
	for lines.Scan() {
		var versions int
		var since, until int64
		if want, ours := strings.CutPrefix(lines.Text(), "c "); ours {
			_, err := fmt.Sscan(want, &versions, &since, &until)
			testcheck.Must(t, err)
			_, want, _ = strings.Cut(want, " rows=")
			view := View{Versions: versions, Choice: chosen(since, until)}
			if got := digest(t, s, view); got != "rows="+want {
				t.Errorf("versions %d from %d to %d: the files give %s, HBase's region rows=%s", versions, since, until, got, want)
			}
			judged++
			continue
		}
		want, ours := strings.CutPrefix(lines.Text(), "t ")
		if _, err := fmt.Sscan(want, &versions); !ours || err != nil {
			continue
		}
		_, want, _ = strings.Cut(want, " ")
		view := View{Versions: versions}
		switch versions {
		case 0:
			view = View{Raw: true}
		case math.MaxInt32:
			view = View{}
		}
		if got := digest(t, s, view); got != want {
			t.Errorf("versions %d: the files give %s, HBase's region %s", versions, got, want)
		}
		judged++
	}
	if judged != 16 {
		t.Errorf("RegionScans has scanned %d times, want 16:\n%s", judged, out)
	}
}

// chosen is the choice that RegionScans uses.
func chosen(since, until int64) choice.Choice {
	if until == math.MaxInt64 {
		until = 0
	}
	return choice.Choice{Since: since, Until: until, Ranges: []keyrange.Range{{Start: []byte("row00050"), Stop: []byte("row00120")}, {Start: []byte("row00200")}},
		Columns: []choice.Column{{Family: "f", Qualifier: []byte("q2")}, {Family: "f", Qualifier: []byte{}}, {Family: "g", Qualifier: []byte("q1")}, {Family: "h"}}}
}

// digest returns the line that RegionScans prints for the cells in order.
func digest(t *testing.T, s *Snapshot, v View) string {
	t.Helper()
	var mu sync.Mutex
	parts := make([][]byte, len(s.Regions)) // the regions' cells in the form that RegionScans hashes
	rows, cells := int64(0), int64(0)
	testcheck.Must(t, s.Each(t.Context(), 3, v, func(_ context.Context, region int, sc *Scan) error {
		var b []byte
		for sc.Next() {
			b = appendCell(b, sc.Cell())
		}
		mu.Lock()
		defer mu.Unlock()
		parts[region] = b
		rows, cells = rows+sc.Stats().Rows, cells+sc.Stats().Cells
		return nil
	}))
	sha := sha256.New()
	for _, b := range parts {
		sha.Write(b)
	}
	return fmt.Sprintf("rows=%d cells=%d sha256=%x", rows, cells, sha.Sum(nil))
}

func appendCell(b []byte, c *hfile.Cell) []byte {
	for _, piece := range [][]byte{c.Row, c.Family, c.Qualifier} {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(piece))), piece...)
	}
	b = append(binary.BigEndian.AppendUint64(b, uint64(c.Timestamp)), byte(c.Type))
	return append(binary.BigEndian.AppendUint32(b, uint32(len(c.Value))), c.Value...)
}
