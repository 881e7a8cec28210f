package build

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/chunk"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
)

// TestOrderOfAPart checks that a part is written as by earlier versions: the checksum of its description depends on the order of the fields.
func TestOrderOfAPart(t *testing.T) {
	p := PartRead{Records: 1, Filtered: 2, RejectFile: "r", FilteredFile: "f", Sums: SplitSums{}, Regions: []PartRegion{}, Lacking: []string{"a"}, FilteredOwn: []int64{3}, RowSum: manifest.RowSum{Rows: 4},
		Expect: &expectation.Counts{}, KeyFamilies: map[string]string{"id": "f"}}
	const want = `{"records":1,"rejected":0,"filtered":2,"reject_file":"r","filtered_file":"f","spill_bytes":0,"spill_runs":0,"took_ns":0,"sums":[],"regions":[],"lacking":["a"],"filtered_own":[3],` +
		`"row_sum":{"rows":4,"cells":0,"high":"0","low":"0"},"expect":{"records":0,"read_at":"0001-01-01T00:00:00Z"},"key_families":{"id":"f"}}`
	if got, err := json.Marshal(p); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

// partCase is a job that is built by one process and by several.
type partCase struct {
	identify bool // files are recorded with their ids
	spec     spec.Spec
	shapes   []Shape
}

// oneTable returns the case of a job with one table.
func oneTable(s spec.Spec, splits [][]byte) partCase {
	return partCase{spec: s, shapes: []Shape{{Families: []spec.Family{jobtest.Family}, Splits: splits}}}
}

// whole builds with one process, and returns the digests of all files below the directory.
func (c partCase) whole(t *testing.T) (files string, m []*manifest.Manifest) {
	t.Helper()
	dir := t.TempDir()
	m, err := Directories(t.Context(), jobtest.Env(t), jobtest.Resolve(t, c.spec), c.shapes, dir, WorkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c.hashes(t, dir), m
}

// hashes returns the digests of all tables' files below a directory.
func (c partCase) hashes(t *testing.T, dir string) string {
	t.Helper()
	var all []any
	for _, target := range jobtest.Resolve(t, c.spec).Targets() {
		all = append(all, target.Dir, jobtest.Hashes(t, filepath.Join(dir, target.Dir)))
	}
	return fmt.Sprint(all...)
}

// tables returns the tables of a merge into a directory.
func (c partCase) tables(t *testing.T, plans []*cells.Plan, out Output) []Table {
	return out.Tables(jobtest.Resolve(t, c.spec), plans)
}

// readParts reads the input in n parts. Each opens it separately, as a process of its own does.
func (c partCase) readParts(t *testing.T, n int) (plans []*cells.Plan, in *Input, runs []PartRun, err error) {
	t.Helper()
	env := jobtest.Env(t)
	j := jobtest.Resolve(t, c.spec)
	for i := range n {
		w := WorkOptions{SplitSize: 20_000}
		if in, err = OpenInput(t.Context(), env.Source, j, w); err != nil {
			return nil, nil, nil, err
		}
		if plans, err = NewPlans(j, in.Source.Columns(), c.shapes, 1); err != nil {
			return nil, nil, nil, err
		}
		splits := len(in.Source.Splits())
		var b bytes.Buffer
		sink := chunk.NewFileWriter(&b, RegionsOf(plans))
		part := Part{splits * i / n, splits * (i + 1) / n}
		p, err := ReadPart(t.Context(), plans, in.Source, part, sink, chunk.Options{Run: uint32(i), Size: chunk.MinSize}, Options{Workers: 2, Budget: in.Budget, Checks: in.Checks()})
		if err != nil {
			return plans, in, nil, err
		}
		f, err := chunk.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()), RegionsOf(plans), fmt.Sprintf("part %d", i))
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, PartRun{Name: fmt.Sprintf("part %d", i), File: f, Read: p})
	}
	return plans, in, runs, nil
}

