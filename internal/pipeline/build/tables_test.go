package build

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition"

	"pgregory.net/rapid"
)

// tablesColumns are the columns of the records in the tests of several tables. row is the key of the first table.
var tablesColumns = []string{"id", "rule", "day", "note", "life", "row"}

// tablesKey is the key of the first table, whose text is in the column row.
const tablesKey = `rule + "|" + id`

// tablesFilter is a filter of the job: it leaves out either all records of a key or none.
const tablesFilter = "id >= '000100'"

// writeTablesInput writes records for the tests of several tables.
func writeTablesInput(t testing.TB, dir string, records int, seed uint64, unique bool) string {
	r := rand.New(rand.NewPCG(seed, 2))
	var b bytes.Buffer
	for i := range records {
		id, rule := fmt.Sprintf("%06d", i), fmt.Sprintf("R%d", r.IntN(9))
		if !unique {
			id = fmt.Sprintf("%06d", r.IntN(records))
		}
		note := ""
		if r.IntN(3) > 0 {
			note = strings.Repeat("n", r.IntN(60))
		}
		fmt.Fprintf(&b, "%s\x01%s\x01201710%02d\x01%s\x01%d\x01%s|%s\x10", id, rule, 1+r.IntN(28), note, 1000+r.IntN(9), rule, id)
	}
	name := filepath.Join(dir, "x.dump")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// tablesSpec returns a job with a table, two further tables and two indexes.
func tablesSpec(input, duplicates string) spec.Spec {
	value := "7"
	return spec.Spec{Table: "ns:check", Inputs: []string{input}, Format: "dump", Columns: tablesColumns, Key: tablesKey, Timestamp: 1700000000000, Duplicates: duplicates,
		Tables: []spec.TableSpec{
			{Table: "by_day", Index: "day", Key: `day + "|" + id`, Covers: []string{"rule"}},
			{Table: "narrow", Key: `reverse(id)`, Columns: []string{"rule", "day"}, Family: "g", Compression: "GZ", Encoding: "NONE"},
			{Table: "ns:by_note", Index: "bare", Key: `md5hex(rule) + id`},
			{Table: "typed", Key: `salt(id, 3) + id`, Bloom: "ROWCOL", Duplicates: "last",
				Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "life", Type: "long"}, {Column: "rule", Family: "x"}, {Value: &value, Qualifier: "v"}, {Rest: true, Family: "y"}},
					CellTTL: &spec.TTLColumn{Column: "life"}}},
		}}
}

// tablesShapes returns the shapes of the job's targets, with split points by table.
func tablesShapes(t testing.TB, j spec.Job, splits map[string][][]byte) []Shape {
	var shapes []Shape
	for _, target := range j.Targets() {
		f, err := target.ApplyTo(spec.DefaultFamily(target.FamilyName()))
		if err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, Shape{Families: []spec.Family{f}, Splits: splits[target.Table]})
	}
	return shapes
}

// alone returns the job that fills only one target, as a user would write it: an index uses the column row.
func alone(t testing.TB, s spec.Spec, target spec.Target) spec.Job {
	j := s
	if target.Table != s.Table {
		e := s.Tables[slices.IndexFunc(s.Tables, func(e spec.TableSpec) bool { return e.Table == target.Table })]
		j.Table, j.Key, j.Mapping = e.Table, e.Key, e.Mapping
		j.Family, j.Compression, j.Encoding, j.Bloom = e.Family, e.Compression, e.Encoding, e.Bloom
		if e.Duplicates != "" {
			j.Duplicates = e.Duplicates
		}
		if e.Empty != "" {
			j.Empty = e.Empty
		}
		if e.Index != "" {
			j.Cells = []spec.CellSpec{{Column: "row", Qualifier: spec.RowCell}}
		}
		for _, c := range slices.Concat(e.Columns, e.Covers) {
			j.Cells = append(j.Cells, spec.CellSpec{Column: c})
		}
		if e.Filter != "" && j.Filter != "" {
			j.Filter += " and "
		}
		j.Filter += e.Filter
	}
	j.Tables = nil
	return jobtest.Resolve(t, j)
}

