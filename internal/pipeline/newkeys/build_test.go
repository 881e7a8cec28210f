package newkeys

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/source"
)

// TestCellsMove checks the new cells of rows with every kind of cell that is kept, and every kind that is not.
func TestCellsMove(t *testing.T) {
	put := testsnapshot.Put
	l := newLab(t, []string{"b"}, "f", "g")
	tagged := put("a1", "g", "q", 700, "tagged")
	tagged.Tags = ttlTag(1 << 40)
	expired := put("a1", "g", "r", 700, "expired")
	expired.Tags = ttlTag(1)
	mark := func(row, family, qualifier string, ts int64, typ hfile.Type) hfile.Cell {
		c := put(row, family, qualifier, ts, "")
		c.Type = typ
		return c
	}
	l.load(put("a1", "f", "id", 500, "k-old"), put("a1", "f", "v", 400, "1"), put("a1", "f", "v", 500, "2"), put("a1", "f", "gone", 500, "x"), tagged, expired,
		put("b1", "f", "id", 500, "k0"), put("b1", "f", "v", 500, "same"), put("b2", "f", "id", 500, "k9"))
	l.load(put("a1", "f", "id", 600, "k5"), put("a1", "f", "v", 500, "two"), mark("a1", "f", "gone", 550, hfile.DeleteColumn), mark("b2", "f", "", 600, hfile.DeleteFamily),
		put("b1", "f", "", 0, ""))
	s := l.open()
	p := l.plan("id", "k3")
	m, dir, err := l.build(s, p, Options{Options: build.Options{Workers: 2}})
	testcheck.Must(t, err)
	want := []string{
		`"k0" f:"" 0 Put "" `, `"k0" f:"id" 500 Put "k0" `, `"k0" f:"v" 500 Put "same" `,
		`"k5" f:"id" 500 Put "k-old" `, `"k5" f:"id" 600 Put "k5" `, `"k5" f:"v" 400 Put "1" `, `"k5" f:"v" 500 Put "two" `,
		fmt.Sprintf(`"k5" g:"q" 700 Put "tagged" %x`, tagged.Tags),
	}
	if got := l.cells(m, p, dir); !slices.Equal(got, want) {
		t.Errorf("cells\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if m.Records != 2 || m.Digest.Rows != 2 || m.Digest.Cells != 8 || m.HFiles != 3 || len(m.RowSum) != 32 || m.Times.Min != 0 || m.Times.Max != 700 || m.Times.Expires != 700+1<<40 {
		t.Errorf("%+v %+v", m, m.Times)
	}
	// Only cells from the given time on, whose key may be older.
	p.Choice.Since = 600
	m, dir, err = l.build(s, p, Options{Options: build.Options{Workers: 1}})
	testcheck.Must(t, err)
	if got := l.cells(m, p, dir); !slices.Equal(got, []string{want[4], want[7]}) || m.NoCells != 1 || m.Records != 2 {
		t.Errorf("%q, %+v", got, m)
	}
}

// random loads rows with several versions, families, tags and deletes; id is unique.
func (l *lab) random(r *rand.Rand, rows int) {
	for file := range 3 {
		var cells []hfile.Cell
		for i := range rows {
			row := fmt.Sprintf("%c%05d", 'a'+i*26/rows, i)
			if file == 0 {
				cells = append(cells, testsnapshot.Put(row, "f", "id", 900, fmt.Sprintf("%x", r.Uint64())))
			}
			for range r.IntN(5) {
				c := testsnapshot.Put(row, []string{"f", "g"}[r.IntN(2)], fmt.Sprintf("q%d", r.IntN(4)), 900+int64(r.IntN(4)), strings.Repeat("v", r.IntN(40))+fmt.Sprint(r.IntN(99)))
				switch r.IntN(12) {
				case 0:
					c.Tags = ttlTag(int64(r.IntN(2)) << 40)
				case 1:
					c.Type = []hfile.Type{hfile.Delete, hfile.DeleteColumn}[r.IntN(2)]
					c.Value = nil
				}
				if c.Type == hfile.Put || string(c.Qualifier) != "id" {
					cells = append(cells, c)
				}
			}
		}
		l.load(cells...)
	}
}

// plain computes the expected content of a snapshot, with maps: sorted lines of cells. The policy
// determines which of two rows with the same key stays; rows without a column id have no key.
func plain(t testing.TB, s *snapshot.Snapshot, p *Plan, key func(row, id string) string) (lines []string, duplicates int64) {
	t.Helper()
	type row struct {
		old, id string
		cells   []hfile.Cell
	}
	rows := []*row{}
	for i := range s.Regions {
		sc, err := s.Scan(t.Context(), i, snapshot.View{Now: p.Now})
		testcheck.Must(t, err)
		for sc.Next() {
			c := *sc.Cell()
			if sc.NewRow() {
				rows = append(rows, &row{old: string(c.Row)})
			}
			r := rows[len(rows)-1]
			if string(c.Family) == "f" && string(c.Qualifier) == "id" && r.id == "" {
				r.id = string(c.Value)
			}
			c.Row, c.Family, c.Qualifier, c.Value, c.Tags = slices.Clone(c.Row), slices.Clone(c.Family), slices.Clone(c.Qualifier), slices.Clone(c.Value), slices.Clone(c.Tags)
			r.cells = append(r.cells, c)
		}
		testcheck.Must(t, errors.Join(sc.Err(), sc.Close()))
	}
	kept := map[string]*row{}
	for _, r := range rows {
		k := key(r.old, r.id)
		if kept[k] != nil {
			duplicates++
			if p.Duplicates == extsort.KeepFirst {
				continue
			}
		}
		kept[k] = r
	}
	for k, r := range kept {
		for i := range r.cells {
			if r.cells[i].Timestamp >= p.Choice.Since {
				lines = append(lines, line([]byte(k), &r.cells[i]))
			}
		}
	}
	slices.Sort(lines)
	return lines, duplicates
}

// TestRandomTables compares builds with a plain implementation.
func TestRandomTables(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 7))
		splits, versions := []string{"c", "m", "t"}[:r.IntN(4)], 1+r.IntN(3)
		l := newLabOf(t, versions, splits, "f", "g")
		l.random(r, 200+r.IntN(800))
		s := l.open()
		for _, c := range []struct {
			spec string
			key  func(row, id string) string
		}{
			{"`f:id` + '-' + `$row`", func(row, id string) string { return id + "-" + row }},
			{"$row", func(row, _ string) string { return row }},
			{"substr($row, 1) + 'x'", func(row, _ string) string { return row[1:] + "x" }},
			{"substr(id, 0, 2)", func(_, id string) string { return id[:2] }},
		} {
			p := l.plan(c.spec, []string{"3", "8", "d"}[:r.IntN(4)]...)
			if strings.HasPrefix(c.spec, "substr") {
				p.Duplicates = []extsort.Policy{extsort.KeepFirst, extsort.KeepLast}[r.IntN(2)]
			} else if r.IntN(2) == 0 {
				p.Choice.Since = 902
			}
			m, dir, err := l.build(s, p, Options{Options: build.Options{Workers: 1 + r.IntN(4)}})
			testcheck.Must(t, err)
			want, dups := plain(t, s, p, c.key)
			if got := l.cells(m, p, dir); !slices.Equal(got, want) || m.Duplicates != dups || len(want) == 0 || m.Digest.Cells != int64(len(want)) {
				t.Errorf("seed %d, key %s: %d cells and %d duplicates, not %d and %d", seed, c.spec, len(got), m.Duplicates, len(want), dups)
			}
		}
	}
}