// mergeRuns writes the regions of all runs with the given number of merges.
func (c partCase) mergeRuns(t *testing.T, dir string, plans []*cells.Plan, in *Input, runs []PartRun, merges int) ([]*manifest.Manifest, error) {
	t.Helper()
	var parts []*PartRead
	for _, r := range runs {
		parts = append(parts, r.Read)
	}
	var written [][]*Written
	for i := range merges {
		out := Output{FS: hdfsio.Local{}, Dir: dir, Writing: fmt.Sprintf("%s/%d", WritingDir, i), Shared: true, Identify: c.identify}
		w, err := MergeParts(t.Context(), c.tables(t, plans, out), runs, chunk.MinSize, func(region int) bool { return region%merges == i }, in.Source, Options{Workers: 2})
		if err != nil {
			return nil, err
		}
		written = append(written, w)
	}
	if err := Judge(parts, spec.Spec{BadRecords: "100%", AllowEmpty: true}); err != nil {
		return nil, err
	}
	return Assemble(plans, parts, written, true)
}

// repeated writes a CSV file in which equal keys are far apart, and a few records are bad.
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
	tables, formats := map[string]int{"check": 10, "opinion": 50}, []string{"csv", "dump", "parquet"}
	if race.Reduced(t) {
		delete(tables, "opinion")
		formats = formats[:1]
	}
	for table, salts := range tables {
		for _, ext := range formats {
			name := jobtest.Export(t, table+"."+ext)
			if _, err := os.Stat(name); err != nil {
				continue
			}
			s := jobtest.Spec(t, table)
			s.Inputs, s.Timestamp = []string{name}, 1700000000000
			cases[table+"."+ext] = oneTable(s, partition.SaltSplits(salts))
		}
	}
	points := [][]byte{[]byte("k01000"), []byte("k01001"), []byte("k03"), []byte("k05999"), []byte("z")}
	input := repeated(t)
	for _, policy := range []string{"first", "last"} {
		s := jobtest.CSVSpec(input)
		s.Duplicates, s.BadRecords = policy, "1%"
		cases["duplicates "+policy] = oneTable(s, points)
		s.Mapping = spec.Mapping{Cells: []spec.CellSpec{{Column: "name", QualifierFrom: "n"}}}
		cases["wide rows, "+policy] = oneTable(s, points)
		s.Mapping = spec.Mapping{Cells: []spec.CellSpec{{Column: "name", Family: "a"}, {Column: "n", Family: "b"}, {Column: "id"}}}
		cases["families, "+policy] = oneTable(s, points)
	}
	s := jobtest.CSVSpec(input)
	s.Duplicates, s.BadRecords, s.Filter = "last", "2%", "n < 7 and name not like '%00 of %'"
	s.Mapping = spec.Mapping{Cells: []spec.CellSpec{{Expr: "upper(name)", Qualifier: "u"}, {Expr: "add(n, length(name))", Qualifier: "l", Type: "long", Family: "g"}}}
	cases["filter and expressions"] = oneTable(s, points)
	several := func(s spec.Spec) partCase {
		return partCase{spec: s, shapes: tablesShapes(t, jobtest.Resolve(t, s), map[string][][]byte{
			"ns:check": {[]byte("R2"), []byte("R5")}, "by_day": {[]byte("20171010")}, "typed": {[]byte("1"), []byte("2")}})}
	}
	cases["several tables"] = several(tablesSpec(writeTablesInput(t, t.TempDir(), 9000, 3, true), "fail"))
	some := tablesSpec(writeTablesInput(t, t.TempDir(), 9000, 5, true), "fail")
	some.Filter = "rule in ('R1', 'R2', 'R5') and note != ''"
	cases["several tables, filter"] = several(some)
	some.Tables = slices.Clone(some.Tables)
	some.Tables[1].Filter, some.Tables[3].Filter = "day < '20171010'", "life = 1003"
	cases["several tables, filters of their own"] = several(some)
	doubled := tablesSpec(writeTablesInput(t, t.TempDir(), 9000, 4, false), "first")
	doubled.Tables = slices.DeleteFunc(doubled.Tables, func(e spec.TableSpec) bool { return e.Index != "" })
	cases["several tables, first"] = several(doubled)
	return cases
}

