package snapshot

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

func TestMain(m *testing.M) { testcluster.Main(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hbaseFiles is the cluster's HDFS.
func hbaseFiles(t testing.TB, cluster *testcluster.Cluster) *hdfsio.HDFS {
	t.Helper()
	conf, err := hdfsio.LoadConf(func(name string) (string, bool) { return cluster.ConfDir(), name == "HADOOP_CONF_DIR" })
	must(t, err)
	root, err := conf.Resolve("hdfs:///")
	must(t, err)
	o, err := conf.HDFSOptions(root, nil)
	must(t, err)
	h, err := hdfsio.NewHDFS(o)
	must(t, err)
	t.Cleanup(func() { h.Close() })
	return h
}

// TestScanOfHBase reads snapshots of tables that Cells makes, and holds them to what HBase's own Scan gives: a table of
// three families with cells overwritten, deleted by each kind of marker and expired, a bulk-loaded file, cells in memory, a
// region split since; and a clone of it, of links, split again. Then once more when both tables were compacted and dropped, also by
// scans that began before.
func TestScanOfHBase(t *testing.T) {
	cluster := testcluster.Shared(t)
	ctx := t.Context()
	fsys := hbaseFiles(t, cluster)
	const table, clone = "cells_table.a", "cells_clone"
	out, err := cluster.JavaClass(ctx, "Cells", "make", table, clone, "200")
	must(t, err)
	want := judged(t, out)
	if len(want) != 8 {
		t.Fatalf("HBase gave\n%s", out)
	}
	begun := make(map[string]*Snapshot)
	for _, name := range []string{table, clone} {
		s, err := Open(ctx, fsys, "/hbase", name)
		must(t, err)
		t.Logf("%s: %d regions, files and halves %v", name, len(s.Regions), namesOf(s))
		begun[name] = s
	}
	compareAll := func(when string) {
		for key, line := range want {
			name, versions, _ := strings.Cut(key, " ")
			if got := digest(t, begun[name], viewOf(t, versions)); got != line {
				t.Errorf("%s, snapshot %s, versions %s:\nthe files give %s\nHBase's Scan   %s", when, name, versions, got, line)
			}
		}
	}
	compareAll("before")
	scans := openAll(t, begun[table])
	_, err = cluster.JavaClass(ctx, "Cells", "drop", table, clone)
	must(t, err)
	compareAll("after the tables were dropped")
	cells := 0
	for _, sc := range scans {
		for sc.Next() {
			cells++
		}
		must(t, sc.Err())
	}
	if line := want[table+" 1"]; !strings.Contains(line, fmt.Sprintf(" cells=%d ", cells)) {
		t.Errorf("scans that began before the drop gave %d cells, HBase %s", cells, line)
	}
}

// judged maps snapshot and versions to what HBase gave.
func judged(t testing.TB, out string) map[string]string {
	t.Helper()
	lines := make(map[string]string)
	for in := bufio.NewScanner(strings.NewReader(out)); in.Scan(); {
		if words := strings.SplitN(in.Text(), " ", 3); len(words) == 3 && strings.HasPrefix(words[2], "rows=") {
			lines[words[0]+" "+words[1]] = words[2]
		}
	}
	return lines
}

func viewOf(t testing.TB, versions string) View {
	t.Helper()
	var n int
	_, err := fmt.Sscan(versions, &n)
	must(t, err)
	if n == math.MaxInt32 {
		n = 0
	} else if n == 0 {
		return View{Raw: true}
	}
	return View{Versions: n}
}

// openAll opens a scan of each region.
func openAll(t testing.TB, s *Snapshot) []*Scan {
	t.Helper()
	var all []*Scan
	for i := range s.Regions {
		sc, err := s.Scan(t.Context(), i, View{Versions: 1})
		must(t, err)
		t.Cleanup(func() { sc.Close() })
		all = append(all, sc)
	}
	return all
}

func namesOf(s *Snapshot) (names []string) {
	for _, r := range s.Regions {
		for family, files := range r.stores {
			for _, f := range files {
				names = append(names, family+"/"+f.name)
			}
		}
	}
	return names
}

// digest is the line that Cells prints of the cells in order.
func digest(t testing.TB, s *Snapshot, v View) string {
	t.Helper()
	var mu sync.Mutex
	parts := make([][]byte, len(s.Regions)) // the regions' cells as Cells hashes them
	rows, cells := int64(0), int64(0)
	must(t, s.Each(t.Context(), 3, v, func(_ context.Context, region int, sc *Scan) error {
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
	var sha hash.Hash = sha256.New()
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