// TestFixedMemory checks that more rows than fit in the sort's memory give the same files.
func TestFixedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("sorts 100 MB, which -short leaves out")
	}
	l := newLab(t, []string{"m"}, "f")
	for file := range 4 {
		var cells []hfile.Cell
		for i := range 15_000 {
			row := fmt.Sprintf("%c%06d", 'a'+(i*7+file)%26, i*4+file)
			id := fmt.Sprintf("%08x", uint32(i*4+file)*2654435761)
			cells = append(cells, testsnapshot.Put(row, "f", "id", 900, id), testsnapshot.Put(row, "f", "v", 900, strings.Repeat(row, 200)))
		}
		l.load(cells...)
	}
	s, p := l.open(), l.plan("id", "4", "8", "c")
	large, dir, err := l.build(s, p, Options{Options: build.Options{Workers: 2, Memory: 1 << 30}})
	testcheck.Must(t, err)
	want := map[string]uint32{}
	for _, f := range large.Files {
		want[f.Name] = f.CRC32C
	}
	small, _, err := l.build(s, p, Options{Options: build.Options{Workers: 2, Memory: spec.Size(40 << 20)}})
	testcheck.Must(t, err)
	if large.Runs != 0 || small.Runs < 2 || small.RowSum != large.RowSum || len(small.Files) != 4 {
		t.Errorf("%d and %d runs, %d files in %s", large.Runs, small.Runs, len(small.Files), dir)
	}
	for _, f := range small.Files {
		if want[f.Name] != f.CRC32C {
			t.Errorf("%s differs", f.Name)
		}
	}
	if _, _, err := l.build(s, p, Options{Options: build.Options{Workers: 4, Memory: spec.Size(20 << 20)}}); fail.KindOf(err) != fail.Config {
		t.Errorf("too little memory: %v", err)
	}
}

