package job

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// TestAlsoByLink checks that a link to a configuration makes no other job of a run, and that an update of a volume of Kubernetes does not either: it
// replaces the directory that the links of the volume name.
func TestAlsoByLink(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testcheck.Must(t, err)
	target, link, volume := filepath.Join(dir, "conf"), filepath.Join(dir, "link"), filepath.Join(dir, "volume")
	testcheck.Must(t, os.Mkdir(target, 0o700))
	testcheck.Must(t, os.Symlink("conf", link))
	for _, version := range []string{"..2026_11_28_14_00_00.1", "..2026_11_28_15_00_00.2"} {
		testcheck.Must(t, os.MkdirAll(filepath.Join(volume, version, "dr"), 0o700))
		testcheck.Must(t, os.RemoveAll(filepath.Join(volume, "..data")))
		testcheck.Must(t, os.Symlink(version, filepath.Join(volume, "..data")))
		if version == "..2026_11_28_14_00_00.1" {
			testcheck.Must(t, os.Symlink("..data/dr", filepath.Join(volume, "dr")))
		}
		given := []string{link, target + "/", volume, filepath.Join(volume, "dr"), filepath.Join(volume, "..data"), filepath.Join(dir, "absent")}
		want := []string{target, target, volume, filepath.Join(volume, "dr"), filepath.Join(volume, "..data"), filepath.Join(dir, "absent")}
		if got, err := absolute(given); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}

// TestTablesWithoutRows checks that the result of a cluster has a table without rows in its place: figures of the next one are not this one's.
func TestTablesWithoutRows(t *testing.T) {
	t.Parallel()
	s := jobtest.Spec(t, "check")
	s.Key, s.Tables = "id", []spec.TableSpec{{Table: "u", Key: "id"}, {Index: "by_date", Table: "v", Key: `create_date + "|" + id`}}
	j := &clustersRun{manifests: []*manifest.Manifest{{}, {}, {}}}
	j.spec = jobtest.Resolve(t, s)
	r, err := j.loadInto(t.Context(), destination{env: jobtest.Env(t)}, progress.Events{})
	testcheck.Must(t, err)
	for i, target := range j.spec.Targets() {
		if len(r.Tables) != 3 || r.Tables[i].Table != target.Table || r.Tables[i].Index != target.Index {
			t.Errorf("%+v, want %s as number %d", r.Tables, target.Table, i)
		}
	}
}

// TestReplaceOnClusters checks that a run for several clusters refuses what one for a single cluster does when it replaces a table, and that it needs
// no snapshot before the build: each load takes its own, on its cluster, which may be down.
func TestReplaceOnClusters(t *testing.T) {
	t.Parallel()
	replacing := jobtest.Spec(t, "check")
	replacing.Replace, replacing.Verify = true, "full"
	several, timed := replacing, replacing
	several.Tables = []spec.TableSpec{{Table: "check_by_id", Key: "id"}}
	timed.CellTimestamp = &spec.TimeColumn{Column: "create_date"}
	o := RunOptions{State: checkpoint.Options{Dir: t.TempDir()}}
	split := o
	split.Splits = func(context.Context, int) ([][]byte, error) { return nil, nil }
	for name, c := range map[string]struct {
		spec    spec.Spec
		options RunOptions
		want    string
	}{
		"one table":      {replacing, o, ""},
		"several tables": {several, o, "takes one table"},
		"timestamps":     {timed, o, "cell_timestamp"},
		"split points":   {replacing, split, "only a new table gets split points"},
	} {
		err := checkClusters(c.options, jobtest.Resolve(t, c.spec))
		if (err == nil) != (c.want == "") || err != nil && (fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	j := &run{env: jobtest.Env(t), spec: jobtest.Resolve(t, replacing), job: &checkpoint.Job{History: history.New()}, local: t.TempDir()}
	testcheck.Must(t, j.replaceable(t.Context()))
}
