package extsort

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

type testRow struct {
	region  int
	seq     uint64
	key     []byte
	payload []byte
}

// fill adds rows through the writers: row i goes to writer seq/stripe mod writers.
func fill(t testing.TB, s *Sorter, writers, stripe int, rows []testRow) {
	t.Helper()
	ws := make([]*Writer, writers)
	for i := range ws {
		w, err := s.Writer()
		if err != nil {
			t.Fatal(err)
		}
		ws[i] = w
	}
	for _, r := range rows {
		dst, err := ws[int(r.seq)/stripe%writers].Add(r.region, r.seq, r.key, len(r.payload))
		if err != nil {
			t.Fatal(err)
		}
		copy(dst, r.payload)
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
}

func drain(t testing.TB, s *Sorter, regions int) ([]testRow, int64) {
	t.Helper()
	var out []testRow
	dups := int64(0)
	for region := range regions {
		m, err := s.Region(region)
		if err != nil {
			t.Fatal(err)
		}
		for m.Next() {
			out = append(out, testRow{region, m.Seq(), bytes.Clone(m.Key()), bytes.Clone(m.Payload())})
		}
		if err := m.Err(); err != nil {
			t.Fatal(err)
		}
		dups += m.Duplicates()
	}
	return out, dups
}

// plain is the reference implementation: a stable sort and one pass.
func plain(rows []testRow, p Policy) (out []testRow, dups int64) {
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b testRow) int {
		return cmp.Or(cmp.Compare(a.region, b.region), bytes.Compare(a.key, b.key), cmp.Compare(a.seq, b.seq))
	})
	for _, r := range sorted {
		if n := len(out); p != KeepAll && n > 0 && out[n-1].region == r.region && bytes.Equal(out[n-1].key, r.key) {
			dups++
			if has, had := len(r.payload) > 0, len(out[n-1].payload) > 0; has && !had || has == had && p == KeepLast {
				out[n-1] = r
			}
			continue
		}
		out = append(out, r)
	}
	return out, dups
}

func equalRows(a, b []testRow) error {
	if len(a) != len(b) {
		return fmt.Errorf("%d rows, want %d", len(a), len(b))
	}
	for i := range a {
		if a[i].region != b[i].region || a[i].seq != b[i].seq || !bytes.Equal(a[i].key, b[i].key) || !bytes.Equal(a[i].payload, b[i].payload) {
			return fmt.Errorf("row %d is %d %q #%d, want %d %q #%d", i, a[i].region, a[i].key, a[i].seq, b[i].region, b[i].key, b[i].seq)
		}
	}
	return nil
}

// TestSortEqualsPlainSort compares with a plain sort for random keys that share
// long prefixes, end early and repeat.
func TestSortEqualsPlainSort(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		regions := rapid.IntRange(1, 5).Draw(t, "regions")
		prefix := rapid.SampledFrom([]string{"", "a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaa", "aaaaaaaab"})
		tail := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 'b', 0xff}), 0, 12)
		n := rapid.IntRange(0, 300).Draw(t, "rows")
		var rows []testRow
		for i := range n {
			key := append([]byte(prefix.Draw(t, "prefix")), tail.Draw(t, "tail")...)
			rows = append(rows, testRow{int(uint(len(key)) % uint(regions)), uint64(i), key, fmt.Appendf(nil, "payload %d", i)})
			if rapid.IntRange(0, 2).Draw(t, "empty") == 0 {
				rows[i].payload = nil
			}
		}
		policy := rapid.SampledFrom([]Policy{KeepFirst, KeepLast, KeepAll}).Draw(t, "policy")
		workers := rapid.IntRange(1, 3).Draw(t, "workers")
		s, err := New(Options{Regions: regions, Workers: workers, Memory: MinMemory * 3, Dir: os.TempDir(), Duplicates: policy})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ws := make([]*Writer, workers)
		for i := range ws {
			if ws[i], err = s.Writer(); err != nil {
				t.Fatal(err)
			}
		}
		spillEvery := rapid.SampledFrom([]int{0, 7, 50}).Draw(t, "spill every")
		for i, r := range rows {
			w := ws[i/3%workers]
			dst, err := w.Add(r.region, r.seq, r.key, len(r.payload))
			if err != nil {
				t.Fatal(err)
			}
			copy(dst, r.payload)
			if spillEvery > 0 && i%spillEvery == spillEvery-1 {
				if err := w.Spill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Finish(); err != nil {
			t.Fatal(err)
		}
		want, wantDups := plain(rows, policy)
		var got []testRow
		dups, held := int64(0), int64(0)
		for region := range regions {
			r, _ := s.Size(region)
			held += r
			m, err := s.Region(region)
			if err != nil {
				t.Fatal(err)
			}
			for m.Next() {
				got = append(got, testRow{region, m.Seq(), bytes.Clone(m.Key()), bytes.Clone(m.Payload())})
			}
			if m.Err() != nil {
				t.Fatal(m.Err())
			}
			dups += m.Duplicates()
		}
		if err := equalRows(got, want); err != nil {
			t.Fatal(err)
		}
		if dups != wantDups || held != int64(n) || s.Stats().Rows != int64(n) {
			t.Fatalf("%d duplicates, %d rows held, %d counted; want %d, %d", dups, held, s.Stats().Rows, wantDups, n)
		}
	})
}

