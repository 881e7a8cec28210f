package job

import (
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// TestOtherSettingsOfBuiltFiles checks that once the files for several clusters are built, other settings of their family are refused, and other
// expectations are judged while no cluster has the files: the files are as they were built.
func TestOtherSettingsOfBuiltFiles(t *testing.T) {
	t.Parallel()
	env, o := jobtest.Env(t), RunOptions{State: checkpoint.Options{Dir: t.TempDir()}}
	given := jobtest.Spec(t, "check")
	given.Inputs, given.Encoding, given.Regions = []string{jobtest.Export(t, "check.dump")}, "FAST_DIFF", 1
	st, err := checkpoint.Open(t.Context(), nil, checkpoint.IdentifyParts(loader.TableName{Namespace: "default", Qualifier: "t"}, "clusters").On("several clusters"), o.State, progress.Events{})
	testcheck.Must(t, err)
	defer func() { testcheck.Must(t, st.Close()) }()
	of := func(change func(*spec.Spec)) *clustersRun {
		s := given
		change(&s)
		return &clustersRun{run: run{env: env, spec: jobtest.Resolve(t, s), options: o, job: st, local: filepath.Join(st.Dir, builtDir), result: &result.Result{}}}
	}
	first := of(func(*spec.Spec) {})
	testcheck.Must(t, first.openInput(t.Context()))
	plan, err := first.planRecord(t.Context())
	testcheck.Must(t, err)
	plan.Family, err = first.spec.ApplyTo(spec.DefaultFamily(first.spec.FamilyName()))
	testcheck.Must(t, err)
	testcheck.Must(t, first.streams.Close())
	all, err := build.Directories(t.Context(), env, first.spec, []build.Shape{{Families: []spec.Family{spec.DefaultFamily("f")}}}, first.local, build.WorkOptions{})
	testcheck.Must(t, err)
	testcheck.Must(t, st.Record(history.EventPlan, plan))
	testcheck.Must(t, st.Record(history.EventBuilt, history.BuiltRecord{Manifest: all[0]}))
	for name, change := range map[string]func(*spec.Spec){
		"":                  func(*spec.Spec) {},
		"the compression":   func(s *spec.Spec) { s.Compression = "GZ" },
		"the level":         func(s *spec.Spec) { s.Compression, s.CompressionLevel = "GZ", "better" },
		"the encoding":      func(s *spec.Spec) { s.Encoding = "NONE" },
		"the bloom filter":  func(s *spec.Spec) { s.Bloom = "ROWCOL" },
		"the size of block": func(s *spec.Spec) { s.BlockSize = 1 << 20 },
	} {
		j := of(change)
		err := j.sameInput(t.Context())
		if (err == nil) != (name == "") || err != nil && (fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "the family was")) {
			t.Errorf("%s: %v", name, err)
		}
		testcheck.Must(t, j.streams.Close())
	}
	stricter := func(s *spec.Spec) { s.Expectations = []expectation.Asked{{Column: "id", Unique: true}} }
	if err := of(stricter).buildOnce(t.Context()); fail.KindOf(err) != fail.Check {
		t.Errorf("an expectation that was not counted: %v", err)
	}
	testcheck.Must(t, st.Record(history.EventCluster, history.ClusterRecord{Conf: "/etc/b", Result: result.Cluster{ID: "b", Status: result.PartDone}}))
	testcheck.Must(t, of(stricter).buildOnce(t.Context()))
}
