package share

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/newkeys"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
)

// TestNewKeys checks that shares and a merge of a plan with new keys make the files of one process, only from the text of the plan, for a table with
// empty regions and for one without rows, and for all cells and some. A region has one part.
func TestNewKeys(t *testing.T) {
	some := choice.Choice{Ranges: []keyrange.Range{{Start: []byte("e"), Stop: []byte("k0")}, {Start: []byte("n")}}, Columns: []choice.Column{{Family: "g"}}, Until: 3}
	for _, c := range []struct {
		rows   int
		choice choice.Choice
	}{{rows: 0}, {rows: 1}, {rows: 2000}, {2000, some}} {
		rows := c.rows
		t.Run(fmt.Sprintf("%d rows of %d ranges", rows, len(c.choice.Ranges)), func(t *testing.T) {
			var cells []hfile.Cell
			for i := range rows {
				row := fmt.Sprintf("%c%05d-%d", 'd'+i%17, i, i*7)
				cells = append(cells, testsnapshot.Put(row, "f", "q", 1, fmt.Sprint(i)), testsnapshot.Put(row, "g", fmt.Sprint("q", i%300), 2, "v"))
			}
			env, snap := oldTable(t, cells)
			one := newPlan(t, "n + a", "a + '-' + n")
			one.Choice = c.choice
			dir := t.TempDir()
			want, err := newkeys.Build(t.Context(), snap, one, build.Output{FS: hdfsio.Local{}, Dir: filepath.Join(dir, "one")}, newkeys.Options{}, nil)
			testcheck.Must(t, err)

			p := writePlan(t, env, snap, one, dir)
			staging := filepath.Join(dir, "staging")
			for k := 1; k <= 2; k++ {
				_, err := Build(t.Context(), env, read(t, env, dir), Fraction{k, 2}, filepath.Join(dir, "rows"), build.WorkOptions{})
				testcheck.Must(t, err)
			}
			_, err = Merge(t.Context(), env, read(t, env, dir), filepath.Join(dir, "rows"), staging, Fraction{1, 1}, build.WorkOptions{})
			testcheck.Must(t, err)
			got, err := MergedFiles(t.Context(), hdfsio.Local{}, staging, p.Checksum)
			testcheck.Must(t, err)
			if got.RowSum != want.RowSum || len(c.choice.Ranges) == 0 && got.Records != int64(rows) || got.Records != want.Records || got.Digest != want.Digest || got.Key != "n + a" || len(got.Files) != len(want.Files) {
				t.Errorf("%+v\nwant\n%+v", got, want)
			}
			for _, f := range want.Files {
				a, err := os.ReadFile(filepath.Join(dir, "one", f.Name))
				testcheck.Must(t, err)
				b, err := os.ReadFile(filepath.Join(staging, f.Name))
				testcheck.Must(t, err)
				if !bytes.Equal(a, b) {
					t.Errorf("%s is another file", f.Name)
				}
			}
		})
	}
}

// TestNewKeysOfTwoFamilies checks that a merge refuses shares that have taken a column of the key from different families, as one process does,
// and shares of earlier versions, whose descriptions do not have the family, unless their rows are the only ones.
func TestNewKeysOfTwoFamilies(t *testing.T) {
	put := testsnapshot.Put
	same := []hfile.Cell{put("a", "f", "id", 1, "1"), put("z", "f", "id", 1, "3")}
	for name, c := range map[string]struct {
		cells  []hfile.Cell
		change func(s *Share)
		kind   fail.Kind
		want   string
	}{
		"two families":     {cells: []hfile.Cell{put("a", "f", "id", 1, "1"), put("z", "g", "id", 1, "3")}, kind: fail.Config, want: "id is in the families f and g: write `f:id` or `g:id`"},
		"one family":       {cells: same},
		"one share has it": {cells: []hfile.Cell{put("a", "f", "id", 1, "1"), put("z", "g", "other", 1, "3")}},
		"both lack it":     {cells: []hfile.Cell{put("a", "f", "other", 1, "1"), put("z", "g", "other", 1, "3")}},
		"unknown":          {cells: same, change: func(s *Share) { s.KeyFamilies = nil }, kind: fail.Check, want: "the family of column id"},
		"unknown, alone":   {cells: same[:1], change: func(s *Share) { s.KeyFamilies = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			env, snap := oldTable(t, c.cells)
			dir := t.TempDir()
			writePlan(t, env, snap, newPlan(t, "orempty(id) + `$row`", ""), dir)
			rows := filepath.Join(dir, "rows")
			for k := 1; k <= 2; k++ {
				s, err := Build(t.Context(), env, read(t, env, dir), Fraction{k, 2}, rows, build.WorkOptions{})
				testcheck.Must(t, err)
				if c.change == nil {
					continue
				}
				c.change(s)
				b, err := Seal(s, &s.Checksum)
				testcheck.Must(t, err)
				testcheck.Must(t, os.WriteFile(filepath.Join(rows, s.file), b, 0o600))
			}
			_, err := Merge(t.Context(), env, read(t, env, dir), rows, filepath.Join(dir, "staging"), Fraction{1, 1}, build.WorkOptions{})
			if c.want == "" {
				testcheck.Must(t, err)
			} else if fail.KindOf(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%v: %v, want %v: %s", fail.KindOf(err), err, c.kind, c.want)
			}
		})
	}
}

