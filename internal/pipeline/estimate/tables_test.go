package estimate

import (
	"fmt"
	"path/filepath"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/partition"
)

// TestEstimateTables compares the prediction for several tables with the result of one build of all.
func TestEstimateTables(t *testing.T) {
	const rows = 100_000
	env, dir := jobtest.Env(t), t.TempDir()
	input, err := data.WriteFile(t.Context(), dir, data.Spec{Table: data.Check, Rows: rows, Seed: 7, Regions: 10}, data.CSV)
	if err != nil {
		t.Fatal(err)
	}
	for name, memory := range map[string]spec.Size{"memory": 0, "disk": 20 << 20, "filters": 0} {
		t.Run(name, func(t *testing.T) {
			s := jobtest.Spec(t, "check")
			s.Inputs, s.Format, s.Timestamp = []string{input}, "csv", 1700000000000
			s.Tables = []spec.TableSpec{
				{Index: "by_date", Table: "by_date", Key: `create_date + "|" + id`, Covers: []string{"hit_ind"}},
				{Table: "by_rule", Key: `rule_no + "|" + id`, Columns: []string{"check_id", "hit_ind"}},
			}
			if name == "filters" {
				s.Filter, s.Tables[1].Filter = "update_date >= '2015'", "hit_ind = 'Y'"
			}
			j := jobtest.Resolve(t, s)
			points := [][][]byte{partition.SaltSplits(10), {[]byte("R3"), []byte("R6")}, {[]byte("2016")}}
			w := build.WorkOptions{Workers: 2, Memory: memory, SpillDir: t.TempDir()}
			k, err := build.OpenInput(t.Context(), env.Source, j, build.WorkOptions{SplitSize: 4 << 20})
			if err != nil {
				t.Fatal(err)
			}
			var work []tableWork
			var shapes []build.Shape
			for i, target := range j.Targets() {
				family, err := target.ApplyTo(spec.DefaultFamily(target.FamilyName()))
				if err != nil {
					t.Fatal(err)
				}
				plan, err := cells.NewPlan(target.Job, k.Source.Columns(), family, points[i], 1700000000000)
				if err != nil {
					t.Fatal(err)
				}
				o := BuildOptions{Options: build.Options{Workers: w.Workers, Memory: w.Memory, SpillDir: w.SpillDir, Budget: k.Budget}, readers: oneReader, sample: 2 << 20, count: 8 << 20}
				work = append(work, tableWork{plan, target.Index, o})
				shapes = append(shapes, build.Shape{Families: []spec.Family{family}, Splits: points[i]})
			}
			e, err := buildTables(t.Context(), work, k.Source)
			if err != nil {
				t.Fatal(err)
			}
			m, err := build.Directories(t.Context(), env, j, shapes, filepath.Join(t.TempDir(), "out"), w)
			if err != nil {
				t.Fatal(err)
			}
			if e.SampledRows > rows/5 || len(e.Tables) != 2 || e.Tables[1].Index != "by_date" {
				t.Fatalf("the estimate is %+v", e)
			}
			spill, runs := int64(0), 0
			total := totalBound(e.SampledRows, rows)
			for i, got := range e.All() {
				near(t, fmt.Sprintf("rows of table %d", i), got.Rows, m[i].Digest.Rows, totalBound(got.CountedRows, rows))
				near(t, fmt.Sprintf("cells of table %d", i), got.Cells, m[i].Digest.Cells, total)
				// A sample has consecutive rows of the input. If the key separates them, shared values are closer together in the
				// files of a sample than in the files of all rows, and compress better.
				parted := 0.05 * float64(min(i, 1))
				near(t, fmt.Sprintf("bytes of table %d", i), got.HFileBytes, m[i].Bytes, total+fileOverhead(m[i])+parted)
				if got.HFiles != m[i].HFiles || got.Memory != e.Memory || got.ReadTime != e.ReadTime || got.Runs != e.Runs || got.MoreMemory != e.MoreMemory || got.Spills != (memory > 0) {
					t.Errorf("table %d is to have %d files, it has %d: %+v", i, got.HFiles, m[i].HFiles, got)
				}
				spill += got.SpillBytes
				runs = max(runs, int(m[i].Runs))
			}
			if (runs > 0) != (memory > 0) {
				t.Fatalf("the build has %d runs", runs)
			}
			near(t, "spill of all tables", spill, m[0].SpillBytes, total+runSpread)
		})
	}
}

// TestSuggestTables finds split points for each of several tables, and counts the whole input: one build with these points has the
// counted rows, in regions of about the same size.
func TestSuggestTables(t *testing.T) {
	const rows, regions = 5000, 6
	env := jobtest.Env(t)
	input, err := data.WriteFile(t.Context(), t.TempDir(), data.Spec{Table: data.Check, Rows: rows, Seed: 11}, data.CSV)
	if err != nil {
		t.Fatal(err)
	}
	s := jobtest.TableSpec(t, data.Check, input, "csv")
	s.Key = "check_id + id"
	s.Tables = []spec.TableSpec{
		{Index: "by_date", Table: "by_date", Key: `create_date + "|" + id`},
		{Table: "by_rule", Key: `salt(id) + "|" + id`, Columns: []string{"check_id", "hit_ind"}},
	}
	j := jobtest.Resolve(t, s)
	w := build.WorkOptions{Workers: 2, SpillDir: t.TempDir()}
	e, err := Run(t.Context(), env, j, Options{WorkOptions: w, Splits: new([][]byte), Suggest: regions, Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	var shapes []build.Shape
	for i, target := range j.Targets() {
		shape := build.Shape{Families: spec.DefaultFamilies(target.Families())}
		for _, p := range e.All()[i].Splits {
			shape.Splits = append(shape.Splits, p)
		}
		shapes = append(shapes, shape)
	}
	m, err := build.Directories(t.Context(), env, j, shapes, filepath.Join(t.TempDir(), "out"), w)
	if err != nil {
		t.Fatal(err)
	}
	for i, table := range e.All() {
		if !table.Suggested || !table.Exact || len(table.Regions) != regions || len(m[i].Files) != regions || table.Rows != rows {
			t.Fatalf("table %d has %d regions and %d files: %+v", i, len(table.Regions), len(m[i].Files), table)
		}
		for _, f := range m[i].Files {
			if r := table.Regions[f.Region]; r.Rows != f.Rows || r.Rows < rows/regions/2 || r.Rows > 2*rows/regions {
				t.Errorf("region %d of table %d is to have %d rows, it has %d", f.Region, i, r.Rows, f.Rows)
			}
		}
	}
	for i, want := range partition.SaltSplits(regions) {
		if got := e.Tables[0].Splits[i]; string(got) != string(want) {
			t.Errorf("split point %d of salts is %s, not %s", i, got, want)
		}
	}
}
