package loader

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// digestRow adds a row to a digest like Adm.java.
func digestRow(h hash.Hash, row Row) {
	for _, c := range row.Cells {
		for _, part := range [][]byte{row.Key, {0}, c.Family, {0}, c.Qualifier, {0}, c.Value, {1}} {
			h.Write(part)
		}
	}
}

// scanDigest returns the digest of a full scan, in the format of Adm.java.
func scanDigest(t testing.TB, c *Cluster, table TableName) string {
	t.Helper()
	h := sha256.New()
	rows, cells := 0, 0
	testcheck.Must(t, c.Scan(t.Context(), ScanRequest{Table: table, ChunkBytes: 3000}, func(row Row) error {
		digestRow(h, row)
		rows++
		cells += len(row.Cells)
		return nil
	}))
	return fmt.Sprintf("rows=%d cells=%d sha256=%x", rows, cells, h.Sum(nil))
}

// loaded returns a table with rows a…, m… and x… in three regions.
func (b *bench) loaded(t testing.TB, each int) (TableName, []string) {
	t.Helper()
	table := b.table(t, "m", "x")
	var all []string
	var files []HFile
	for _, p := range []string{"a", "m", "x"} {
		rows := rowsOf(p, each)
		all = append(all, rows...)
		files = append(files, b.hfile(t, b.fs, b.dir, "f", rows))
	}
	_, err := b.Load(t.Context(), LoadRequest{Table: table, Files: files, FS: b.fs})
	testcheck.Must(t, err)
	return table, all
}

func keysOf(rows ...string) (keys [][]byte) {
	for _, row := range rows {
		keys = append(keys, []byte(row))
	}
	return keys
}