// data returns the data that are left out of an error's message.
func data(err error) (all []string) {
	if d, ok := err.(interface{ Data() []byte }); ok {
		all = append(all, string(d.Data()))
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		all = append(all, data(e.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			all = append(all, data(inner)...)
		}
	}
	return all
}

// TestCollision checks that both old keys are available to users who may see data, and that rows are never merged.
func TestCollision(t *testing.T) {
	put := testsnapshot.Put
	l := newLab(t, []string{"m"}, "f")
	l.load(put("alpha", "f", "id", 1, "secret"), put("alpha", "f", "only", 1, "a"), put("beta", "f", "id", 1, "other"), put("zeta", "f", "id", 2, "secret"))
	s := l.open()
	_, _, err := l.build(s, l.plan("id"), Options{Options: build.Options{Workers: 2}})
	if fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), "row 1 of region "+l.Encoded("")) || !strings.Contains(err.Error(), "row 1 of region "+l.Encoded("m")) {
		t.Fatal(err)
	}
	if got := data(err); !slices.Equal(got, []string{"secret", "alpha", "zeta"}) {
		t.Errorf("%q", got)
	}
	for _, value := range []string{"secret", "alpha", "zeta"} {
		if strings.Contains(err.Error(), value) {
			t.Errorf("%q is in the message: %v", value, err)
		}
	}
	for policy, want := range map[extsort.Policy][]string{
		extsort.KeepFirst: {`"other" f:"id" 1 Put "other" `, `"secret" f:"id" 1 Put "secret" `, `"secret" f:"only" 1 Put "a" `},
		extsort.KeepLast:  {`"other" f:"id" 1 Put "other" `, `"secret" f:"id" 2 Put "secret" `},
	} {
		p := l.plan("id")
		p.Duplicates = policy
		m, dir, err := l.build(s, p, Options{})
		testcheck.Must(t, err)
		if got := l.cells(m, p, dir); !slices.Equal(got, want) || m.Duplicates != 1 {
			t.Errorf("%v: %q, %d duplicates", policy, got, m.Duplicates)
		}
		p.Choice.Since = 2
		if _, _, err := l.build(s, p, Options{}); fail.KindOf(err) != fail.Config {
			t.Errorf("a second pass that leaves rows out: %v", err)
		}
	}
	only := []choice.Column{{Family: "f", Qualifier: []byte("only")}}
	for policy, kept := range map[extsort.Policy][]string{extsort.KeepFirst: {"a", "c"}, extsort.KeepLast: {"c", "a"}} {
		l := newLab(t, []string{"m"}, "f") // only two rows of three have a chosen cell
		l.load(put("k1", "f", "id", 1, "x"), put("k2", "f", "id", 1, "x"), put("k2", "f", "only", 1, kept[0]), put("z1", "f", "id", 1, "x"), put("z1", "f", "only", 1, kept[1]), put("z2", "f", "id", 1, "x"), put("z3", "f", "id", 1, "y"))
		p := l.plan("id")
		p.Duplicates, p.Choice.Columns = policy, only
		m, dir, err := l.build(l.open(), p, Options{Options: build.Options{Workers: 2}})
		testcheck.Must(t, err)
		if got := l.cells(m, p, dir); !slices.Equal(got, []string{`"x" f:"only" 1 Put "a" `}) || m.Duplicates != 3 || m.NoCells != 1 {
			t.Errorf("%v of chosen cells: %q, %d duplicates, %d rows without cells", policy, got, m.Duplicates, m.NoCells)
		}
	}
	p := l.plan("id")
	p.Choice.Since = 2 // only zeta has a cell, and yet they collide
	if _, _, err := l.build(s, p, Options{}); fail.KindOf(err) != fail.BadRows {
		t.Errorf("a collision with a row that has no new cell: %v", err)
	}
}

