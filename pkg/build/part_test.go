package build

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/jobtest"
	"bulkload/internal/race"
	"bulkload/pkg/chunk"
	"bulkload/pkg/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/manifest"
	"bulkload/pkg/partition"
	"bulkload/pkg/spec"
)

// partCase is a job that is built by one process and by several.
type partCase struct {
	spec   spec.Spec
	splits [][]byte
}

// readParts reads the input in so many parts, each opened by itself as a process of its own does.
func (c partCase) readParts(t *testing.T, n int) (plan *Plan, in *Input, runs []PartRun, err error) {
	t.Helper()
	env := jobtest.Env(t)
	j := jobtest.Resolve(t, c.spec)
	for i := range n {
		w := WorkOptions{SplitSize: 20_000}
		if in, err = OpenInput(t.Context(), env.Source, j, w); err != nil {
			return nil, nil, nil, err
		}
		if plan, err = NewPlan(j, in.Source.Columns(), jobtest.Family, c.splits, 1); err != nil {
			return nil, nil, nil, err
		}
		splits := len(in.Source.Splits())
		var b bytes.Buffer
		sink := chunk.NewFileWriter(&b, plan.Ranges.Len())
		part := Part{splits * i / n, splits * (i + 1) / n}
		p, err := ReadPart(t.Context(), plan, in.Source, part, sink, chunk.Options{Run: uint32(i), Size: chunk.MinSize}, Options{Workers: 2, Budget: in.Budget})
		if err != nil {
			return plan, in, nil, err
		}
		f, err := chunk.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()), plan.Ranges.Len(), fmt.Sprintf("part %d", i))
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, PartRun{Name: fmt.Sprintf("part %d", i), File: f, Read: p})
	}
	return plan, in, runs, nil
}

// merge writes the regions of all runs in so many merges.
func mergeRuns(t *testing.T, dir string, plan *Plan, in *Input, runs []PartRun, merges int) (*manifest.Manifest, error) {
	t.Helper()
	var parts []*PartRead
	for _, r := range runs {
		parts = append(parts, r.Read)
	}
	var written []*Written
	for i := range merges {
		out := Output{FS: hdfsio.Local{}, Dir: dir, Writing: fmt.Sprintf("%s/%d", WritingDir, i), Shared: true}
		w, err := MergeParts(t.Context(), plan, runs, chunk.MinSize, func(region int) bool { return region%merges == i }, in.Source, out, Options{Workers: 2})
		if err != nil {
			return nil, err
		}
		written = append(written, w)
	}
	if err := Judge(parts, spec.Spec{BadRecords: "100%", AllowEmpty: true}); err != nil {
		return nil, err
	}
	return Assemble(t.Context(), plan, parts, written, true)
}