// keptRecords returns the records of a job whose rows are in its first table, since an index has no entries of others, and the
// number of the others.
func keptRecords(t testing.TB, s spec.Spec) (inputs []string, lost int64) {
	t.Helper()
	b, err := os.ReadFile(s.Inputs[0])
	if err != nil {
		t.Fatal(err)
	}
	records := bytes.SplitAfter(b, []byte{0x10})
	at := map[string]int{} // position of the kept record, by key
	for i, r := range records {
		if fields := bytes.Split(r, []byte{1}); len(fields) == len(tablesColumns) {
			key := string(fields[1]) + "|" + string(fields[0])
			if s.Filter != "" && string(fields[0]) < "000100" {
				key += fmt.Sprint(i) // it is filtered, so it is not a duplicate
			}
			if _, had := at[key]; had {
				lost++
				if s.Duplicates == "first" {
					continue
				}
			}
			at[key] = i
		}
	}
	var kept []byte
	for _, i := range slices.Sorted(maps.Values(at)) {
		kept = append(kept, records[i]...)
	}
	name := filepath.Join(t.TempDir(), "kept.dump")
	if err := os.WriteFile(name, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{name}, lost
}

// sameAsAlone builds each target separately and compares the files and the manifests.
func sameAsAlone(t testing.TB, s spec.Spec, splits map[string][][]byte, together string, manifests []*manifest.Manifest) {
	t.Helper()
	env := jobtest.Env(t)
	for i, target := range jobtest.Resolve(t, s).Targets() {
		j := alone(t, s, target)
		family, err := j.ApplyTo(spec.DefaultFamily(j.FamilyName()))
		if err != nil {
			t.Fatal(err)
		}
		lost := int64(0)
		if target.Index != "" {
			j.Inputs, lost = keptRecords(t, s)
		}
		out := filepath.Join(t.TempDir(), "out")
		m, err := Directory(t.Context(), env, j, family, splits[target.Table], out, WorkOptions{})
		if err != nil {
			t.Fatalf("%s alone: %v", target.Table, err)
		}
		m.Records, m.Duplicates = m.Records+lost, m.Duplicates+lost
		if want, got := jobtest.Hashes(t, out), jobtest.Hashes(t, filepath.Join(together, target.Dir)); fmt.Sprint(want) != fmt.Sprint(got) || len(got) == 0 && m.Digest.Rows > 0 {
			t.Errorf("%s: files are\n%v, alone\n%v", target.Table, got, want)
		}
		got := *manifests[i]
		got.Files = slices.Clone(got.Files)
		for i := range got.Files {
			got.Files[i].FileID = 0 // set in a job that may resume
		}
		if got.Table != m.Table || got.Digest != m.Digest || got.Duplicates != m.Duplicates || got.Records != m.Records || got.Filtered != m.Filtered || fmt.Sprint(got.Files) != fmt.Sprint(m.Files) || fmt.Sprint(got.Cells) != fmt.Sprint(m.Cells) {
			t.Errorf("%s: the manifest is\n%+v, alone\n%+v", target.Table, got, m)
		}
	}
}

// TestTablesEqualSeparateBuilds builds several tables with one reading, with random records, split points, workers
// and policies, and compares the files of each with those of a job that builds only this table.
func TestTablesEqualSeparateBuilds(t *testing.T) {
	runs, reduced := 0, race.Reduced(t)
	testcheck.Check(t, func(rt *rapid.T) {
		if runs++; reduced && runs > 8 {
			return // each builds six times
		}
		input := writeTablesInput(t, t.TempDir(), rapid.IntRange(1, 400).Draw(rt, "records"), rapid.Uint64().Draw(rt, "seed"), false)
		s := tablesSpec(input, rapid.SampledFrom([]string{"first", "last"}).Draw(rt, "duplicates"))
		s.Filter = rapid.SampledFrom([]string{"", tablesFilter}).Draw(rt, "filter")
		for i, t := range s.Tables {
			if t.Index == "" {
				s.Tables[i].Filter = rapid.SampledFrom([]string{"", "day > '20171010'", "note = ''", "life = 1003", tablesFilter}).Draw(rt, "filter of "+t.Table)
			}
		}
		s.AllowEmpty = true
		points := func(name string, form string, most int) (p [][]byte) {
			for i := range rapid.IntRange(0, 6).Draw(rt, name) {
				p = append(p, fmt.Appendf(nil, form, i*most/7+1))
			}
			return p
		}
		splits := map[string][][]byte{"ns:check": points("check", "R%d", 9), "by_day": points("day", "201710%02d", 28), "narrow": points("narrow", "%d", 9),
			"ns:by_note": points("note", "%x", 15), "typed": partition.SaltSplits(3)}
		j := jobtest.Resolve(t, s)
		out := filepath.Join(t.TempDir(), "out")
		m, err := Directories(t.Context(), jobtest.Env(t), j, tablesShapes(t, j, splits), out, WorkOptions{Workers: rapid.IntRange(1, 4).Draw(rt, "workers"), SplitSize: 2000})
		if err != nil {
			rt.Fatal(err)
		}
		sameAsAlone(t, s, splits, out, m)
		if t.Failed() {
			rt.Fatal("they differ")
		}
	})
}

// TestTablesSpill does the same with so little memory that the sort spills; the single builds have the same memory.
func TestTablesSpill(t *testing.T) {
	s := tablesSpec(writeTablesInput(t, t.TempDir(), 40_000, 1, true), "")
	j := jobtest.Resolve(t, s)
	splits := map[string][][]byte{"by_day": {[]byte("20171010"), []byte("20171020")}, "typed": partition.SaltSplits(3)}
	workers := []int{3, 1}
	if race.Reduced(t) {
		workers = workers[:1]
	}
	for _, workers := range workers {
		out := filepath.Join(t.TempDir(), "out")
		m, err := Directories(t.Context(), jobtest.Env(t), j, tablesShapes(t, j, splits), out, WorkOptions{Workers: workers, Memory: spec.Size(workers) * (24 << 20), SpillDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if m[0].Runs < 2 || m[0].Runs != m[4].Runs {
			t.Errorf("%d runs, %d", m[0].Runs, m[4].Runs)
		}
		sameAsAlone(t, s, splits, out, m)
	}
}

// TestTablesOfTheSameValues builds tables that share their values, with others between them, from files with and without NULL
// besides empty text, in memory and with spilling.
func TestTablesOfTheSameValues(t *testing.T) {
	s := tablesSpec(writeTablesInput(t, t.TempDir(), 40_000, 3, false), "first")
	s.Tables = []spec.TableSpec{
		{Table: "by_id", Key: "id + row", Duplicates: "last"},
		{Table: "storing", Key: "id + rule", Empty: "store"},
		{Table: "by_rule", Key: `reverse(row) + day`, Compression: "GZ"},
		{Table: "also_storing", Key: "day + row", Empty: "store", Family: "g"},
		{Index: "day", Table: "by_day", Key: `day + "|" + id`, Covers: []string{"rule"}},
	}
	j := jobtest.Resolve(t, s)
	splits := map[string][][]byte{"ns:check": {[]byte("R3"), []byte("R5")}, "by_day": {[]byte("20171010")}, "by_id": {[]byte("01")}}
	memories := []spec.Size{24 << 20, 512 << 20}
	if race.Reduced(t) {
		memories = memories[:1]
	}
	for _, memory := range memories {
		out := filepath.Join(t.TempDir(), "out")
		m, err := Directories(t.Context(), jobtest.Env(t), j, tablesShapes(t, j, splits), out, WorkOptions{Workers: 2, Memory: memory, SpillDir: t.TempDir(), SplitSize: 100_000})
		if err != nil {
			t.Fatal(err)
		}
		if spilled := m[0].Runs > 0; spilled != (memory < 100<<20) {
			t.Errorf("%d runs in %s", m[0].Runs, memory)
		}
		if !race.On { // other tests run the race detector on builds of one table
			sameAsAlone(t, s, splits, out, m)
		}
	}
}

// TestTablesShareBadRecords checks that a record without a row in one table is rejected and has no row in the other tables, and that the counts add
// up.
func TestTablesShareBadRecords(t *testing.T) {
	dir := t.TempDir()
	input := filepath.Join(dir, "x.dump")
	rows := [][]string{{"1", "R1", "20171001", "n", "9"}, {"2", "R2", "", "n", "9"}, {"3", "R3", "20171003", "n", "nine"}, {"4", "R4", "20171004", "n", "9"}, {"5", "", "20171005", "n", "9"}}
	var b bytes.Buffer
	for _, r := range rows {
		b.WriteString(strings.Join(append(r, r[1]+"|"+r[0]), "\x01") + "\x10")
	}
	if err := os.WriteFile(input, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	s := tablesSpec(input, "")
	for budget, ok := range map[string]bool{"2": false, "3": true} {
		s.BadRecords = budget
		j := jobtest.Resolve(t, s)
		rejects := filepath.Join(t.TempDir(), "rejects.jsonl")
		out := filepath.Join(t.TempDir(), "out")
		m, err := Directories(t.Context(), jobtest.Env(t), j, tablesShapes(t, j, nil), out, WorkOptions{RejectFile: rejects})
		if (err == nil) != ok {
			t.Fatalf("budget %s: %v", budget, err)
		}
		if !ok {
			if left := hashes2(out); len(left) > 0 || fail.KindOf(err) != fail.BadRows {
				t.Errorf("kind %v, left: %v", fail.KindOf(err), left)
			}
			if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
				t.Errorf("%d directories are left", len(entries))
			}
			continue
		}
		for i, one := range m {
			if one.Records != 5 || one.Rejected != 3 || one.Digest.Rows != 2 || one.RejectFile != rejects {
				t.Errorf("table %d: %+v", i, one)
			}
		}
		set, err := os.ReadFile(rejects)
		if err != nil || bytes.Count(set, []byte("reason")) != 3 || !bytes.Contains(set, []byte(`"day"`)) || !bytes.Contains(set, []byte(`"life"`)) {
			t.Errorf("%v, %s", err, set)
		}
	}
}

// TestTablesNameTheTable checks that an error names the table in which two records have the same key, and their positions, and that nothing is left.
func TestTablesNameTheTable(t *testing.T) {
	input := filepath.Join(t.TempDir(), "x.dump")
	if err := os.WriteFile(input, []byte("1\x01R1\x0120171001\x01n\x019\x01R1|1\x101\x01R2\x0120171001\x01n\x019\x01R2|1\x10"), 0o600); err != nil {
		t.Fatal(err)
	}
	j := jobtest.Resolve(t, tablesSpec(input, ""))
	out := filepath.Join(t.TempDir(), "out")
	_, err := Directories(t.Context(), jobtest.Env(t), j, tablesShapes(t, j, nil), out, WorkOptions{Workers: 1})
	if err == nil {
		t.Fatal("no error")
	}
	for _, say := range []string{"table narrow", "two rows have the same key", "offset 0", "offset 23"} {
		if !strings.Contains(err.Error(), say) && !(say == "table narrow" && strings.Contains(err.Error(), "table by_day")) {
			t.Errorf("%q is not in: %v", say, err)
		}
	}
	if fail.KindOf(err) != fail.BadRows || len(hashes2(out)) > 0 {
		t.Errorf("kind %v, left: %v", fail.KindOf(err), hashes2(out))
	}
}

// stopping is a checkpoint that fails at a given call, like a process that is killed there.
type stopping struct {
	noCheckpoint
	left int
}

var errStopped = errors.New("stopped")

func (s *stopping) step() error {
	if s.left--; s.left < 0 {
		return errStopped
	}
	return nil
}

func (s *stopping) Spilling(r SpillRecord) error {
	return errors.Join(s.noCheckpoint.Spilling(r), s.step())
}
func (s *stopping) Sorted(r SortedRecord) error {
	return errors.Join(s.noCheckpoint.Sorted(r), s.step())
}
func (s *stopping) Wrote(r WrittenRecord) error {
	return errors.Join(s.noCheckpoint.Wrote(r), s.step())
}

// TestTablesResume stops a build of several tables at every record of its journal, each attempt one further, and compares
// the result of the last attempt with separate builds.
func TestTablesResume(t *testing.T) {
	kinds, every := map[string]string{"unique": "", "duplicates": "last", "filters": "last"}, 1
	if race.Reduced(t) {
		delete(kinds, "unique")
		every = 3
	}
	for name, duplicates := range kinds {
		t.Run(name, func(t *testing.T) {
			s := tablesSpec(writeTablesInput(t, t.TempDir(), 300, 3, duplicates == ""), duplicates)
			if name == "filters" {
				s.Filter, s.Tables[1].Filter, s.Tables[3].Filter = tablesFilter, "day > '20171010'", "note = ''"
			}
			tablesResume(t, s, every)
		})
	}
}

// tablesResume stops a build at every n-th of its records.
func tablesResume(t *testing.T, s spec.Spec, every int) {
	j := jobtest.Resolve(t, s)
	splits := map[string][][]byte{"ns:check": {[]byte("R3"), []byte("R6")}, "by_day": {[]byte("20171010"), []byte("20171020")}, "typed": partition.SaltSplits(3)}
	ended := false
	for stop := 0; !ended; stop += every {
		if stop > 40 {
			t.Fatal("it does not end")
		}
		k, err := OpenInput(t.Context(), jobtest.Env(t).Source, j, WorkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		plans, err := NewPlans(j, k.Source.Columns(), tablesShapes(t, j, splits), 0)
		if err != nil {
			t.Fatal(err)
		}
		fsys, dir, err := jobtest.Env(t).Resolve(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		tables := Output{FS: fsys, Dir: dir}.Tables(j, plans)
		done := NewDone()
		attempt := func(c Checkpoint) ([]*manifest.Manifest, error) {
			r := &Resume{Done: &done, Checkpoint: c, Name: "job"}
			if err := r.KeepWritten(t.Context(), tables); err != nil {
				t.Fatal(err)
			}
			return k.BuildTables(t.Context(), tables, WorkOptions{Workers: 2, SpillDir: t.TempDir()}, 0, r)
		}
		_, err = attempt(&stopping{noCheckpoint{&done}, stop})
		if ended = err == nil; !ended && !errors.Is(err, errStopped) {
			t.Fatalf("stopped at %d: %v", stop, err)
		}
		if _, err := attempt(&stopping{noCheckpoint{&done}, stop / 2}); err != nil && !errors.Is(err, errStopped) {
			t.Fatalf("stopped at %d again: %v", stop, err)
		}
		m, err := attempt(noCheckpoint{&done})
		if err != nil {
			t.Fatalf("resumed after %d: %v", stop, err)
		}
		sameAsAlone(t, s, splits, dir, m)
		if t.Failed() {
			t.Fatalf("stopped at %d", stop)
		}
		// the journal suffices for the manifests
		again, err := (&Resume{Done: &done}).Manifests(tables)
		if err != nil {
			t.Fatal(err)
		}
		for i := range again {
			if again[i].Digest != m[i].Digest || again[i].Filtered != m[i].Filtered || len(again[i].Files) != len(m[i].Files) {
				t.Errorf("table %d of the journal: %+v", i, again[i])
			}
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTablesKeepSettings checks that the files of each table have the table's settings.
func TestTablesKeepSettings(t *testing.T) {
	j := jobtest.Resolve(t, tablesSpec("x", ""))
	shapes := tablesShapes(t, j, nil)
	plans, err := NewPlans(j, tablesColumns, shapes, 5)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, target := range j.Targets() {
		names = append(names, target.Table+"/"+target.Index)
		if plans[i].Table != target.Table || plans[i].Timestamp != 1700000000000 {
			t.Errorf("plan %d: %+v", i, plans[i])
		}
	}
	if got, want := fmt.Sprint(names), "[ns:check/ narrow/ typed/ by_day/day ns:by_note/bare]"; got != want {
		t.Errorf("the order of the targets is %s, want %s", got, want)
	}
	if f := plans[1].Family; f.Name != "g" || f.Compression != hfile.CompressionGZ || f.Encoding != hfile.EncodingNone {
		t.Errorf("%+v", f)
	}
	if len(plans[2].Families) != 3 || plans[2].Families[0].Bloom != hfile.BloomRowCol {
		t.Errorf("%+v", plans[2].Families)
	}
}
