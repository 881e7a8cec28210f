package result

import (
	"encoding/json"
	"flag"
	"hash/fnv"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bulkload/internal/model/manifest"
	"bulkload/internal/test/testcheck"
)

var update = flag.Bool("update", false, "write the files of testdata again")

// fill sets every JSON field of a value, depending only on the field's path, so that a new field does not change others. Slices get one element.
func fill(v reflect.Value, path string) {
	h := fnv.New32a()
	h.Write([]byte(path))
	n := h.Sum32()%99_999 + 1
	switch v.Kind() {
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*Undo]() || v.Type() == reflect.TypeFor[*Survey]() {
			return // a tree of tables, which would be infinite
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), path)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1_700_000_000+int64(n), 123_000_000).UTC()))
			return
		}
		for i := range v.NumField() {
			if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); name != "-" {
				fill(v.Field(i), path+"/"+name)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path)
	case reflect.String:
		v.SetString("of " + path)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Uint8:
		v.SetUint(uint64('a' + n%26))
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(n))
	default:
		panic(v.Type())
	}
}

// full returns a value with every field set.
func full[T any]() *T {
	v := new(T)
	fill(reflect.ValueOf(v).Elem(), "")
	return v
}

// golden compares the text of a value with a file, and the value read from the file with the value.
func golden[T any](t *testing.T, name string, v *T) {
	t.Helper()
	name = "testdata/" + name + ".json"
	text, err := json.MarshalIndent(v, "", "  ")
	testcheck.Must(t, err)
	if *update {
		testcheck.Must(t, os.MkdirAll("testdata", 0o755))
		testcheck.Must(t, os.WriteFile(name, append(text, '\n'), 0o644))
	}
	want, err := os.ReadFile(name)
	testcheck.Must(t, err)
	if d := cmp.Diff(strings.TrimSuffix(string(want), "\n"), string(text)); d != "" {
		t.Errorf("%s (-is +would be):\n%s", name, d)
	}
	got := new(T)
	testcheck.Must(t, json.Unmarshal(want, got))
	if d := cmp.Diff(v, got); d != "" {
		t.Errorf("%s is read as (-was +is):\n%s", name, d)
	}
}

// TestGolden checks the texts of results, which other programs and journals of earlier runs have, with all fields and with none.
func TestGolden(t *testing.T) {
	golden(t, "result", full[Result]())
	golden(t, "result-empty", &Result{Schema: 1})
	golden(t, "dropped", full[Dropped]())
	undo := full[Undo]()
	undo.Survey = full[Survey]()
	undo.Tables = []*Undo{{Table: "second", Survey: &Survey{Table: "second", Tables: []*Survey{{Table: "third"}}}}}
	golden(t, "undo", undo)
}