func TestScan(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table, all := b.loaded(t, 2000)
	b.checkRows(t, table, all, "f")
	scan := func(req ScanRequest) []string {
		t.Helper()
		req.Table = table
		var rows []string
		testcheck.Must(t, b.Scan(t.Context(), req, func(row Row) error {
			rows = append(rows, string(row.Key))
			return checkCells(row, "f")
		}))
		return rows
	}
	for _, c := range []struct {
		name string
		req  ScanRequest
		want []string
	}{
		{"range over a boundary", ScanRequest{Start: []byte("a001990"), Stop: []byte("m000010")}, append(rowsOf("a", 2000)[1990:], rowsOf("m", 10)...)},
		{"prefix", ScanRequest{Start: []byte("m00001"), Stop: PrefixEnd([]byte("m00001"))}, rowsOf("m", 20)[10:]},
		{"empty range", ScanRequest{Start: []byte("c"), Stop: []byte("b")}, nil},
		{"nothing there", ScanRequest{Start: []byte("b"), Stop: []byte("c")}, nil},
		{"limit over a boundary", ScanRequest{Start: []byte("a001999"), MaxRows: 3}, []string{"a001999", "m000000", "m000001"}},
		{"a row", ScanRequest{Row: []byte("m000010")}, []string{"m000010"}},
		{"a row in small chunks", ScanRequest{Row: []byte("a001999"), ChunkBytes: 1}, []string{"a001999"}},
		{"a row that is not there", ScanRequest{Row: []byte("a0019990")}, nil},
		{"limit with small chunks", ScanRequest{MaxRows: 1500, ChunkBytes: 1000}, rowsOf("a", 1500)},
		{"time before", ScanRequest{MaxTime: testTime}, nil},
		{"time after", ScanRequest{MinTime: testTime + 1}, nil},
		{"time at", ScanRequest{MinTime: testTime, MaxTime: testTime + 1, MaxRows: 5}, rowsOf("a", 5)},
		{"other family", ScanRequest{Families: []string{"g"}}, nil},
		{"a condition", ScanRequest{Where: []Condition{{Column{"f", []byte("b")}, testValue("a001999", []byte("b")), testValue("m000001", []byte("b"))}}}, []string{"a001999", "m000000", "m000001"}},
		{"conditions and a limit", ScanRequest{MaxRows: 2, Where: []Condition{
			{Column{"f", []byte("a")}, testValue("m000007", []byte("a")), nil}, {Column{"f", []byte("b")}, testValue("m000008", []byte("b")), nil}}}, []string{"m000008", "m000009"}},
		{"a condition that no row meets", ScanRequest{Where: []Condition{{Column{"f", []byte("nope")}, nil, nil}}}, nil},
		{"some rows over two boundaries", ScanRequest{Rows: keysOf("a000003", "a000004", "a001999", "b", "m000000", "x000007"), ChunkBytes: 100}, []string{"a000003", "a000004", "a001999", "m000000", "x000007"}},
		{"some rows, a part of them", ScanRequest{Rows: keysOf("a000003", "a000004", "m000000"), Start: []byte("a000004"), Stop: []byte("m")}, []string{"a000004"}},
		{"some rows, raw, a few of them", ScanRequest{Rows: keysOf("a000003", "m000004", "x000000"), Raw: true, Versions: 16, MinTime: testTime, MaxTime: testTime + 1, MaxRows: 2}, []string{"a000003", "m000004"}},
		{"some rows with a condition", ScanRequest{Rows: keysOf("a000003", "m000004"), Where: []Condition{{Column{"f", []byte("a")}, testValue("m000004", []byte("a")), nil}}}, []string{"m000004"}},
		{"rows that are not there", ScanRequest{Rows: keysOf("a", "b", "z")}, nil},
		{"an empty range of values", ScanRequest{Where: []Condition{{Column{"f", []byte("a")}, nil, []byte("a")}}}, nil},
	} {
		if got := scan(c.req); strings.Join(got, ",") != strings.Join(c.want, ",") {
			t.Errorf("%s: %d rows, want %d", c.name, len(got), len(c.want))
		}
	}
	stop := errors.New("stop")
	n := 0
	if err := b.Scan(t.Context(), ScanRequest{Table: table, ChunkBytes: 1000}, func(Row) error {
		if n++; n == 100 {
			return stop
		}
		return nil
	}); err != stop || n != 100 {
		t.Errorf("an error of the callback: %v after %d rows", err, n)
	}
	var mu sync.Mutex
	parts := map[int][]string{}
	testcheck.Must(t, b.ScanParallel(t.Context(), ScanRequest{Table: table, Start: []byte("a000100")}, 3, func(part int, row Row) error {
		mu.Lock()
		defer mu.Unlock()
		parts[part] = append(parts[part], string(row.Key))
		return checkCells(row, "f")
	}))
	if got := strings.Join(append(append(parts[0], parts[1]...), parts[2]...), ","); got != strings.Join(all[100:], ",") {
		t.Errorf("parallel: %d parts, %d + %d + %d rows", len(parts), len(parts[0]), len(parts[1]), len(parts[2]))
	}
	if err := b.Scan(t.Context(), ScanRequest{Table: TableName{"default", "none"}}, func(Row) error { return nil }); !errors.Is(err, ErrTableNotFound) {
		t.Errorf("missing table: %v", err)
	}
	err := b.Scan(t.Context(), ScanRequest{Table: table, Families: []string{"zz"}}, func(Row) error { return nil })
	if !hbaserpc.Threw(err, "NoSuchColumnFamilyException") {
		t.Errorf("unknown family: %v", err)
	}
	rows, err := b.Rows(t.Context(), table, [][]byte{[]byte("x000007"), []byte("none"), []byte("a000000")})
	testcheck.Must(t, err)
	if len(rows) != 3 || string(rows[0].Key) != "x000007" || checkCells(rows[0], "f") != nil || len(rows[1].Cells) != 0 || checkCells(rows[2], "f") != nil {
		t.Errorf("rows: %+v", rows)
	}
}

// TestScanSplitMeanwhile splits a region during a scan, and before a scan with cached locations.
func TestScanSplitMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table, all := b.loaded(t, 500)
	admin := testcluster.Shared(t).AdminT(t)
	i := 0
	testcheck.Must(t, b.Scan(t.Context(), ScanRequest{Table: table, ChunkBytes: 2000}, func(row Row) error {
		if i == 100 {
			if _, err := admin.Run(t.Context(), "split", table.String(), "a000250"); err != nil {
				return err
			}
		}
		if string(row.Key) != all[i] {
			return fmt.Errorf("row %d is %q", i, row.Key)
		}
		i++
		return checkCells(row, "f")
	}))
	if i != len(all) {
		t.Fatalf("%d rows, want %d", i, len(all))
	}
	_, err := admin.Run(t.Context(), "split", table.String(), "m000250")
	testcheck.Must(t, err)
	rows, err := b.Rows(t.Context(), table, [][]byte{[]byte("m000400")})
	testcheck.Must(t, err)
	testcheck.Must(t, checkCells(rows[0], "f"))
}