// oldTable takes snapshot s of table n:old with these cells.
func oldTable(t *testing.T, cells []hfile.Cell) (*cluster.Env, *snapshot.Snapshot) {
	t.Helper()
	l := testsnapshot.New(t, testsnapshot.Options{FS: hdfsio.Local{}, Root: t.TempDir(), Table: "n:old", Snapshot: "s", Families: []string{"f", "g"}, Splits: []string{"c", "m", "x"}})
	if len(cells) > 0 {
		l.Load(1, cells...)
	}
	l.Save()
	env := &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}
	env.Conf.Set("hbase.rootdir", "file://"+l.Root, "test")
	snap, err := snapshot.Open(t.Context(), l.FS, l.Root, "s")
	testcheck.Must(t, err)
	return env, snap
}

// newPlan returns a plan for one process.
func newPlan(t *testing.T, key, old string) *newkeys.Plan {
	t.Helper()
	ranges, err := partition.New([][]byte{[]byte("3"), []byte("8")})
	testcheck.Must(t, err)
	p := &newkeys.Plan{Table: "n:new", Ranges: ranges, Now: time.UnixMilli(5000)}
	p.Key, err = keygen.Parse(key)
	testcheck.Must(t, err)
	if old != "" {
		p.OldKey, err = keygen.Parse(old)
		testcheck.Must(t, err)
	}
	for _, f := range []string{"f", "g"} {
		p.Families = append(p.Families, spec.Family{Name: f, Encoding: hfile.EncodingFastDiff, Bloom: hfile.BloomRow, BlockSize: 4096})
	}
	return p
}

// TestPlanOfMovedRegions checks that a plan can be written again after regions of the table have moved, also if the journal does not know it yet, and
// that the plan of the file counts. Another plan and another file are refused.
func TestPlanOfMovedRegions(t *testing.T) {
	env, snap := oldTable(t, []hfile.Cell{testsnapshot.Put("a-1", "f", "q", 1, "x")})
	dir := t.TempDir()
	made := func(server, staging string) *Plan {
		one := newPlan(t, "n + a", "a + '-' + n")
		one.Near = func([]byte) string { return server }
		_, err := tablesource.Mount(t.Context(), env, []string{"snapshot:s"}, tablesource.ByFiles, one.Choice, nil)
		testcheck.Must(t, err)
		p, err := MakeRekey(t.Context(), env, spec.Spec{Inputs: []string{"snapshot:s"}}, snap, one, filepath.Join(dir, staging), build.WorkOptions{})
		testcheck.Must(t, err)
		return p
	}
	before, after, other := made("a:1", "staging"), made("b:1", "staging"), made("a:1", "other")
	if before.Checksum == after.Checksum {
		t.Fatal("the plans have the same servers")
	}
	for _, c := range []struct {
		name  string
		plan  *Plan
		file  string
		known string
		says  string
	}{
		{"first", before, "plan", "", ""},
		{"the journal does not know it", after, "plan", "", ""},
		{"regions have moved", after, "plan", before.Checksum, ""},
		{"unchanged", before, "plan", before.Checksum, ""},
		{"another job", other, "plan", "", "is the plan of another job"},
		{"another job, known", other, "plan", before.Checksum, "is the plan of another job"},
		{"another file, unchanged", before, "plan2", before.Checksum, ""},
		{"another file", after, "plan3", before.Checksum, "plan3 is not it"},
		{"the file of another plan", after, "plan", other.Checksum, "plan is not it"},
	} {
		p, err := c.plan.WriteKnown(t.Context(), env, filepath.Join(dir, c.file), c.known)
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want %q", c.name, err, c.says)
			}
			continue
		}
		if err != nil || p.Checksum != before.Checksum {
			t.Errorf("%s: %v, plan %+v", c.name, err, p)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "plan3")); err == nil {
		t.Error("a plan that is refused was written")
	}
}

// writePlan writes the plan for shares into a directory; merges write below it too.
func writePlan(t *testing.T, env *cluster.Env, snap *snapshot.Snapshot, one *newkeys.Plan, dir string) *Plan {
	t.Helper()
	_, err := tablesource.Mount(t.Context(), env, []string{"snapshot:s"}, tablesource.ByFiles, one.Choice, nil)
	testcheck.Must(t, err)
	p, err := MakeRekey(t.Context(), env, spec.Spec{Inputs: []string{"snapshot:s"}}, snap, one, filepath.Join(dir, "staging"), build.WorkOptions{})
	testcheck.Must(t, err)
	_, err = p.Write(t.Context(), env, filepath.Join(dir, "plan"), false)
	testcheck.Must(t, err)
	return p
}

// read reads a plan as another process does.
func read(t *testing.T, env *cluster.Env, dir string) *Plan {
	t.Helper()
	p, err := Read(t.Context(), env, filepath.Join(dir, "plan"))
	testcheck.Must(t, err)
	testcheck.Must(t, p.Mount(t.Context(), env))
	return p
}
