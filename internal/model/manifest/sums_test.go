package manifest

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
)

// TestDigest checks that a digest does not depend on the order of rows or their distribution over regions, but on every row.
func TestDigest(t *testing.T) {
	r := testcheck.Rand(t)
	type row struct {
		form  []byte
		cells int
	}
	digest := func(rows []row) (d Digest) {
		for _, x := range rows {
			d.AddRow(x.form, x.cells)
		}
		return d
	}
	for range 200 {
		rows := make([]row, 1+r.IntN(20))
		for i := range rows {
			rows[i] = row{binary.LittleEndian.AppendUint64(nil, r.Uint64()), r.IntN(9)}
		}
		whole := digest(rows)
		shuffled := slices.Clone(rows)
		r.Shuffle(len(rows), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		at := r.IntN(len(rows) + 1)
		spread := digest(shuffled[:at])
		spread.Add(digest(shuffled[at:]))
		if spread != whole || digest(shuffled) != whole {
			t.Fatalf("%s, in another order %s, in two regions %s", whole, digest(shuffled), spread)
		}
		less := digest(shuffled[1:])
		shuffled[0].form = bytes.Clone(shuffled[0].form)
		shuffled[0].form[r.IntN(8)] ^= 1 << r.IntN(8)
		if other := digest(shuffled); other == whole || other.Rows != whole.Rows || other.Cells != whole.Cells || less == whole || less.Rows != whole.Rows-1 {
			t.Fatalf("%s with another row, %s without one, %s as it was", other, less, whole)
		}
	}
}

// TestDigestIsKnown checks the digest in journals of earlier versions, and its readable form.
func TestDigestIsKnown(t *testing.T) {
	var d Digest
	d.AddRow([]byte("abc"), 1)
	d.AddRow(nil, 2)
	abc, nothing := uint64(0x44bc2cf5ad770999), uint64(0xef46db3751d8e999) // the XXH64 of both, as its author publishes it
	if want := (Digest{Rows: 2, Cells: 3, Sum: abc + nothing}); d != want {
		t.Errorf("%s, want %s", d, want)
	}
	if s := (Digest{Rows: 1, Cells: 2, Sum: 0xab}).String(); s != "1 row, 2 cells, digest 00000000000000ab" {
		t.Errorf("it prints as %q", s)
	}
	a, b := Digest{}, Digest{}
	a.AddRow([]byte("x"), 4)
	b.AddSum(a.Sum, 4)
	if a != b {
		t.Errorf("%+v by a row, %+v by its sum", a, b)
	}
}

// TestAddTotals checks that a sum of builds has the totals, and the other fields of the first.
func TestAddTotals(t *testing.T) {
	r := testcheck.Rand(t)
	var sum Manifest
	var want Manifest
	var first *Manifest
	for i := range 5 {
		m := drawManifest(r)
		m.Records, m.Rejected, m.Duplicates, m.Joined, m.NoCells, m.SpillBytes, m.Runs = 1<<i, 2<<i, 3<<i, 4<<i, 5<<i, 6<<i, 7<<i
		m.ReadTime, m.WriteTime = time.Duration(8<<i), time.Duration(9<<i)
		if i == 0 {
			m.RejectFile, first = "", m
			want = *m
			want.Files, want.Timestamp = nil, 0
		} else {
			if want.RejectFile == "" {
				want.RejectFile = m.RejectFile
			}
			want.Digest.Rows, want.Digest.Cells, want.Digest.Sum = want.Digest.Rows+m.Digest.Rows, want.Digest.Cells+m.Digest.Cells, want.Digest.Sum+m.Digest.Sum
			want.Bytes, want.HFiles = want.Bytes+m.Bytes, want.HFiles+m.HFiles
		}
		sum.Add(m)
	}
	want.Records, want.Rejected, want.Duplicates, want.Joined, want.NoCells, want.SpillBytes, want.Runs = 31, 2*31, 3*31, 4*31, 5*31, 6*31, 7*31
	want.ReadTime, want.WriteTime = 8*31, 9*31
	if d := cmp.Diff(want, sum); d != "" {
		t.Errorf("the sum is (-want +got)\n%s", d)
	}
	if first.HFiles != len(first.Files) {
		t.Error("the first build has changed")
	}
}

// TestSummary checks that a summary omits the files, and that the manifest keeps them.
func TestSummary(t *testing.T) {
	m := golden()
	s := m.Summary()
	if s.Files != nil || s.HFiles != 2 || len(m.Files) != 2 {
		t.Errorf("%d files of %d, the manifest has %d", len(s.Files), s.HFiles, len(m.Files))
	}
	s.Files = m.Files
	if d := cmp.Diff(m, s); d != "" {
		t.Errorf("(-manifest +summary)\n%s", d)
	}
}

// TestCellNames checks the cells of rows: without a mapping the columns in the family, in order; otherwise the cells of the mapping.
func TestCellNames(t *testing.T) {
	m := &Manifest{Family: "f", Columns: []string{"b", "a", "名"}}
	if d := cmp.Diff([]spec.CellName{{Family: "f", Qualifier: "a"}, {Family: "f", Qualifier: "b"}, {Family: "f", Qualifier: "名"}}, m.CellNames()); d != "" {
		t.Error(d)
	}
	if !slices.Equal(m.Columns, []string{"b", "a", "名"}) || !slices.Equal(m.Families(), []string{"f"}) {
		t.Errorf("columns %q, families %q", m.Columns, m.Families())
	}
	m.Cells = []spec.CellName{{Family: "f", Qualifier: "z"}, {Family: "g", Qualifier: "a"}, {Family: "g", Qualifier: "b"}, {Family: "h", Qualifier: "a"}}
	if d := cmp.Diff(m.Cells, m.CellNames()); d != "" {
		t.Error(d)
	}
	if !slices.Equal(m.Families(), []string{"f", "g", "h"}) {
		t.Errorf("families %q", m.Families())
	}
	if names := (&Manifest{}).Families(); names == nil || len(names) != 0 {
		t.Errorf("no cells have the families %#v", names)
	}
}

// TestJoinTimes checks that joined bounds include all, in any order, and that their parts are not modified.
func TestJoinTimes(t *testing.T) {
	a, b, never := CellTimes{Min: 5, Max: 9, Expires: 100}, CellTimes{Min: 7, Max: 20, Expires: 50}, CellTimes{Min: 1, Max: 2}
	for _, c := range []struct {
		parts []*CellTimes
		want  *CellTimes
	}{
		{nil, nil},
		{[]*CellTimes{nil, &a, nil}, &a},
		{[]*CellTimes{&a, &b}, &CellTimes{5, 20, 50}},
		{[]*CellTimes{&b, &a}, &CellTimes{5, 20, 50}},
		{[]*CellTimes{&never, &a}, &CellTimes{1, 9, 100}},
		{[]*CellTimes{&a, &never}, &CellTimes{1, 9, 100}},
		{[]*CellTimes{&never, nil, &never}, &never},
	} {
		var sum *CellTimes
		for _, p := range c.parts {
			sum = sum.Join(p)
		}
		if d := cmp.Diff(c.want, sum); d != "" {
			t.Errorf("%v (-want +got)\n%s", c.parts, d)
		}
		if a != (CellTimes{5, 9, 100}) || b != (CellTimes{7, 20, 50}) || never != (CellTimes{1, 2, 0}) {
			t.Fatal("a part has changed")
		}
	}
}

// TestExpired checks that cells that expire within the clock difference may have expired, and cells without expiry have not.
func TestExpired(t *testing.T) {
	now := time.Now()
	for expires, want := range map[int64]bool{0: false, 1: true, now.UnixMilli(): true, now.Add(clockSlack / 2).UnixMilli(): true, now.Add(clockSlack + time.Hour).UnixMilli(): false} {
		if Expired(expires) != want {
			t.Errorf("%d: %t", expires, !want)
		}
	}
}
