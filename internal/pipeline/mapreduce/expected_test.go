package mapreduce

import (
	"reflect"
	"testing"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/share"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// TestExpectationsOfTasks checks that the counts of maps add up to those of one build, and that the job's process evaluates them.
func TestExpectationsOfTasks(t *testing.T) {
	s := jobtest.CSVSpec(bad(t, false))
	s.BadRecords = "1%"
	low := int64(8991)
	s.Expectations = []expectation.Asked{{Rows: &expectation.AskedRows{Min: &low}}, {Column: "name", Nulls: "0", Matches: "name [0-9]*[1-9]", Severity: "warn"}}
	points := [][]byte{[]byte("k04")}
	job := jobtest.Resolve(t, s)
	whole, err := build.Directories(t.Context(), jobtest.Env(t), job, shapesOf(points), t.TempDir(), build.WorkOptions{})
	testcheck.Must(t, err)
	p := newPiped(t, s, points, 3, 2)
	testcheck.Must(t, p.run())
	a, err := Adopt(t.Context(), p.dir, p.work, build.Output{FS: hdfsio.Local{}, Dir: t.TempDir()}, "", "")
	testcheck.Must(t, err)
	testcheck.Must(t, build.Met(a.Manifests, job.Checks(), nil, progress.Events{}))
	if got, want := a.Manifests[0].Findings(), whole[0].Findings(); !reflect.DeepEqual(got, want) || got[2].Failed != 900 || got[0].Checked != low {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	low++
	if err := build.Met(a.Manifests, jobtest.Resolve(t, s).Checks(), nil, progress.Events{}); fail.KindOf(err) != fail.BadRows {
		t.Error(err)
	}
	s.Expectations = []expectation.Asked{{Column: "id", Unique: true}}
	if _, err := share.Make(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), shapesOf(points), build.WorkOptions{}); fail.KindOf(err) != fail.Config {
		t.Errorf("tasks do not know each other's values: %v", err)
	}
}