// TestRowsWithoutPayload sorts many rows of a few keys, most of them without a payload: of each key a row with a payload is kept.
func TestRowsWithoutPayload(t *testing.T) {
	const n, keys = 60_000, 3
	for _, policy := range []Policy{KeepFirst, KeepLast} {
		for _, from := range []int{0, n / 2, n - keys, n} {
			var rows []testRow
			for i := range n {
				r := testRow{0, uint64(i), fmt.Appendf(nil, "%050d", i%keys), nil}
				if i >= from && i < from+n/4 && i%5 > 1 {
					r.payload = fmt.Appendf(nil, "payload %d", i)
				}
				rows = append(rows, r)
			}
			s, err := New(Options{Regions: 1, Memory: MinMemory, Dir: t.TempDir(), Duplicates: policy})
			testcheck.Must(t, err)
			fill(t, s, 1, 1, rows)
			got, dups := drain(t, s, 1)
			want, wantDups := plain(rows, policy)
			if err := equalRows(got, want); err != nil || dups != wantDups {
				t.Errorf("policy %d, payloads from %d: %v; %d duplicates, want %d", policy, from, err, dups, wantDups)
			}
			if s.Stats().SpillBytes == 0 {
				t.Error("nothing was spilled")
			}
			testcheck.Must(t, s.Close())
		}
	}
}

// manyRows returns rows like those of the check table; every repeat-th key is a
// repetition.
func manyRows(n, regions, repeat int) []testRow {
	r := rand.New(rand.NewPCG(3, 4))
	rows := make([]testRow, n)
	group := make([]byte, 32)
	for i := range rows {
		if i%20 == 0 {
			for j := range group {
				group[j] = "0123456789abcdef"[r.IntN(16)]
			}
		}
		salt := int(group[0]+group[1]) % regions
		key := fmt.Appendf(nil, "%d%s%016X%016X", salt, group, r.Uint64(), r.Uint64())
		if repeat > 0 && i%repeat == repeat-1 {
			j := r.IntN(i)
			key, salt = rows[j].key, rows[j].region
		}
		payload := make([]byte, 100+r.IntN(200))
		for j := range payload {
			payload[j] = byte('a' + r.IntN(4))
		}
		rows[i] = testRow{salt, uint64(i), key, payload}
	}
	return rows
}