// TestPrefixScanGivesItsRows scans a prefix with a client without cached locations, and again when it knows the region.
func TestPrefixScanGivesItsRows(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table, all := b.loaded(t, 2000)
	const prefix = "m00010"
	var want []string
	for _, row := range all {
		if strings.HasPrefix(row, prefix) {
			want = append(want, row)
		}
	}
	cold, err := Dial(t.Context(), b.cfg, nil)
	testcheck.Must(t, err)
	defer cold.Close()
	for range 2 {
		var got []string
		testcheck.Must(t, cold.Scan(t.Context(), ScanRequest{Table: table, Start: []byte(prefix), Stop: PrefixEnd([]byte(prefix))}, func(row Row) error {
			got = append(got, string(row.Key))
			return nil
		}))
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestScanColumns reads some columns, and checks that rows without any of them are skipped.
func TestScanColumns(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table, _ := b.loaded(t, 20)
	for _, c := range []struct {
		req  ScanRequest
		want string // qualifiers of each row
	}{
		{ScanRequest{Columns: []Column{{"f", []byte("c")}, {"f", []byte("a")}, {"g", []byte("x")}}}, "a,c"},
		{ScanRequest{Families: []string{"f"}, Columns: []Column{{"f", []byte("c")}}}, "a,b,c"},
		{ScanRequest{Families: []string{"g"}, Columns: []Column{{"f", []byte("b")}, {"f", []byte("none")}}}, "b"},
		{ScanRequest{Columns: []Column{{"f", []byte("none")}}}, ""},
	} {
		c.req.Table = table
		rows := 0
		testcheck.Must(t, b.Scan(t.Context(), c.req, func(row Row) error {
			var got []string
			for _, cell := range row.Cells {
				got = append(got, string(cell.Qualifier))
			}
			if strings.Join(got, ",") != c.want {
				return fmt.Errorf("row %q has %q, want %s", row.Key, got, c.want)
			}
			rows++
			return nil
		}))
		want := 60
		if c.want == "" {
			want = 0
		}
		if rows != want {
			t.Errorf("%+v: %d rows, want %d", c.req, rows, want)
		}
	}
}

// TestScanOnRegion checks the reported counts of each region against the server's own.
func TestScanOnRegion(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table, _ := b.loaded(t, 500)
	var told []RegionScan
	req := ScanRequest{Table: table, Start: []byte("a000100"), Stop: []byte("x000010"), ChunkBytes: 5000, OnRegion: func(r RegionScan) { told = append(told, r) }}
	testcheck.Must(t, b.Scan(t.Context(), req, func(Row) error { return nil }))
	if len(told) != 3 {
		t.Fatalf("reports of %d regions", len(told))
	}
	regions, err := b.Regions(t.Context(), table)
	testcheck.Must(t, err)
	// lengths, row, family, qualifier, timestamp and type, value: three times
	const rowBytes = 3 * (4 + 4 + 4 + 2 + 7 + 1 + 1 + 1 + 8 + 1 + 13)
	for i, want := range []int64{400, 500, 10} {
		r := told[i]
		if r.Rows != want || r.Bytes != want*rowBytes || r.Region.Encoded != regions[i].Encoded || r.Region.Server != regions[i].Server {
			t.Errorf("region %d: %+v, want %d rows of %d bytes", i, r, want, rowBytes)
		}
		if r.Metrics[MetricRowsScanned] != want || r.Metrics[MetricRowsFiltered] != 0 {
			t.Errorf("region %d: the server counts %v, want %d rows", i, r.Metrics, want)
		}
		// a response is no larger than requested
		if least := int(want * rowBytes / req.ChunkBytes); r.Calls < max(least, 1) {
			t.Errorf("region %d: %d answers, want at least %d", i, r.Calls, least)
		}
	}
	// the first two regions have files of equal blocks; of the third region fewer blocks were read; HBase before 2.6 does not report them
	_, reported := told[0].Metrics[MetricBlockBytes]
	if a, m, x := told[0].Metrics[MetricBlockBytes], told[1].Metrics[MetricBlockBytes], told[2].Metrics[MetricBlockBytes]; reported && (a != m || x <= 0 || x >= m) {
		t.Errorf("blocks of %d, %d and %d bytes were read", a, m, x)
	}
	// the server counts filtered rows, and a callback's error does not hide the counts
	told = nil
	stop := errors.New("stop")
	req.Where = []Condition{{Column{"f", []byte("a")}, testValue("a000200", []byte("a")), nil}}
	if err := b.Scan(t.Context(), req, func(Row) error { return stop }); err != stop || len(told) != 1 || told[0].Rows != 1 || told[0].Metrics[MetricRowsFiltered] != 100 {
		t.Errorf("%v, reported %+v", err, told)
	}
}
