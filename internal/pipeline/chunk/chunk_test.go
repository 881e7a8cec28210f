package chunk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/partition/extsort"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files again")

// row is a row of a test. The first byte of its key determines its region.
type row struct {
	seq          uint64
	key, payload string
}

const regions = 4

// regionOf returns the region of a key: 0 for keys below 0x40, 1 below 0x80, and so on.
func regionOf(key string) int { return int(key[0] >> 6) }

func boundsOf(region int) Bounds {
	b := Bounds{Start: []byte{byte(region) << 6}}
	if region == 0 {
		b.Start = nil
	}
	if region < regions-1 {
		b.End = []byte{byte(region+1) << 6}
	}
	return b
}

// frame is one chunk in transit.
type frame struct{ key, value []byte }

// frames is a Sink that keeps its chunks.
type frames []frame

func (f *frames) Chunk(key, value []byte) error {
	*f = append(*f, frame{bytes.Clone(key), bytes.Clone(value)})
	return nil
}

// list is a Source of the chunks of a list, in order.
type list struct{ frames []frame }

func (l *list) Next(key, value []byte) ([]byte, []byte, error) {
	if len(l.frames) == 0 {
		return key, value, io.EOF
	}
	f := l.frames[0]
	l.frames = l.frames[1:]
	return append(key[:0], f.key...), append(value[:0], f.value...), nil
}

// write sorts the rows of a run and cuts them into chunks.
func write(t testing.TB, sink Sink, o Options, policy extsort.Policy, rows []row) []Counts {
	t.Helper()
	s, err := extsort.New(extsort.Options{Regions: regions, Memory: extsort.MinMemory, Dir: t.TempDir(), Duplicates: policy})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	w, err := s.Writer()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		dst, err := w.Add(regionOf(r.key), r.seq, []byte(r.key), len(r.payload))
		if err != nil {
			t.Fatal(err)
		}
		copy(dst, r.payload)
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	c := NewWriter(sink, o)
	var counts []Counts
	for i := range regions {
		m, err := s.Region(i)
		if err != nil {
			t.Fatal(err)
		}
		n, err := c.Region(i, m)
		m.Close()
		if err != nil {
			t.Fatal(err)
		}
		counts = append(counts, n)
	}
	return counts
}

// read merges all regions of a source.
func read(s Source, policy extsort.Policy, expect []map[uint32]Counts) (rows []row, dups int64, open int, err error) {
	r := NewReader(s, nil)
	for i := range regions {
		o := RegionOptions{Bounds: boundsOf(i), Duplicates: policy}
		if expect != nil {
			o.Expect = expect[i]
		}
		m, err := r.Merge(i, o)
		if err != nil {
			return rows, dups, open, err
		}
		for m.Next() {
			rows = append(rows, row{m.Seq(), string(m.Key()), string(m.Payload())})
			open = max(open, m.Open())
		}
		dups += m.Duplicates()
		if err := m.Whole(); err != nil {
			return rows, dups, open, err
		}
	}
	if region, err := r.Next(); !errors.Is(err, io.EOF) {
		return rows, dups, open, fmt.Errorf("region %d behind the last: %w", region, err)
	}
	return rows, dups, open, nil
}

// plain merges the rows of all runs with a plain sort.
func plain(rows []row, policy extsort.Policy) (kept []row, dups int64) {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b row) int {
		if c := bytes.Compare([]byte(a.key), []byte(b.key)); c != 0 {
			return c
		}
		return int(int64(a.seq) - int64(b.seq))
	})
	for _, r := range rows {
		n := len(kept)
		switch {
		case policy == extsort.KeepAll || n == 0 || kept[n-1].key != r.key:
			kept = append(kept, r)
			continue
		case policy == extsort.KeepLast:
			kept[n-1] = r
		}
		dups++
	}
	return kept, dups
}

// byKey sorts chunks in the order of arrival, with ties in random order.
func byKey(all []frame, random *rand.Rand) {
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	slices.SortStableFunc(all, func(a, b frame) int { return bytes.Compare(a.key, b.key) })
}