// TestBudgetsAgree spills, merges runs in several levels, and compares the
// result with that of a budget that holds all rows.
func TestBudgetsAgree(t *testing.T) {
	rows := manyRows(60_000, 5, 100)
	shared := []int{0, 1, 1, 1, 0}
	var want []testRow
	for i, c := range []struct {
		workers int
		memory  int64
		runs    bool
	}{{1, 256 << 20, false}, {4, 256 << 20, false}, {1, MinMemory, true}, {3, 3 * MinMemory, true}} {
		s, err := New(Options{Regions: 5, Shared: shared, Workers: c.workers, Memory: c.memory, Dir: t.TempDir(), Duplicates: KeepLast})
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s, c.workers, 500, rows)
		if got := s.Stats().Runs > 0; got != c.runs {
			t.Errorf("%d bytes: spilled %v, want %v", c.memory, got, c.runs)
		}
		got, dups := drain(t, s, 5)
		if i == 0 {
			var wantDups int64
			want, wantDups = plain(rows, KeepLast)
			if dups != wantDups {
				t.Errorf("%d duplicates, want %d", dups, wantDups)
			}
		}
		if err := equalRows(got, want); err != nil {
			t.Errorf("%d workers, %d bytes: %v", c.workers, c.memory, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestDuplicatesFail(t *testing.T) {
	s, err := New(Options{Regions: 1, Memory: MinMemory, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fill(t, s, 1, 1, []testRow{{0, 5, []byte("k"), nil}, {0, 6, []byte("j"), nil}, {0, 9, []byte("k"), nil}})
	m, err := s.Region(0)
	if err != nil {
		t.Fatal(err)
	}
	for m.Next() {
	}
	var d *DuplicateError
	if !errors.As(m.Err(), &d) || string(d.Key) != "k" || d.First != 5 || d.Second != 9 {
		t.Fatalf("error is %v", m.Err())
	}
}

func TestRowTooLarge(t *testing.T) {
	s, err := New(Options{Regions: 1, Memory: MinMemory, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w, err := s.Writer()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Add(0, 1, []byte("k"), 2<<20); !errors.Is(err, ErrMemory) {
		t.Fatalf("error is %v", err)
	}
}

// TestDamagedRun flips bytes of a run: a merge must report an error and never return
// other rows.
func TestDamagedRun(t *testing.T) {
	s, err := New(Options{Regions: 2, Memory: MinMemory, Dir: t.TempDir(), Duplicates: KeepFirst})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fill(t, s, 1, 1, manyRows(8000, 2, 0))
	if len(s.runs) == 0 {
		t.Fatal("nothing was spilled")
	}
	r := s.runs[0]
	for _, at := range []int64{0, 5, 9, r.size / 2, r.size - 1} {
		var b [1]byte
		if _, err := r.f.ReadAt(b[:], at); err != nil {
			t.Fatal(err)
		}
		if _, err := r.f.WriteAt([]byte{b[0] ^ 0x55}, at); err != nil {
			t.Fatal(err)
		}
		var last error
		for region := range 2 {
			m, err := s.Region(region)
			if err == nil {
				for m.Next() {
				}
				err = m.Err()
			}
			last = errors.Join(last, err)
		}
		if !errors.Is(last, ErrCorrupt) {
			t.Errorf("byte %d of %d changed: error is %v", at, r.size, last)
		}
		if _, err := r.f.WriteAt(b[:], at); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSpillDirMissing(t *testing.T) {
	s, err := New(Options{Regions: 1, Memory: MinMemory, Dir: t.TempDir() + "/none"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w, err := s.Writer()
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(20_000) {
		if _, err = w.Add(0, i, binary.BigEndian.AppendUint64(nil, i), 100); err != nil {
			break
		}
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("error is %v", err)
	}
}

func TestPayloadRoundTrip(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Just([]byte(nil)), rapid.Just([]byte{}), rapid.SliceOfN(rapid.Byte(), 0, 20000)), 0, 20).Draw(t, "values")
		lengths := make([]int, len(values))
		for i, v := range values {
			lengths[i] = len(v)
			if v == nil {
				lengths[i] = -1
			}
		}
		p := make([]byte, PayloadSize(lengths))
		var data []byte
		var offsets []uint32
		for _, v := range values {
			offsets = append(offsets, uint32(len(data)))
			data = append(append(data, v...), 0x01)
		}
		Fill(p, lengths, data, offsets)
		got := make([][]byte, len(values))
		if err := Values(p, got); err != nil {
			t.Fatal(err)
		}
		for i := range values {
			if !bytes.Equal(got[i], values[i]) || (got[i] == nil) != (values[i] == nil) {
				t.Fatalf("value %d is %q, want %q", i, got[i], values[i])
			}
		}
		if len(p) > 0 {
			if err := Values(p[:len(p)-1], got); err == nil {
				t.Fatal("a payload cut short is taken")
			}
		}
	})
}

func BenchmarkSort(b *testing.B) {
	rows := manyRows(300_000, 10, 0)
	size := int64(0)
	for _, r := range rows {
		size += int64(len(r.key) + len(r.payload))
	}
	for name, memory := range map[string]int64{"memory": 256 << 20, "spill": 16 << 20} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				s, err := New(Options{Regions: 10, Memory: memory, Dir: b.TempDir()})
				if err != nil {
					b.Fatal(err)
				}
				fill(b, s, 1, 1, rows)
				for region := range 10 {
					m, err := s.Region(region)
					if err != nil {
						b.Fatal(err)
					}
					for m.Next() {
					}
					if m.Err() != nil {
						b.Fatal(m.Err())
					}
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*float64(len(rows))/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