// repeated is a CSV file in which keys come in places far apart, and a few records are bad.
func repeated(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,name,n\n")
	for i := range 9000 {
		key := i * 7919 % 6000
		if i%1000 == 999 {
			fmt.Fprintf(&b, ",no key,%d\n", i)
			continue
		}
		fmt.Fprintf(&b, "k%05d,name %d of %d,%d\n", key, i, key, i%10)
	}
	name := filepath.Join(t.TempDir(), "repeated.csv")
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func partCases(t *testing.T) map[string]partCase {
	t.Helper()
	cases := map[string]partCase{}
	tables := map[string]int{"check": 10, "opinion": 50}
	if race.Reduced(t) {
		delete(tables, "opinion")
	}
	for table, salts := range tables {
		for _, ext := range []string{"csv", "dump", "parquet"} {
			name := jobtest.Absolute(t, filepath.Join(jobtest.Exports, table+"."+ext))
			if _, err := os.Stat(name); err != nil {
				continue
			}
			s := jobtest.Spec(t, table)
			s.Inputs, s.Timestamp = []string{name}, 1700000000000
			cases[table+"."+ext] = partCase{spec: s, splits: partition.SaltSplits(salts)}
		}
	}
	points := [][]byte{[]byte("k01000"), []byte("k01001"), []byte("k03"), []byte("k05999"), []byte("z")}
	input := repeated(t)
	for _, policy := range []string{"first", "last"} {
		s := jobtest.CSVSpec(input)
		s.Duplicates, s.BadRecords = policy, "1%"
		cases["duplicates "+policy] = partCase{spec: s, splits: points}
		s.Mapping = spec.Mapping{Cells: []spec.CellSpec{{Column: "name", QualifierFrom: "n"}}}
		cases["wide rows, "+policy] = partCase{spec: s, splits: points}
		s.Mapping = spec.Mapping{Cells: []spec.CellSpec{{Column: "name", Family: "a"}, {Column: "n", Family: "b"}, {Column: "id"}}}
		cases["families, "+policy] = partCase{spec: s, splits: points}
	}
	return cases
}

// TestPartsGiveTheSameFiles: an input that is read in parts, and merged in parts, gives byte for byte the files of one process,
// and the same manifest.
func TestPartsGiveTheSameFiles(t *testing.T) {
	counts := []int{1, 2, 7}
	if race.Reduced(t) {
		counts = counts[2:]
	}
	for name, c := range partCases(t) {
		t.Run(name, func(t *testing.T) {
			whole := t.TempDir()
			want, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, c.spec), jobtest.Family, c.splits, whole, WorkOptions{})
			if err != nil {
				t.Fatal(err)
			}
			files := fmt.Sprint(jobtest.Hashes(t, whole))
			for _, n := range counts {
				plan, in, runs, err := c.readParts(t, n)
				if err != nil {
					t.Fatal(err)
				}
				dir := t.TempDir()
				m, err := mergeRuns(t, dir, plan, in, runs, 1+n/2)
				if err != nil {
					t.Fatalf("%d parts: %v", n, err)
				}
				if err := os.RemoveAll(filepath.Join(dir, WritingDir)); err != nil {
					t.Fatal(err)
				}
				if got := fmt.Sprint(jobtest.Hashes(t, dir)); got != files {
					t.Errorf("%d parts give other files: %s, want %s", n, got, files)
				}
				m.SpillBytes, m.Runs, m.ReadTime, m.WriteTime = want.SpillBytes, want.Runs, want.ReadTime, want.WriteTime
				got, err := manifest.Seal(m)
				if err != nil {
					t.Fatal(err)
				}
				if b, err := manifest.Seal(want); err != nil || !bytes.Equal(got, b) {
					t.Errorf("%d parts give the manifest %s, want %s (%v)", n, got, b, err)
				}
			}
		})
	}
}

// TestDuplicateInTwoParts: under fail the message names the places of both records, whichever parts have them.
func TestDuplicateInTwoParts(t *testing.T) {
	c := partCase{spec: jobtest.CSVSpec(repeated(t)), splits: nil}
	c.spec.BadRecords = "1%"
	_, _, _, err := c.readParts(t, 1)
	if fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), "repeated.csv at offset") {
		t.Fatalf("in one part: %v", err)
	}
	c.spec.Duplicates = "first"
	plan, in, runs, err := c.readParts(t, 7)
	if err != nil {
		t.Fatal(err)
	}
	plan.Duplicates = 0
	_, err = mergeRuns(t, t.TempDir(), plan, in, runs, 1)
	if fail.KindOf(err) != fail.BadRows || strings.Count(err.Error(), "repeated.csv at offset") != 2 {
		t.Errorf("in two parts: %v", err)
	}
}