// TestMergeIsAPlainSort checks that merging the chunks of several runs, however small, gives the same rows as a sort of all
// rows, for each policy, with ties of chunks in any order, and that at most one chunk of each run, and the latest one, is open.
func TestMergeIsAPlainSort(t *testing.T) {
	testcheck.Check(t, func(r *rapid.T) {
		letters := rapid.SampledFrom([]byte{0, 1, 0x3f, 0x40, 0x7f, 0x80, 0xc0, 0xff})
		key := rapid.SliceOfN(letters, 1, 6)
		runs := rapid.IntRange(1, 6).Draw(r, "runs")
		policy := rapid.SampledFrom([]extsort.Policy{extsort.KeepFirst, extsort.KeepLast, extsort.KeepAll}).Draw(r, "policy")
		seed := rapid.Uint64().Draw(r, "seed")
		random := rand.New(rand.NewPCG(seed, 1))
		var all []row
		var sent frames
		expect := make([]map[uint32]Counts, regions)
		for i := range expect {
			expect[i] = map[uint32]Counts{}
		}
		before := int64(0)
		for run := range runs {
			var rows []row
			for i := range rapid.IntRange(0, 60).Draw(r, "rows") {
				payload := make([]byte, random.IntN(4000))
				for j := range payload {
					payload[j] = byte(random.Uint32())
				}
				rows = append(rows, row{uint64(run)<<40 | uint64(i), string(key.Draw(r, "key")), string(payload)})
			}
			all = append(all, rows...)
			_, dups := plain(rows, policy)
			before += dups
			for region, c := range write(t, &sent, Options{Run: uint32(run), Size: MinSize}, policy, rows) {
				expect[region][uint32(run)] = c
			}
		}
		byKey(sent, random)
		want, dups := plain(all, policy)
		got, merged, open, err := read(&list{sent}, policy, expect)
		if err != nil || !slices.Equal(got, want) || before+merged != dups {
			t.Fatalf("%d rows and %d+%d duplicates, want %d and %d: %v", len(got), before, merged, len(want), dups, err)
		}
		if open > runs+1 {
			t.Fatalf("%d chunks of %d runs were open", open, runs)
		}
	})
}

// TestFailSaysWhichRecords checks that with policy fail two rows with the same key in different runs give an error with both positions.
func TestFailSaysWhichRecords(t *testing.T) {
	var sent frames
	write(t, &sent, Options{Run: 1}, extsort.Fail, []row{{7, "a", "x"}, {8, "b", "y"}})
	write(t, &sent, Options{Run: 0}, extsort.Fail, []row{{3, "b", "z"}, {4, "c", "z"}})
	byKey(sent, rand.New(rand.NewPCG(1, 1)))
	_, _, _, err := read(&list{sent}, extsort.Fail, nil)
	d, ok := errors.AsType[*extsort.DuplicateError](err)
	if !ok || d.First != 3 || d.Second != 8 || string(d.Key) != "b" {
		t.Fatalf("%v", err)
	}
}

// TestLeftOut checks that a merge reports the rows that it leaves out, so that sums of rows add up.
func TestLeftOut(t *testing.T) {
	for policy, want := range map[extsort.Policy]string{extsort.KeepFirst: "23", extsort.KeepLast: "12"} {
		var sent frames
		for run, p := range []string{"1", "2", "3"} {
			write(t, &sent, Options{Run: uint32(run)}, policy, []row{{uint64(run), "k", p}})
		}
		var left []byte
		m, err := NewReader(&list{sent}, nil).Merge(1, RegionOptions{Bounds: boundsOf(1), Duplicates: policy, LeftOut: func(row []byte) { left = append(left, row[len(row)-1]) }})
		if err != nil {
			t.Fatal(err)
		}
		for m.Next() {
		}
		if err := m.Whole(); err != nil || string(left) != want || m.Duplicates() != 2 {
			t.Errorf("policy %d: %q, %v", policy, left, err)
		}
	}
}

// many returns rows of a run that make several chunks of each region.
func many(run, n int) []row {
	random := rand.New(rand.NewPCG(uint64(run), 2))
	rows := make([]row, n)
	for i := range rows {
		payload := make([]byte, 100)
		for j := range payload {
			payload[j] = byte(random.Uint32())
		}
		rows[i] = row{uint64(run)<<40 | uint64(i), string([]byte{byte(random.Uint32()), byte(i >> 16), byte(i >> 8), byte(i), byte(run)}), string(payload)}
	}
	return rows
}

