package job

import (
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// TestLoadsUndone checks that a job of several clusters does not count as done if the load into one of them was undone, or is being undone.
func TestLoadsUndone(t *testing.T) {
	state := t.TempDir()
	journals := func(word string, begun, undone bool) (dir string) {
		st, err := checkpoint.Open(t.Context(), nil, checkpoint.IdentifyParts(loader.TableName{Qualifier: "t"}, word).On("cluster"), checkpoint.Options{Dir: state}, progress.Events{})
		testcheck.Must(t, err)
		testcheck.Must(t, st.Record(history.EventDone, history.DoneRecord{}))
		if begun {
			testcheck.Must(t, st.Record(history.EventUndoing, history.UndoRecord{Timestamp: 5, Snapshot: "s"}))
		}
		if undone {
			testcheck.Must(t, st.Record(history.EventUndone, history.UndoneRecord{Undo: &result.Undo{}}))
		}
		testcheck.Must(t, st.Close())
		return st.Dir
	}
	for name, c := range map[string]struct {
		dir, want string
	}{
		"none":      {journals("none", false, false), ""},
		"under way": {journals("begun", true, false), "cluster /etc/b: an undo of this job is under way: bulkload undo"},
		"undone":    {journals("done", true, true), "cluster /etc/b: this job was undone at"},
		"cleaned":   {state + "/gone", ""},
	} {
		t.Run(name, func(t *testing.T) {
			j := &clustersRun{destinations: []destination{{}, {conf: "/etc/b"}}}
			j.job = &checkpoint.Job{History: history.New()}
			j.job.Clusters[""] = result.Cluster{Jobs: []string{journals("own "+name, false, false)}}
			j.job.Clusters["/etc/b"] = result.Cluster{Conf: "/etc/b", Jobs: []string{c.dir}}
			switch err := j.loadsUndone(); {
			case c.want == "" && err == nil:
			case c.want == "" || fail.KindOf(err) != fail.Check || !strings.HasPrefix(err.Error(), c.want):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestFreshTimestamp checks that a timestamp that was undone is refused for each table of a job: its own, further ones and indexes.
func TestFreshTimestamp(t *testing.T) {
	state := t.TempDir()
	testcheck.Must(t, checkpoint.NoteUndone(t.Context(), nil, state, checkpoint.Undone{Cluster: "c", Table: "by_date", Timestamp: 5, Job: "check-1"}, progress.Events{}))
	for name, c := range map[string]struct {
		cluster, own, further, index string
		timestamp                    int64
		refused                      bool
	}{
		"its own table":     {"c", "by_date", "t", "", 5, true},
		"a further table":   {"c", "t", "by_date", "", 5, true},
		"an index":          {"c", "t", "u", "by_date", 5, true},
		"another table":     {"c", "t", "u", "by_name", 5, false},
		"another timestamp": {"c", "t", "by_date", "", 6, false},
		"another cluster":   {"d", "t", "by_date", "", 5, false},
	} {
		p := &history.PlanRecord{Table: c.own, Timestamp: c.timestamp, Made: &history.TableRecord{Cluster: c.cluster}, Tables: []history.PlanRecord{{Table: c.further}, {Table: c.index, Index: c.index}}}
		err := freshTimestamp(t.Context(), nil, p, state, buildAgain(), progress.Events{})
		if c.refused && (fail.KindOf(err) != fail.Config || !strings.HasPrefix(err.Error(), "timestamp 5 of table by_date was undone (job check-1)")) || !c.refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