// TestRowsWithoutKey checks that such rows fail the build, or are rejected with their old keys.
func TestRowsWithoutKey(t *testing.T) {
	put := testsnapshot.Put
	l := newLab(t, nil, "f")
	l.load(put("a\x00", "f", "id", 1, "1"), put("b\x00", "f", "v", 1, "no id"), put("c", "f", "id", 1, ""), put("d", "f", "id", 1, "4"))
	s, p := l.open(), l.plan("id")
	_, _, err := l.build(s, p, Options{})
	if fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), "it has no column id (row 2 of region") || !slices.Equal(data(err), []string{"b\x00"}) {
		t.Fatalf("%v, data %q", err, data(err))
	}
	budget := func(spec string) *source.Budget {
		b, err := source.NewBudget(spec)
		testcheck.Must(t, err)
		return b
	}
	for _, spec := range []string{"1", "49%"} {
		if _, _, err := l.build(s, p, Options{Options: build.Options{Budget: budget(spec)}, RejectFile: filepath.Join(t.TempDir(), "rejects")}); fail.KindOf(err) != fail.BadRows {
			t.Errorf("%s: %v", spec, err)
		}
	}
	for _, spec := range []string{"2", "50%"} {
		file := filepath.Join(t.TempDir(), "rejects")
		m, dir, err := l.build(s, p, Options{Options: build.Options{Budget: budget(spec)}, RejectFile: file})
		testcheck.Must(t, err)
		if got := l.cells(m, p, dir); len(got) != 2 || m.Records != 4 || m.Rejected != 2 || m.RejectFile != file {
			t.Errorf("%q, %+v", got, m)
		}
		b, err := os.ReadFile(file)
		if err != nil || string(b) != "b\\x00\tit has no column id\nc\tcolumn id: key column is empty\n" {
			t.Errorf("%q, %v", b, err)
		}
	}
}

