package extsort

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

// TestSharedPayloads lets rows of one record share a payload, in memory and in runs, with duplicates and a small arena in
// which a record's payload may be gone. The result must equal that of rows with their own payloads.
func TestSharedPayloads(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		policies := rapid.SliceOfN(rapid.SampledFrom([]Policy{KeepFirst, KeepLast, KeepAll}), 2, 4).Draw(t, "policies")
		workers := rapid.IntRange(1, 3).Draw(t, "workers")
		spillEvery := rapid.SampledFrom([]int{0, 5, 64}).Draw(t, "spill every")
		most := rapid.SampledFrom([]int{0, 30, 20_000}).Draw(t, "payload")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		s, err := New(Options{Regions: len(policies), Policies: policies, Workers: workers, Memory: int64(workers) * MinMemory, Dir: os.TempDir()})
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
		const records = 300
		var rows []testRow
		shared := 0
		for seq := range records {
			w := ws[seq/3%workers]
			var payload []byte
			for table := range policies {
				row := testRow{table, uint64(seq), fmt.Appendf(nil, "%d", r.IntN(records/2)), payload}
				ok := false
				if payload != nil && r.IntN(4) > 0 {
					if ok, err = w.AddShared(table, row.seq, row.key); err != nil {
						t.Fatal(err)
					}
				}
				if ok {
					shared++
				} else {
					payload = fmt.Appendf(make([]byte, 0, most+8), "%d %d", seq, table)
					payload = append(payload, make([]byte, r.IntN(most+1))...)
					row.payload = payload
					dst, err := w.Add(table, row.seq, row.key, len(payload))
					if err != nil {
						t.Fatal(err)
					}
					copy(dst, payload)
				}
				rows = append(rows, row)
				if n := len(rows); spillEvery > 0 && n%spillEvery == 0 {
					if err := w.Spill(); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if shared == 0 {
			t.Fatal("no payload was shared")
		}
		if ok, err := ws[0].AddShared(0, records, []byte("k")); ok || err != nil {
			t.Fatalf("a row of another number shares a payload: %t, %v", ok, err)
		}
		if err := s.Finish(); err != nil {
			t.Fatal(err)
		}
		for table, policy := range policies {
			var own []testRow
			size := int64(0)
			for _, row := range rows {
				if row.region == table {
					own = append(own, row)
					size += int64(recordHeader + len(row.key) + len(row.payload))
				}
			}
			if n, bytes := s.Size(table); n != records || bytes != size {
				t.Fatalf("table %d has %d rows of %d bytes, want %d of %d", table, n, bytes, records, size)
			}
			m, err := s.Region(table)
			if err != nil {
				t.Fatal(err)
			}
			var got []testRow
			for m.Next() {
				row := testRow{table, m.Seq(), bytes.Clone(m.Key()), bytes.Clone(m.Payload())}
				got = append(got, row)
				if want := append(append([]byte{byte(len(row.key)), 0}, row.key...), row.payload...); !bytes.Equal(m.Row(), want) || !bytes.Equal(m.Record()[recordHeader-2:], want) {
					t.Fatalf("a row is %q, want %q", m.Row(), want)
				}
			}
			if m.Err() != nil {
				t.Fatal(m.Err())
			}
			want, dups := plain(own, policy)
			if err := equalRows(got, want); err != nil || m.Duplicates() != dups {
				t.Fatalf("table %d, policy %d: %v; %d duplicates, want %d", table, policy, err, m.Duplicates(), dups)
			}
			m.Close()
		}
	})
}

// TestSharedPayloadsAreInOrder checks that rows of one number whose regions do not rise are refused.
func TestSharedPayloadsAreInOrder(t *testing.T) {
	s, err := New(Options{Regions: 3, Memory: MinMemory})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w, err := s.Writer()
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := w.AddShared(0, 0, []byte("k")); ok || err != nil {
		t.Errorf("the first row of all: %t, %v", ok, err)
	}
	if _, err := w.Add(1, 5, []byte("k"), 3); err != nil {
		t.Fatal(err)
	}
	for region, good := range []bool{false, false, true} {
		if ok, err := w.AddShared(region, 5, []byte("k")); ok != good || (err == nil) != good {
			t.Errorf("region %d: %t, %v", region, ok, err)
		}
	}
}
