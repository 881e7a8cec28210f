package tablesource_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/source"
)

// TestPlanned checks that a process that reads a snapshot by a plan reads the planned files, however it would cut regions itself.
func TestPlanned(t *testing.T) {
	l := newLab(t, "02000")
	l.HFiles = hfile.Options{BlockSize: 1 << 10}
	var cells []hfile.Cell
	for i := range 3000 {
		cells = append(cells, testsnapshot.Put(fmt.Sprintf("%05d\xff", i), "f", "q", 5, fmt.Sprint("value of ", i)))
	}
	l.Load(0, cells...)
	l.Save()
	open := func(resolve source.Resolve, input string) *source.Input {
		t.Helper()
		in, err := source.Open(t.Context(), resolve, []string{input}, source.Options{Columns: []string{"$row", "f:q"}})
		testcheck.Must(t, err)
		return in
	}
	const input = "hbase:n:t" // through its snapshot s
	ref, _, err := tablesource.Parse(input)
	testcheck.Must(t, err)
	files := tablesource.NewFiles(hdfsio.Local{}, l.Root, "s", ref, nil)
	files.PartBytes = 10 << 10
	plan, err := files.Plan(t.Context(), input)
	testcheck.Must(t, err)
	b, err := json.Marshal(plan)
	testcheck.Must(t, err)
	var read tablesource.Planned
	testcheck.Must(t, json.Unmarshal(b, &read))
	want := open(func(string) (source.FS, string, error) { return files, files.Dir(), nil }, input)

	env := &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}
	env.Conf.Set("hbase.rootdir", "file://"+l.Root, "test")
	mounted, err := read.Mount(t.Context(), env, nil)
	testcheck.Must(t, err)
	if _, parts, err := mounted.Parts(t.Context()); err != nil || len(parts) != len(want.Files()) || parts[1].Name != path.Base(want.Files()[1].Path) {
		t.Errorf("the parts are %+v, %v", parts, err)
	}
	got := open(env.Source, input)
	if len(want.Files()) < 10 || !reflect.DeepEqual(got.Files(), want.Files()) {
		t.Errorf("the files are %+v, those that were planned %+v", got.Files(), want.Files())
	}
	records, _ := texts(t, got)
	if planned, _ := texts(t, want); len(records) != 3000 || !slices.Equal(records, planned) {
		t.Errorf("%d records, %d were planned", len(records), len(planned))
	}
	for what, change := range map[string]func(*tablesource.Planned){
		"table": func(p *tablesource.Planned) { p.Table = "n:u" },
		"time":  func(p *tablesource.Planned) { p.Created = p.Created.Add(1e6) },
		"name":  func(p *tablesource.Planned) { p.Name = "none" },
	} {
		other := read
		change(&other)
		if _, err := other.Mount(t.Context(), env, nil); fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "snapshot "+other.Name) {
			t.Errorf("another %s: %v", what, err)
		}
	}
}