// TestColumnNames checks that ambiguous names in a key are refused.
func TestColumnNames(t *testing.T) {
	put := testsnapshot.Put
	l := newLab(t, nil, "f", "g")
	l.load(put("a", "f", "id", 1, "1"), put("a", "g", "x:y", 1, "2"), put("b", "g", "id", 1, "3"), put("b", "g", "x:y", 1, "4"))
	s := l.open()
	if _, _, err := l.build(s, l.plan("id"), Options{}); !errors.Is(err, errAmbiguous) || fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "write `f:id` or `g:id`") {
		t.Error(err)
	}
	p := l.plan("`x:y` + $row")
	m, dir, err := l.build(s, p, Options{})
	testcheck.Must(t, err)
	if got := l.cells(m, p, dir); len(got) != 4 || !strings.HasPrefix(got[0], `"2a"`) {
		t.Errorf("%q", got)
	}
	for _, key := range []string{"salt(id) + id", "'constant'"} {
		if _, _, err := l.build(s, l.plan(key), Options{}); fail.KindOf(err) != fail.Config {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestAllocations checks that nothing is allocated per row or cell.
func TestAllocations(t *testing.T) {
	l := newLab(t, nil, "f")
	var cells []hfile.Cell
	const rows = 20_000
	for i := range rows {
		row := fmt.Sprintf("%06d", i)
		cells = append(cells, testsnapshot.Put(row, "f", "id", 900, fmt.Sprint(uint32(i)*2654435761)), testsnapshot.Put(row, "f", "v", 900, "v"))
	}
	l.load(cells...)
	s, p := l.open(), l.plan("salt(id, 10) + md5hex(id) + $row", "3", "6")
	allocations := testing.AllocsPerRun(1, func() {
		if m, _, err := l.build(s, p, Options{Options: build.Options{Workers: 1}}); err != nil || m.Digest.Rows != rows {
			t.Error(m, err)
		}
	})
	if allocations > 3000 {
		t.Errorf("%.0f allocations for %d rows", allocations, rows)
	}
}

// TestSplits checks that split points are within the new keys.
func TestSplits(t *testing.T) {
	l := newLab(t, []string{"f", "m", "t"}, "f", "g")
	l.random(rand.New(rand.NewPCG(1, 1)), 2000)
	s := l.open()
	for key, want := range map[string]func([][]byte) bool{
		"salt(id, 32) + id":      func(s [][]byte) bool { return len(s) == 31 && string(s[0]) == "01" },
		"id":                     func(s [][]byte) bool { return len(s) == 3 && s[0][0] == '4' && s[1][0] == '8' && s[2][0] == 'c' },
		"salt(id, 1000000) + id": func(s [][]byte) bool { return len(s) == 3 }, // too many values for a region each
		"$row":                   func(s [][]byte) bool { return len(s) == 3 && s[0][0] == 'g' || s[0][0] == 'f' },
	} {
		got, err := Splits(t.Context(), s, l.plan(key).Key, nil, labNow, nil, Options{})
		testcheck.Must(t, err)
		if !want(got) {
			t.Errorf("%s: %q", key, got)
		}
	}
}

// TestRowSum checks that the sum depends only on the cells of rows, and detects a repeated row.
func TestRowSum(t *testing.T) {
	sum := func(rows ...[]string) manifest.RowSum {
		h := &RowHash{}
		for _, row := range rows {
			for _, q := range row {
				h.Add([]byte("f"), []byte(q), 1, []byte("v"))
			}
			h.End()
		}
		return h.Sum
	}
	one, two := []string{"a", "b"}, []string{"c"}
	if sum(one, two) != sum(two, one) || sum(one, one) == sum(two, two) || sum(one) == sum([]string{"a"}, []string{"b"}) || sum(one, nil) != sum(one) {
		t.Error("a sum of rows depends on their order, or does not on what they are")
	}
	a, b := sum(one), sum(two)
	if a.Add(b); a != sum(one, two) || a.Rows != 2 || a.Cells != 3 {
		t.Error(a)
	}
}

// TestRowSumAdds compares the sum of hashes with the one that math/big computes.
func TestRowSumAdds(t *testing.T) {
	const seed = 131
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	edges := []uint64{0, 1, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	number := func() uint64 {
		if r.IntN(2) == 0 {
			return edges[r.IntN(len(edges))]
		}
		return r.Uint64()
	}
	whole := func(s manifest.RowSum) *big.Int {
		n := new(big.Int).SetUint64(s.High)
		return n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(s.Low))
	}
	for range race.Cases(t, 1_000_000) {
		a, b := manifest.RowSum{High: number(), Low: number()}, manifest.RowSum{High: number(), Low: number()}
		want := new(big.Int).Add(whole(a), whole(b))
		want.Mod(want, new(big.Int).Lsh(big.NewInt(1), 128))
		sum := a
		if sum.Add(b); whole(sum).Cmp(want) != 0 {
			t.Fatalf("%s and %s: %s, want %x", a.Sum(), b.Sum(), sum.Sum(), want)
		}
	}
}