// TestOtherVersions checks that results of an early version, and with fields of a later version, are read.
func TestOtherVersions(t *testing.T) {
	for what, text := range map[string]string{
		"early": `{"schema":1,"table":"t","staging":"hdfs://nn/s","manifest":null,"regions":2,"load_ns":5,"elapsed_ns":7}`,
		"later": `{"schema":1,"table":"t","staging":"hdfs://nn/s","manifest":null,"regions":2,"load_ns":5,"elapsed_ns":7,"later":{"x":[1]},"verify":null,"parts":[]}`,
	} {
		var r Result
		testcheck.Must(t, json.Unmarshal([]byte(text), &r))
		r.Parts = nil
		if d := cmp.Diff(Result{Schema: 1, Table: "t", Staging: "hdfs://nn/s", Regions: 2, LoadTime: 5, Elapsed: 7}, r); d != "" {
			t.Errorf("%s (-want +got)\n%s", what, d)
		}
	}
	for text, field := range map[string]string{`{"regions":"2"}`: "regions", `{"verify":{"want":{"rows":true}}}`: "rows", `{"done_at":"yesterday"}`: "yesterday", `{"tables":{}}`: "tables"} {
		if err := json.Unmarshal([]byte(text), new(Result)); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestSummary checks that a summary omits lists of files and most tasks, and that the result is not modified.
func TestSummary(t *testing.T) {
	r := full[Result]()
	r.YARN.Tasks = nil
	for i := range 25 {
		r.YARN.Tasks = append(r.YARN.Tasks, Task{Number: i, Wall: time.Duration(i * 7 % 25), Straggler: i == 3 || i == 4})
	}
	whole, err := json.Marshal(r)
	testcheck.Must(t, err)
	s := r.Summary()
	if s.Manifest.Files != nil || s.Tables[0].Manifest.Files != nil || s.Manifest.HFiles != r.Manifest.HFiles {
		t.Errorf("files %v, %v", s.Manifest.Files, s.Tables[0].Manifest.Files)
	}
	if len(s.YARN.Tasks) != summaryTasks || s.YARN.Tasks[0].Number != 3 || s.YARN.Tasks[1].Number != 4 {
		t.Errorf("tasks %+v", s.YARN.Tasks)
	}
	if again, err := json.Marshal(r); err != nil || string(again) != string(whole) {
		t.Errorf("the result has changed: %v", err)
	}
	if s := (&Result{Tables: []Table{{Table: "u"}}}).Summary(); s.Manifest != nil || s.YARN != nil || len(s.Tables) != 1 || s.Tables[0].Table != "u" {
		t.Errorf("without manifests: %+v", s)
	}
}

// TestSlowest checks the order: stragglers, then the slowest, and of equal ones the first.
func TestSlowest(t *testing.T) {
	r := testcheck.Rand(t)
	for range 300 {
		y := &YARN{}
		for i := range r.IntN(20) {
			y.Tasks = append(y.Tasks, Task{Number: i, Wall: time.Duration(r.IntN(5)), Straggler: r.IntN(4) == 0})
		}
		was, most := slices.Clone(y.Tasks), r.IntN(25)
		got := y.Slowest(most)
		if len(got) != min(most, len(was)) || !slices.Equal(y.Tasks, was) {
			t.Fatalf("%d of %d at most %d, tasks %v were %v", len(got), len(was), most, y.Tasks, was)
		}
		before := func(a, b Task) bool {
			if a.Straggler != b.Straggler {
				return a.Straggler
			}
			return a.Wall > b.Wall || a.Wall == b.Wall && a.Number < b.Number
		}
		for i, task := range got {
			if i > 0 && !before(got[i-1], task) {
				t.Fatalf("%+v stands before %+v", got[i-1], task)
			}
		}
		for _, task := range was {
			if !slices.Contains(got, task) && len(got) > 0 && !before(got[len(got)-1], task) {
				t.Fatalf("%+v is left out, %+v is not", task, got[len(got)-1])
			}
		}
	}
}

// TestManifestsOfTables checks that the manifests of a job's targets are set for their tables, and those of a failed build are not.
func TestManifestsOfTables(t *testing.T) {
	targets := targetsOf("a", "b", "c")
	m := []*manifest.Manifest{{Table: "a"}, {Table: "b"}, {Table: "c"}}
	r := OfTables(targets, m)
	if r.Schema != 1 || r.Table != "a" || r.Manifest != m[0] || len(r.Tables) != 2 {
		t.Fatalf("%+v", r)
	}
	for i, table := range r.Tables {
		if table.Table != targets[i+1].Table || table.Index != targets[i+1].Index || table.Manifest != m[i+1] {
			t.Errorf("table %d is %+v", i+1, table)
		}
	}
	r.SetManifests(targets, m) // once more: none is added
	if len(r.Tables) != 2 {
		t.Errorf("%d tables", len(r.Tables))
	}
	for _, fewer := range [][]*manifest.Manifest{nil, m[:1], m[:2]} {
		if r := OfTables(targets, fewer); r.Table != "a" || r.Manifest != nil || r.Tables != nil {
			t.Errorf("%d manifests: %+v", len(fewer), r)
		}
	}
}