// TestFile checks that joined files of chunks give their rows in order, and that any damaged byte is detected.
func TestFile(t *testing.T) {
	var all []row
	var files [][]byte
	for run := range 3 {
		rows := many(run, 4000)
		all = append(all, rows...)
		var b bytes.Buffer
		w := NewFileWriter(&b, regions)
		write(t, w, Options{Run: uint32(run), Size: MinSize}, extsort.Fail, rows)
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		files = append(files, b.Bytes())
	}
	merge := func(files [][]byte) (rows []row, err error) {
		for region := range regions {
			var sources []*FrameReader
			for i, b := range files {
				f, err := OpenFile(bytes.NewReader(b), int64(len(b)), regions, fmt.Sprintf("file %d", i))
				if err != nil {
					return nil, err
				}
				sources = append(sources, f.Region(region))
			}
			m, err := NewReader(Join(sources...), nil).Merge(region, RegionOptions{Bounds: boundsOf(region)})
			if err != nil {
				return nil, err
			}
			for m.Next() {
				rows = append(rows, row{m.Seq(), string(m.Key()), string(m.Payload())})
			}
			if err := m.Whole(); err != nil {
				return nil, err
			}
		}
		return rows, nil
	}
	want, _ := plain(all, extsort.KeepAll)
	if got, err := merge(files); err != nil || !slices.Equal(got, want) {
		t.Fatalf("%d rows, want %d: %v", len(got), len(want), err)
	}
	random := rand.New(rand.NewPCG(5, 5))
	for range 60 {
		b := bytes.Clone(files[1])
		at := random.IntN(len(b))
		what := "changed"
		if random.IntN(4) == 0 {
			b, what = b[:at], "cut"
		} else {
			b[at] ^= byte(1 + random.IntN(255))
		}
		if _, err := merge([][]byte{files[0], b, files[2]}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s at byte %d of %d: %v", what, at, len(files[1]), err)
		}
	}
}

// TestRefused checks that each possible difference between chunks and their run is an error that describes it.
func TestRefused(t *testing.T) {
	var sent frames
	counts := write(t, &sent, Options{Run: 5, Size: MinSize}, extsort.Fail, many(1, 8000))
	expect := make([]map[uint32]Counts, regions)
	for i, c := range counts {
		expect[i] = map[uint32]Counts{5: c}
	}
	again := func(f frame, change func(h *header, key *[]byte)) frame {
		_, _, h, err := parse(f.key, f.value)
		if err != nil {
			t.Fatal(err)
		}
		g := frame{bytes.Clone(f.key), bytes.Clone(f.value)}
		change(&h, &g.key)
		h.put(g.key, g.value)
		return g
	}
	with := func(i int, change func(h *header, key *[]byte)) []frame {
		all := slices.Clone(sent)
		all[i] = again(all[i], change)
		return all
	}
	for name, c := range map[string]struct {
		frames []frame
		want   string
	}{
		"a chunk is missing":           {slices.Delete(slices.Clone(sent), 1, 2), "one is missing, or comes twice"},
		"the last chunk is missing":    {slices.Clone(sent[:len(sent)-1]), "and all after it are missing"},
		"a chunk comes twice":          {slices.Insert(slices.Clone(sent), 1, sent[0]), "begins before|out of order|comes twice"},
		"the run is missing":           {nil, "all of its"},
		"a region is missing":          {slices.DeleteFunc(slices.Clone(sent), func(f frame) bool { return binary.BigEndian.Uint32(f.key) == 2 }), "region 2: all of its"},
		"another run":                  {with(0, func(h *header, _ *[]byte) { h.run = 6 }), "belongs to no run of this job"},
		"rows are missing":             {with(0, func(h *header, _ *[]byte) { h.rows-- }), "its header says"},
		"raw bytes differ":             {with(0, func(h *header, _ *[]byte) { h.raw++ }), "its header says"},
		"a wrong first key":            {with(0, func(_ *header, key *[]byte) { *key = append(*key, 0) }), "the first key of sorted rows, of 5 bytes, is not the announced one, of 6"},
		"a first key outside":          {with(0, func(_ *header, key *[]byte) { (*key)[4] = 0xff }), "is outside of the region"},
		"behind the last":              {with(0, func(h *header, _ *[]byte) { h.flags = flagLast }), "comes after the last one"},
		"unknown flags":                {with(0, func(h *header, _ *[]byte) { h.flags = 8 }), "flags 8"},
		"no rows":                      {with(0, func(h *header, _ *[]byte) { h.rows = 0 }), "0 rows"},
		"short key":                    {[]frame{{sent[0].key[:4], sent[0].value}}, "a chunk's key has 4 bytes"},
		"short value":                  {[]frame{{sent[0].key, sent[0].value[:20]}}, "a chunk has 20 bytes"},
		"another magic":                {[]frame{{sent[0].key, append([]byte("BLC2"), sent[0].value[4:]...)}}, "does not begin with BLC1"},
		"another byte":                 {[]frame{{sent[0].key, append(bytes.Clone(sent[0].value), 0)}}, "checksum"},
		"a region behind a later one":  {append([]frame{sent[len(sent)-1]}, sent[0]), "region"},
		"chunks of a run out of order": {[]frame{sent[1], sent[0]}, "where chunk 0 is expected"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, err := read(&list{c.frames}, extsort.Fail, expect)
			ok := false
			for _, want := range bytes.Split([]byte(c.want), []byte("|")) {
				ok = ok || err != nil && bytes.Contains([]byte(err.Error()), want)
			}
			if !ok {
				t.Errorf("%v", err)
			}
		})
	}
	if _, _, _, err := read(&list{sent}, extsort.Fail, expect); err != nil {
		t.Error(err)
	}
}

