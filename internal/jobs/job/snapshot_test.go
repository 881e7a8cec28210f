package job

import (
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/status"
	"bulkload/internal/model/result"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// TestSnapshotOfAnotherCluster checks that the snapshot that a job of another cluster took is not taken for one of this cluster, which may have the same
// name and was made in the same millisecond when one build goes to both.
func TestSnapshotOfAnotherCluster(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, _, err := journal.Open(dir)
	testcheck.Must(t, err)
	_, err = log.Append(string(history.EventPlan), history.PlanRecord{Table: "t", Made: &history.TableRecord{Cluster: "there"}}, journal.First)
	testcheck.Must(t, err)
	testcheck.Must(t, log.Close())
	j := &run{job: &checkpoint.Job{History: history.History{Plan: &history.PlanRecord{Made: &history.TableRecord{Cluster: "here"}}}}} // it has no connection
	if is, err := j.snapshotOf(t.Context(), &status.State{Dir: dir, Snapshot: "night"}); is || err != nil {
		t.Errorf("%t, %v", is, err)
	}
}

// TestClusterOfOwnSnapshot checks that the record of a job's own snapshot has the cluster, by which clean of another cluster keeps the job; one on the
// cluster of another configuration does not have it.
func TestClusterOfOwnSnapshot(t *testing.T) {
	t.Parallel()
	st := &checkpoint.Job{Identity: checkpoint.Identity{Cluster: "here"}, History: history.New()}
	table := loader.TableName{Namespace: "default", Qualifier: "t"}
	for _, c := range []struct{ place, conf, want string }{{history.PlaceA, "", "here"}, {history.PlaceB, "/etc/b", ""}} {
		r, err := RecordSnapshot(st, table, history.ReadSnapshotRecord{Place: c.place, Conf: c.conf})
		if testcheck.Must(t, err); r.Cluster != c.want || st.OwnSnapshots[c.place].Cluster != c.want {
			t.Errorf("%s: %+v", c.place, r)
		}
	}
}

// TestSnapshotNotTaken checks the warnings if a load is resumed that has begun without the snapshot, or after one of another name.
func TestSnapshotNotTaken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asked, taken string
		loading      bool
		want         string
	}{
		"begun without it": {"night", "", true, "no snapshot is taken: the load has begun without one, and a snapshot now would have its cells"},
		"another name":     {"night", "evening", true, "no snapshot of this name is taken: the job has taken another one before its load"},
		"taken":            {"night", "night", true, ""},
		"not asked for":    {"", "", true, ""},
		"one was taken":    {"", "evening", false, ""},
	} {
		got := ""
		j := &run{job: &checkpoint.Job{History: history.New()}, result: &result.Result{}, options: RunOptions{Snapshot: c.asked}}
		j.options.Events.OnWarn = func(msg string, _ ...any) { got = msg }
		j.job.History.Snapshot, j.job.Loading = c.taken, c.loading
		if err := j.snapshot(t.Context()); err != nil || got != c.want || j.result.Snapshot != c.taken {
			t.Errorf("%s: %v, %q, snapshot %q", name, err, got, j.result.Snapshot)
		}
	}
}