// TestPartsGiveTheSameFiles checks that an input that is read in parts, and merged in parts, gives byte for byte the files of
// one process, and the same manifest.
func TestPartsGiveTheSameFiles(t *testing.T) {
	counts := []int{1, 2, 7}
	if race.Reduced(t) {
		counts = counts[2:]
	}
	for name, c := range partCases(t) {
		t.Run(name, func(t *testing.T) {
			files, want := c.whole(t)
			for _, n := range counts {
				plans, in, runs, err := c.readParts(t, n)
				if err != nil {
					t.Fatal(err)
				}
				dir := t.TempDir()
				m, err := c.mergeRuns(t, dir, plans, in, runs, 1+n/2)
				if err != nil {
					t.Fatalf("%d parts: %v", n, err)
				}
				for _, table := range c.tables(t, plans, Output{Dir: dir}) {
					if err := os.RemoveAll(filepath.Join(table.Out.Dir, WritingDir)); err != nil {
						t.Fatal(err)
					}
				}
				if got := c.hashes(t, dir); got != files {
					t.Errorf("%d parts give other files: %s, want %s", n, got, files)
				}
				for i, want := range want {
					m[i].SpillBytes, m[i].Runs, m[i].ReadTime, m[i].WriteTime = want.SpillBytes, want.Runs, want.ReadTime, want.WriteTime
					got, err := manifest.Seal(m[i])
					if err != nil {
						t.Fatal(err)
					}
					if b, err := manifest.Seal(want); err != nil || !bytes.Equal(got, b) {
						t.Errorf("%d parts give the manifest %s, want %s (%v)", n, got, b, err)
					}
				}
			}
		})
	}
}

// TestDuplicateInTwoParts checks that with policy fail the message names the positions of both records, whichever parts have them.
func TestDuplicateInTwoParts(t *testing.T) {
	c := oneTable(jobtest.CSVSpec(repeated(t)), nil)
	c.spec.BadRecords = "1%"
	_, _, _, err := c.readParts(t, 1)
	if fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), "repeated.csv at offset") {
		t.Fatalf("in one part: %v", err)
	}
	c.spec.Duplicates = "first"
	plans, in, runs, err := c.readParts(t, 7)
	if err != nil {
		t.Fatal(err)
	}
	plans[0].Duplicates = 0
	_, err = c.mergeRuns(t, t.TempDir(), plans, in, runs, 1)
	if fail.KindOf(err) != fail.BadRows || strings.Count(err.Error(), "repeated.csv at offset") != 2 {
		t.Errorf("in two parts: %v", err)
	}
}

// TestDuplicateInOneTable checks that with policy fail the message names the table, whether one part has both records or two parts have one each.
func TestDuplicateInOneTable(t *testing.T) {
	c := partCases(t)["several tables, first"]
	c.spec.Tables = slices.Clone(c.spec.Tables)
	c.spec.Tables[0].Duplicates = "fail" // narrow
	_, _, _, err := c.readParts(t, 1)
	if fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), "table narrow: ") || !strings.Contains(err.Error(), "x.dump at offset") {
		t.Errorf("in one part: %v", err)
	}
	c = partCases(t)["several tables, first"]
	plans, in, runs, err := c.readParts(t, 7)
	if err != nil {
		t.Fatal(err)
	}
	plans[1].Duplicates = extsort.Fail
	if _, err = c.mergeRuns(t, t.TempDir(), plans, in, runs, 1); fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), "table narrow: ") || strings.Count(err.Error(), "x.dump at offset") != 2 {
		t.Errorf("in two parts: %v", err)
	}
}