// TestKeyOutside checks that a row outside of the region is refused even if its chunk is intact.
func TestKeyOutside(t *testing.T) {
	var sent frames
	write(t, &sent, Options{}, extsort.Fail, []row{{1, "\x10", "a"}, {2, "\x20", "b"}})
	m, err := NewReader(&list{sent}, nil).Merge(0, RegionOptions{Bounds: Bounds{End: []byte("\x20")}})
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("%v %v", m, err)
	}
}

// TestGolden checks the bytes of the format.
func TestGolden(t *testing.T) {
	var b bytes.Buffer
	w := NewFileWriter(&b, regions)
	rows := many(3, 1000)
	for i := range rows {
		rows[i].payload = fmt.Sprintf("payload %d", i%10)
	}
	write(t, w, Options{Run: 3, Size: MinSize}, extsort.Fail, rows)
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join("testdata", "run3.chunks")
	if *update {
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(b.Bytes(), want) {
		t.Errorf("%d bytes, %s has %d: %v", b.Len(), name, len(want), err)
	}
	got := rowsOf(t, name)
	if len(got) != len(rows) {
		t.Errorf("%d rows", len(got))
	}
	// The output of another Snappy encoder has the same rows.
	if older := rowsOf(t, filepath.Join("testdata", "run3-golang.chunks")); !slices.Equal(older, got) {
		t.Errorf("%d rows of the older file", len(older))
	}
}

// rowsOf reads a file of chunks.
func rowsOf(t *testing.T, name string) (rows []string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(bytes.NewReader(b), int64(len(b)), regions, name)
	if err != nil {
		t.Fatal(err)
	}
	for region := range regions {
		m, err := NewReader(f.Region(region), nil).Merge(region, RegionOptions{Bounds: boundsOf(region)})
		if err != nil {
			t.Fatal(err)
		}
		for m.Next() {
			rows = append(rows, string(m.Record()))
		}
		if err := m.Whole(); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// TestNoAllocationPerRow checks that merging allocates per chunk, not per row.
func TestNoAllocationPerRow(t *testing.T) {
	var sent frames
	const n = 6000
	for run := range 2 {
		write(t, &sent, Options{Run: uint32(run)}, extsort.Fail, many(run, n))
	}
	byKey(sent, rand.New(rand.NewPCG(1, 1)))
	chunks := len(sent)
	allocs := testing.AllocsPerRun(3, func() {
		r := NewReader(&list{sent}, nil)
		rows := 0
		for i := range regions {
			m, err := r.Merge(i, RegionOptions{Bounds: boundsOf(i)})
			if err != nil {
				t.Fatal(err)
			}
			for m.Next() {
				rows++
			}
			if err := m.Whole(); err != nil {
				t.Fatal(err)
			}
		}
		if rows != 2*n {
			t.Fatalf("%d rows", rows)
		}
	})
	if allocs > float64(60*chunks) {
		t.Errorf("%.0f allocations for %d rows in %d chunks", allocs, 2*n, chunks)
	}
}

// TestLyingLength checks that no memory is allocated for a length before its bytes arrive.
func TestLyingLength(t *testing.T) {
	b := append([]byte{0, 0, 0, 5, 0, 0, 0, 0, 'k'}, 0x3f, 0xff, 0xff, 0xff, 1, 2, 3)
	var value []byte
	allocated := testing.Benchmark(func(tb *testing.B) {
		tb.ReportAllocs()
		for range tb.N {
			var err error
			if _, value, err = NewFrameReader(bytes.NewReader(b), "x").Next(nil, nil); !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if allocated > 4*firstRead || len(value) > firstRead {
		t.Errorf("%d bytes for a length of 1 GiB with 3 bytes there", allocated)
	}
}

// FuzzReader checks that any input is read or refused, without memory in proportion to a length.
func FuzzReader(f *testing.F) {
	var sent frames
	write(f, &sent, Options{Run: 1}, extsort.Fail, many(1, 300))
	for i := range sent {
		f.Add(sent[i].key, sent[i].value[headerSize:], uint32(1), true)
	}
	f.Add([]byte("\x00\x00\x00\x00k"), []byte{1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0}, uint32(1), false)
	f.Fuzz(func(t *testing.T, key, blocks []byte, rows uint32, last bool) {
		h := header{rows: rows, raw: rows}
		if last {
			h.flags = flagLast
		}
		value := append(make([]byte, headerSize), blocks...)
		h.put(key, value)
		var b bytes.Buffer
		if err := NewFrameWriter(&b).Chunk(key, value); err != nil {
			t.Fatal(err)
		}
		r := NewReader(NewFrameReader(&b, "fuzz"), nil)
		region, err := r.Next()
		if err != nil {
			return
		}
		m, err := r.Merge(region, RegionOptions{})
		if err != nil {
			return
		}
		var before []byte
		for m.Next() {
			if before != nil && bytes.Compare(before, m.Key()) >= 0 {
				t.Fatal("out of order")
			}
			before = append(before[:0], m.Key()...)
		}
		_ = m.Whole()
	})
}

// FuzzFile checks that an index is refused unless it fits its file.
func FuzzFile(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "run3.chunks"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := OpenFile(bytes.NewReader(b), int64(len(b)), regions, "fuzz")
		if err != nil {
			return
		}
		for i := range regions {
			if n := file.Size(i); n < 0 || n > int64(len(b)) {
				t.Fatalf("region %d has %d bytes of %d", i, n, len(b))
			}
		}
	})
}

// BenchmarkChunks measures cutting and merging; bytes are the bytes of rows.
func BenchmarkChunks(b *testing.B) {
	var sent frames
	var size int64
	for run := range 4 {
		for _, c := range write(b, &sent, Options{Run: uint32(run)}, extsort.Fail, many(run, 50_000)) {
			size += c.Bytes
		}
	}
	byKey(sent, rand.New(rand.NewPCG(1, 1)))
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if n, err := drain(&list{sent}); err != nil || n != 200_000 {
			b.Fatal(n, err)
		}
	}
}

// drain merges a source and counts its rows.
func drain(s Source) (n int64, err error) {
	r := NewReader(s, nil)
	for i := range regions {
		m, err := r.Merge(i, RegionOptions{Bounds: boundsOf(i)})
		if err != nil {
			return n, err
		}
		for m.Next() {
			n++
		}
		if err := m.Whole(); err != nil {
			return n, err
		}
	}
	return n, nil
}
