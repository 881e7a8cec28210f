package estimate

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/preflight"
	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// warningNames returns the names of an estimate's warnings.
func warningNames(e *Estimate) (names []string) {
	for _, w := range e.Warnings {
		names = append(names, w.Name)
	}
	return names
}

// TestWarnings provokes each warning, and no other.
func TestWarnings(t *testing.T) {
	if race.On {
		t.Skip("counts each of 18 inputs as TestExact does")
	}
	dir := t.TempDir()
	generated := func(s data.Spec) string {
		s.Table, s.Regions = data.Check, 10
		name, err := data.WriteFile(t.Context(), dir, s, data.CSV)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	text := func(name, content string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	even := generated(data.Spec{Rows: 30_000, Seed: 1})
	long := strings.Repeat("x", 120)
	for _, c := range []struct {
		name   string
		input  string
		change func(*spec.Spec)
		splits [][]byte
		o      Options
		want   []string
		in     []string // part of the first warning's text
	}{
		{name: "nothing", input: even, splits: partition.SaltSplits(10)},
		{name: "one region", input: even, change: func(s *spec.Spec) { s.Regions = 1 }},
		{name: "skew", input: generated(data.Spec{Rows: 30_000, Seed: 2, RegionShare: 0.45}), splits: partition.SaltSplits(10), want: []string{"skew"},
			in: []string{"1 of 10 regions have more than 2 times their fair share of 10.0%: 1 (the first) has 44.0%", "of all 30000 rows", "`suggest`"}},
		{name: "skew is as asked", input: generated(data.Spec{Rows: 30_000, Seed: 2, RegionShare: 0.45}), splits: partition.SaltSplits(10), o: Options{Skew: 5}},
		{name: "a heavy key", input: generated(data.Spec{Rows: 30_000, Seed: 3, KeyShare: 0.3}), splits: partition.SaltSplits(10), want: []string{"skew", "hot query keys"},
			in: []string{"no split point separates rows of one query key"}},
		{name: "a heavy key alone", input: generated(data.Spec{Rows: 30_000, Seed: 3, KeyShare: 0.05}), splits: partition.SaltSplits(10), want: []string{"hot query keys"},
			in: []string{"by check_id: \"", "has 5.1% (about 1545 rows)", "of all 30000 rows"}},
		{name: "two query columns", input: text("two.csv", "id,a,b\n"+repeat(2000, "%d,u,v\n")), change: func(s *spec.Spec) { s.Key, s.Query = "salt(a, b, 2) + a + b + id", []string{"a", "b"} },
			want: []string{"hot query keys", "salts"}, in: []string{`by a, b: "u v" has 100.0% (about 2000 rows)`}},
		{name: "hexadecimal key, decimal splits", input: even, change: func(s *spec.Spec) { s.Key, s.Regions = "md5hex(check_id) + id", 0 }, splits: partition.SaltSplits(10), want: []string{"skew"},
			in: []string{"10 (from 9) has 4"}},
		{name: "empty regions", input: even, change: func(s *spec.Spec) { s.Regions = 10 }, splits: splitList(t, "1,2,3,4,5,6,7,8,9,a,b,c,d,e"), want: []string{"empty regions"},
			in: []string{"5 of 15 regions get no row: 11 (from a), 12 (from b), 13 (from c), 2 more"}},
		{name: "large regions", input: even, splits: partition.SaltSplits(10), o: Options{MaxRegion: 400 << 10}, want: []string{"region size"},
			in: []string{"10 of 10 regions get more than the 400.0 KiB at which a region splits (as given)", "with more regions (2"}},
		{name: "long keys", input: text("long.csv", "id,a\n"+repeat(500, "%d,"+long+"\n")), change: func(s *spec.Spec) { s.Key = "a + id" }, want: []string{"key length"},
			in: []string{"100.0% of the keys are longer than 100 bytes (123 on average, 123 at most)"}},
		{name: "long names", input: text("names.csv", "id,the_name_of_this_column_is_long\n"+repeat(500, "%d,1\n")), change: func(s *spec.Spec) { s.Key = "id" }, want: []string{"names"},
			in: []string{`longest qualifier "the_name_of_this_column_is_long"`}},
		{name: "long family", input: even, change: func(s *spec.Spec) { s.Family = "family_of_check" }, splits: partition.SaltSplits(10), want: []string{"names"}},
		{name: "small files", input: even, splits: partition.SaltSplits(200), o: Options{Skew: 4}, want: []string{"files"}, in: []string{"200 HFiles of "}},
		{name: "more salts than regions", input: even, change: func(s *spec.Spec) { s.Regions = 20 }, splits: splitList(t, "05,1,15"), want: []string{"salts"},
			in: []string{"20 salts and 4 regions"}},
		{name: "salts that the suggestion hides", input: even, change: func(s *spec.Spec) { s.Regions = 10 }, o: Options{Suggest: 7}, want: []string{"salts"}, in: nil},
		{name: "bad records", input: text("bad.csv", "id,a\n"+repeat(500, "%d,1\n")+",2\n1,2,3\n"), change: func(s *spec.Spec) { s.Key, s.BadRecords = "id", "5" }, want: []string{"bad records"},
			in: []string{"2 records without a row", "`bad_records`"}},
		{name: "duplicates", input: text("twice.csv", "id,a\n"+repeat(500, "%d,1\n")+repeat(300, "%d,2\n")), change: func(s *spec.Spec) { s.Key, s.Duplicates = "id", "last" }, want: []string{"duplicate keys"},
			in: []string{"300 rows with the key of another row (of all 800 rows); regions are shown with them", "`duplicates` first or last"}},
		{name: "a column of no record", input: text("lines.jsonl", repeat(500, `{"id":%d,"a":1}`+"\n")),
			change: func(s *spec.Spec) {
				s.Key, s.Format, s.Columns, s.Missing = "id", "json", []string{"id", "a", "tpyo"}, "null"
			}, want: []string{"columns"},
			in: []string{"no record has tpyo (of all 500 rows)", "`missing` null"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := spec.Spec{Inputs: []string{c.input}, Format: "csv", Key: "salt(check_id) + md5hex(check_id) + id"}
			if c.change != nil {
				c.change(&s)
			}
			c.o.Exact = true
			e := estimateOf(t, s, c.splits, c.o)
			if got := warningNames(e); !slices.Equal(got, c.want) {
				t.Fatalf("warnings %q, not %q: %+v", got, c.want, e.Warnings)
			}
			for _, text := range c.in {
				if w := e.Warnings[0]; !strings.Contains(w.Message.String()+"\n"+w.Hint.String(), text) {
					t.Errorf("%q is not in %q, %q", text, w.Message, w.Hint)
				}
			}
			for _, w := range e.Warnings {
				if w.Severity != preflight.SeverityWarning || w.Hint.IsZero() || w.Message.IsZero() {
					t.Errorf("%+v", w)
				}
			}
		})
	}
}

func splitList(t *testing.T, list string) [][]byte {
	t.Helper()
	s, err := partition.ParseSplits(list)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestColumnThatNoRecordHas checks that a plan that has read the whole input fails as a load does.
func TestColumnThatNoRecordHas(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(name, []byte(`{"id":1,"a":2}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := spec.Spec{Inputs: []string{name}, Key: "id", Columns: []string{"id", "tpyo"}}
	_, err := Run(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), Options{WorkOptions: build.WorkOptions{SpillDir: t.TempDir()}, Splits: new([][]byte)})
	if fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "no record of the input has tpyo") {
		t.Error(err)
	}
}

// TestSuggest makes a plan with the split points that it suggests: the regions
// have about the same bytes, whatever the key.
func TestSuggest(t *testing.T) {
	const rows = 50_000
	input, err := data.WriteFile(t.Context(), t.TempDir(), data.Spec{Table: data.Check, Rows: rows, Seed: 4}, data.Dump)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key string
		n   int
	}{{"", 10}, {"check_id + id", 16}, {"md5hex(id)", 40}, {"create_date + id", 5}} {
		if race.Reduced(t) && c.key != "" {
			continue
		}
		s := jobtest.TableSpec(t, data.Check, input, "dump")
		if c.key != "" {
			s.Key = c.key
		}
		e := estimateOf(t, s, nil, Options{Suggest: c.n})
		if len(e.Splits) != c.n-1 || len(e.Regions) != c.n || !e.Suggested {
			t.Fatalf("%s: %d splits, %d regions", s.Key, len(e.Splits), len(e.Regions))
		}
		total := int64(0)
		for _, r := range e.Regions {
			total += r.Bytes
		}
		most := 2*0.05 + 0.01 // both bounds of a region, and a row
		if c.key == "" {      // the rows of a salt depend on its query keys
			most = float64(c.n) * shareBound(1/float64(c.n), rows, math.MaxInt64)
		}
		for i, r := range e.Regions {
			if fair := float64(total) / float64(c.n); math.Abs(float64(r.Bytes)/fair-1) > most {
				t.Errorf("%s: region %d from %s has %d bytes, %.1f %% off its fair share, at most %.1f %%", s.Key, i+1, r.Start, r.Bytes, 100*(float64(r.Bytes)/fair-1), 100*most)
			}
		}
		if c.key == "" {
			for i, want := range partition.SaltSplits(c.n) {
				if string(e.Splits[i]) != string(want) {
					t.Errorf("split point %d is %q, not %q", i, e.Splits[i], want)
				}
			}
		}
	}
}

// TestPlanOfTable uses a table's regions and the size at which they split.
func TestPlanOfTable(t *testing.T) {
	env := jobtest.ClusterEnv(t, testcluster.Shared(t))
	c, err := env.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	parent := jobtest.FreshTable(t, env, 2, nil) // whose namespace this one shares
	name, err := loader.ParseTableName(parent + "plan")
	if err != nil {
		t.Fatal(err)
	}
	spec := loader.TableSpec{Name: name, SplitKeys: partition.SaltSplits(10), Attributes: map[string]string{"MAX_FILESIZE": "40000", "hbase.table.sanity.checks": "false"},
		Families: []loader.Family{{Name: "f", Compression: "NONE", Encoding: "FAST_DIFF", Bloom: "ROW"}}}
	if err := c.CreateTable(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.DeleteTable(t.Context(), name); err != nil {
			t.Error(err)
		}
	}()
	s := jobtest.TableSpec(t, data.Check, jobtest.Export(t, "check.csv"), "csv")
	s.Table = name.String()
	e, err := Run(t.Context(), env, jobtest.Resolve(t, s), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if e.Rows != 3000 || len(e.Regions) != 10 || e.MaxRegionSize != 40000 || !slices.Equal(warningNames(e), []string{"region size"}) ||
		!strings.Contains(e.Warnings[0].Message.String(), "MAX_FILESIZE") {
		t.Errorf("%d rows, %d regions that split at %d (%s): %+v", e.Rows, len(e.Regions), e.MaxRegionSize, e.MaxRegionFrom, e.Warnings)
	}
}

// TestDuplicatesOfASample checks that a warning has the duplicates of each table by itself, and that those of a sample are the least number of all.
func TestDuplicatesOfASample(t *testing.T) {
	var b strings.Builder
	const rows = 100_000
	b.WriteString("id,a\n")
	for i := range rows {
		fmt.Fprintf(&b, "%08d,%d-%s\n", i/2, i, strings.Repeat("x", 50))
	}
	s := spec.Spec{Inputs: []string{testcheck.WriteFile(t, "in.csv", []byte(b.String()))}, Format: "csv", Key: "id", Duplicates: "first", Table: "t",
		Tables: []spec.TableSpec{{Table: "u", Key: "a"}}}
	e := estimateOf(t, s, nil, Options{})
	if got := warningNames(e); !slices.Equal(got, []string{"duplicate keys"}) || !strings.HasPrefix(e.Warnings[0].Message.String(), "50000 rows with the key of another row (of all 100000 rows)") {
		t.Errorf("%+v", e.Warnings)
	}
	if got := e.Tables[0].Warnings; len(got) > 0 {
		t.Errorf("table u: %+v", got)
	}
	s.Tables = nil
	e = smallEstimate(t, jobtest.Env(t), s, nil, build.WorkOptions{Workers: 2})
	n := e.SampledRows
	if want := fmt.Sprintf("in a sample of %d rows", n); n > rows/2 || len(e.Warnings) != 1 || !strings.HasPrefix(e.Warnings[0].Message.String(), "at least ") || !strings.Contains(e.Warnings[0].Message.String(), want) {
		t.Errorf("%d rows are sampled: %+v", n, e.Warnings)
	}
}