// TestPartThatLacksRows checks that the rows of each table are compared with the records of the part.
func TestPartThatLacksRows(t *testing.T) {
	plans, _, runs, err := partCases(t)["several tables"].readParts(t, 2)
	if err != nil {
		t.Fatal(err)
	}
	for table, plan := range plans {
		p := *runs[1].Read
		p.Regions = slices.Clone(p.Regions)
		at := slices.IndexFunc(p.Regions, func(r PartRegion) bool { of, _ := tableOf(plans, r.Region); return of == table })
		p.Regions[at].Rows++
		if err := p.Check(plans); err == nil || !strings.HasPrefix(err.Error(), "table "+plan.Table+": the rows do not add up") {
			t.Errorf("table %d: %v", table, err)
		}
		p.Regions[at].Rows, p.Regions[at].LeftOut = p.Regions[at].Rows-2, p.Regions[at].LeftOut+1
		if err := p.Check(plans); err != nil {
			t.Errorf("table %d, a row that was left out: %v", table, err)
		}
	}
	if err := runs[0].Read.Check(plans[:1]); err == nil {
		t.Error("regions that no table has are taken")
	}
}

// TestJudge checks that the input of all parts is evaluated together.
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

// TestRunThatLies checks that a merge compares runs with the records of their parts.
func TestRunThatLies(t *testing.T) {
	c := partCases(t)["duplicates last"]
	for name, change := range map[string]func(*PartRead){
		"rows":   func(p *PartRead) { p.Regions[2].Rows++ },
		"sum":    func(p *PartRead) { p.Regions[2].Sum++ },
		"chunks": func(p *PartRead) { p.Regions[2].Chunks++ },
		"region": func(p *PartRead) { p.Regions = p.Regions[1:] },
	} {
		plans, in, runs, err := c.readParts(t, 2)
		if err != nil {
			t.Fatal(err)
		}
		change(runs[1].Read)
		dir := t.TempDir()
		if _, err := c.mergeRuns(t, dir, plans, in, runs, 1); !errors.Is(err, chunk.ErrDamaged) || fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "part 1") {
			t.Errorf("%s: %v", name, err)
		}
	}
	plans, in, runs, err := c.readParts(t, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.mergeRuns(t, t.TempDir(), plans, in, runs[:1], 1); err != nil {
		t.Fatal(err) // only the shares' directory knows their number
	}
	runs[1].Read.LeftOut()
	if _, err := c.mergeRuns(t, t.TempDir(), plans, in, runs, 1); err == nil || !strings.Contains(err.Error(), "do not add up") {
		t.Errorf("%v", err)
	}
}

// LeftOut makes the record of a part claim one more left-out row.
func (p *PartRead) LeftOut() { p.Regions[0].LeftOut++ }

// TestSharedFilesStay checks that a merge that finds existing files keeps the intact ones, and replaces damaged ones.
func TestSharedFilesStay(t *testing.T) {
	c := partCases(t)["check.csv"]
	c.identify = true
	plans, in, runs, err := c.readParts(t, 2)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	m, err := c.mergeRuns(t, dir, plans, in, runs, 1)
	if err != nil {
		t.Fatal(err)
	}
	before := jobtest.Hashes(t, dir)
	whole, damaged := filepath.Join(dir, m[0].Files[0].Name), filepath.Join(dir, m[0].Files[1].Name)
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
	m, err = c.mergeRuns(t, dir, plans, in, runs, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m[0].Files {
		info, err := (hdfsio.Local{}).Stat(t.Context(), filepath.Join(dir, f.Name))
		if err != nil {
			t.Fatal(err)
		}
		if id, ok := hdfsio.FileID(info); !ok || id != f.FileID {
			t.Errorf("%s is file %d, and recorded as file %d", f.Name, id, f.FileID)
		}
	}
	now, err := os.Stat(whole)
	if err != nil || !os.SameFile(was, now) {
		t.Errorf("a whole file was replaced: %v", err)
	}
	if after := jobtest.Hashes(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("%v, were %v", after, before)
	}
}
