package newkeys

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/chunk"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition/extsort"
)

// divided returns the plan for several processes, with regions cut into as many parts as their files allow.
func (l *lab) divided(s *snapshot.Snapshot, p *Plan, cuts int) *Plan {
	l.t.Helper()
	d, of := &Divided{}, *p
	var err error
	d.Columns, err = Columns(l.t.Context(), s, p)
	testcheck.Must(l.t, err)
	for i := range s.Regions {
		rows, err := s.Cuts(l.t.Context(), i, cuts)
		testcheck.Must(l.t, err)
		part := tablesource.Part{Region: i}
		for _, row := range rows {
			part.Stop = row
			d.Parts = append(d.Parts, part)
			part = tablesource.Part{Region: i, Start: row}
		}
		d.Parts = append(d.Parts, part)
	}
	of.Divided = d
	return &of
}

// buildBy builds with n processes, into a directory of its own.
func (l *lab) buildBy(n int, s *snapshot.Snapshot, p *Plan, dir string) (*manifest.Manifest, error) {
	l.t.Helper()
	var runs []build.PartRun
	var read []*build.PartRead
	plan, parts := p.Build(s), len(p.Divided.Parts)
	for i := range n {
		var b bytes.Buffer
		o := Options{Options: build.Options{Workers: 1 + i%2, SpillDir: l.t.TempDir()}}
		one, err := ReadPart(l.t.Context(), s, p, build.Part{From: parts * i / n, To: parts * (i + 1) / n}, chunk.NewFileWriter(&b, p.Ranges.Len()), chunk.Options{Run: uint32(i), Size: chunk.MinSize}, o)
		if err != nil {
			return nil, err
		}
		f, err := chunk.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()), p.Ranges.Len(), "part")
		testcheck.Must(l.t, err)
		runs, read = append(runs, build.PartRun{Name: fmt.Sprint("part ", i), File: f, Read: one}), append(read, one)
	}
	if err := OneFamily(p.Key, p.OldKey, p.Families, read); err != nil {
		return nil, err
	}
	testcheck.Must(l.t, l.FS.MkdirAll(context.Background(), dir, 0o755))
	out := build.Output{FS: l.FS, Dir: dir, Shared: true}
	written, err := build.MergeParts(l.t.Context(), []build.Table{{Plan: plan, Out: out}}, runs, chunk.MinSize, nil, nil, build.Options{Workers: 2})
	if err != nil {
		return nil, err
	}
	m, err := build.Assemble([]*cells.Plan{plan}, read, [][]*build.Written{written}, true)
	if err != nil {
		return nil, err
	}
	return m[0], nil
}

// TestDivided checks that processes that read parts of a table, of whatever number and wherever regions are cut, make the files and the
// sums of one process. Columns that are not in the first rows of regions carry their names.
func TestDivided(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 9))
		l := newLab(t, []string{"c", "m", "t"}[:r.IntN(4)], "f", "g")
		l.random(r, 600+r.IntN(900))
		l.load(testsnapshot.Put("zz", "f", "id", 900, "last"), testsnapshot.Put("zz", "g", "of the last row alone", 901, "v"))
		s := l.open()
		for _, spec := range []string{"id + '-' + `$row`", "substr($row, 1) + 'x'", "substr(id, 0, 2)"} {
			one := l.plan(spec, []string{"3", "8", "d"}[:r.IntN(4)]...)
			if one.Duplicates = extsort.KeepFirst; r.IntN(2) == 0 {
				one.Duplicates = extsort.KeepLast
			}
			if spec[0] == 'i' {
				one.Duplicates, one.Choice.Since = extsort.Fail, 902*int64(r.IntN(2))
			}
			want, from, err := l.build(s, one, Options{})
			testcheck.Must(t, err)
			p := l.divided(s, one, 1+r.IntN(4))
			for _, n := range []int{1, 2, 7} {
				dir := fmt.Sprintf("/parts-%d-%s-%d", seed, spec[:1], n)
				got, err := l.buildBy(n, s, p, dir)
				testcheck.Must(t, err)
				if got.RowSum != want.RowSum || got.Digest != want.Digest || got.Records != want.Records || got.Duplicates != want.Duplicates || got.NoCells != want.NoCells || *got.Times != *want.Times {
					t.Errorf("seed %d, key %s, %d parts: %+v\nwant\n%+v", seed, spec, n, got, want)
				}
				for i, f := range got.Files {
					if f.Name != want.Files[i].Name || !bytes.Equal(jobtest.ReadWhole(t, l.FS, path.Join(dir, f.Name)), jobtest.ReadWhole(t, l.FS, path.Join(from, f.Name))) {
						t.Errorf("seed %d, key %s, %d parts: %s is another file", seed, spec, n, f.Name)
					}
				}
			}
		}
	}
}

// TestDividedColumnNames checks that a column of the new key, or of the old one, in another family in each part is refused as by one process.
func TestDividedColumnNames(t *testing.T) {
	put := testsnapshot.Put
	l := newLab(t, []string{"m"}, "f", "g", "h")
	l.load(put("a-1", "h", "id", 1, "1"), put("a-1", "f", "ok", 1, "2"), put("z-3", "g", "id", 1, "3"), put("z-3", "f", "ok", 1, "4"))
	s := l.open()
	old, err := keygen.Parse("x + '-' + id")
	testcheck.Must(t, err)
	for _, c := range []struct {
		key  string
		old  keygen.Expr
		want string
	}{{"ok", nil, ""}, {"id + ok", nil, "ambiguous column: id is in the families g and h"}, {"x", old, ""}, {"`g:id` + `$row`", nil, "it has no column g:id"}} {
		p := l.divided(s, l.plan(c.key), 1)
		p.OldKey = c.old
		_, _, want := l.build(s, p, Options{})
		for _, n := range []int{1, 2} {
			_, err := l.buildBy(n, s, p, fmt.Sprint("/names-", c.key, n))
			if fail.KindOf(err) != fail.KindOf(want) || !strings.Contains(fmt.Sprint(err), c.want) || (err == nil) != (want == nil) || (c.want == "") != (err == nil) {
				t.Errorf("key %s, %d parts: %v, want %v", c.key, n, err, want)
			}
		}
	}
}

// TestDividedCollision checks that the merge names the positions of two rows with the same key in parts of one region, and their old keys as data.
func TestDividedCollision(t *testing.T) {
	l := newLab(t, nil, "f")
	var cells []hfile.Cell
	for i := range 4000 {
		cells = append(cells, testsnapshot.Put(fmt.Sprintf("r%05d", i), "f", "id", 1, fmt.Sprintf("%04d", i%3990)))
	}
	l.load(cells...)
	s := l.open()
	p := l.divided(s, l.plan("id"), 4)
	_, err := l.buildBy(len(p.Divided.Parts), s, p, "/collision")
	if len(p.Divided.Parts) < 2 || fail.KindOf(err) != fail.BadRows || !slices.Equal(data(err), []string{"0000", "r00000", "r03990"}) {
		t.Fatalf("%d parts: %v, data %q", len(p.Divided.Parts), err, data(err))
	}
}