// TestJudge: what parts have read is judged together.
func TestJudge(t *testing.T) {
	parts := []*PartRead{{Records: 100, Rejected: 1}, {Records: 100, Rejected: 1}, {}}
	all := int64(200)
	other := int64(199)
	for name, c := range map[string]struct {
		parts  []*PartRead
		budget string
		expect *int64
		kind   fail.Kind
	}{
		"within":        {parts, "1%", &all, fail.Unexpected},
		"share":         {parts, "0.9%", nil, fail.BadRows},
		"number":        {parts, "1", nil, fail.BadRows},
		"another count": {parts, "2", &other, fail.Input},
		"no records":    {parts[2:], "2", nil, fail.Input},
	} {
		if err := Judge(c.parts, spec.Spec{BadRecords: c.budget, Expect: c.expect}); fail.KindOf(err) != c.kind || (err == nil) != (c.kind == fail.Unexpected) {
			t.Errorf("%s: %v", name, err)
		}
	}
	lacking := []*PartRead{{Records: 1, Lacking: []string{"a", "b"}}, {Lacking: []string{"a", "b", "c"}}, {Records: 1, Lacking: []string{"b", "c"}}}
	if err := Judge(lacking, spec.Spec{}); fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "no record of the input has b;") {
		t.Error(err)
	}
	if err := Judge(lacking, spec.Spec{Reading: spec.Reading{Missing: "null"}}); err != nil {
		t.Error(err)
	}
	if err := Judge(append(lacking, &PartRead{Records: 1}), spec.Spec{}); err != nil {
		t.Error(err)
	}
	if err := Judge(parts[2:], spec.Spec{BadRecords: "0", AllowEmpty: true}); err != nil {
		t.Error(err)
	}
}

// TestRunThatLies: a merge holds runs to what their parts say of them.
func TestRunThatLies(t *testing.T) {
	c := partCases(t)["duplicates last"]
	for name, change := range map[string]func(*PartRead){
		"rows":   func(p *PartRead) { p.Regions[2].Rows++ },
		"sum":    func(p *PartRead) { p.Regions[2].Sum++ },
		"chunks": func(p *PartRead) { p.Regions[2].Chunks++ },
		"region": func(p *PartRead) { p.Regions = p.Regions[1:] },
	} {
		plan, in, runs, err := c.readParts(t, 2)
		if err != nil {
			t.Fatal(err)
		}
		change(runs[1].Read)
		dir := t.TempDir()
		if _, err := mergeRuns(t, dir, plan, in, runs, 1); !errors.Is(err, chunk.ErrDamaged) || fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "part 1") {
			t.Errorf("%s: %v", name, err)
		}
	}
	plan, in, runs, err := c.readParts(t, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mergeRuns(t, t.TempDir(), plan, in, runs[:1], 1); err != nil {
		t.Fatal(err) // it is the shares' directory that knows how many there are
	}
	runs[1].Read.LeftOut()
	if _, err := mergeRuns(t, t.TempDir(), plan, in, runs, 1); err == nil || !strings.Contains(err.Error(), "do not add up") {
		t.Errorf("%v", err)
	}
}

// LeftOut makes a part say that it left one row more out.
func (p *PartRead) LeftOut() { p.Regions[0].LeftOut++ }

// TestSharedFilesStay: a merge that finds its files written keeps those that are whole, and replaces what is damaged.
func TestSharedFilesStay(t *testing.T) {
	c := partCases(t)["check.csv"]
	plan, in, runs, err := c.readParts(t, 2)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	m, err := mergeRuns(t, dir, plan, in, runs, 1)
	if err != nil {
		t.Fatal(err)
	}
	before := jobtest.Hashes(t, dir)
	whole, damaged := filepath.Join(dir, m.Files[0].Name), filepath.Join(dir, m.Files[1].Name)
	was, err := os.Stat(whole)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(damaged, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := mergeRuns(t, dir, plan, in, runs, 3); err != nil {
		t.Fatal(err)
	}
	now, err := os.Stat(whole)
	if err != nil || !os.SameFile(was, now) {
		t.Errorf("a whole file was replaced: %v", err)
	}
	if after := jobtest.Hashes(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("%v, were %v", after, before)
	}
}
