package undo

import (
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/progress"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// TestOtherLoadsOfThisCluster checks that a snapshot's restore counts the loads that it would lose: those of the same table on this cluster. Jobs of
// other clusters, which may share the state, have other tables of the same name.
func TestOtherLoadsOfThisCluster(t *testing.T) {
	state := t.TempDir()
	table := loader.TableName{Namespace: "default", Qualifier: "t"}
	open := func(word string, made *history.TableRecord) *checkpoint.Job {
		st, err := checkpoint.Open(t.Context(), nil, checkpoint.IdentifyParts(table, word).On(word), checkpoint.Options{Dir: state}, progress.Events{})
		testcheck.Must(t, err)
		testcheck.Must(t, st.Record(history.EventPlan, history.PlanRecord{Job: st.ID, Table: table.String(), Made: made}))
		_, err = st.Begin("test")
		testcheck.Must(t, err)
		return st
	}
	done := func(word string, made *history.TableRecord) string {
		st := open(word, made)
		testcheck.Must(t, st.Record(history.EventLoaded, history.FilesRecord{Region: "r", Files: []loader.HFile{{Path: "hdfs://nn/s/f/aa"}}}))
		testcheck.Must(t, st.Record(history.EventDone, history.DoneRecord{}))
		testcheck.Must(t, st.Close())
		return st.Name()
	}
	here, there := &history.TableRecord{Cluster: "here"}, &history.TableRecord{Cluster: "there"}
	want := []string{done("a", here), done("older version", nil)}
	done("c", there)
	r := &restore{target: &target{load: &load{job: "t-0123456789ab", table: table}, undo: &undo{state: state, clusterID: "here"}}, from: history.RestoredFrom{Created: 5}}
	slices.Sort(want)
	if got, err := r.others(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	running := open("d", there)
	if _, err := r.others(); err != nil {
		t.Errorf("one that works on another cluster: %v", err)
	}
	testcheck.Must(t, running.Close())
	running = open("e", here)
	if _, err := r.others(); err == nil || !strings.Contains(err.Error(), "works on table") {
		t.Errorf("one that works on this cluster: %v", err)
	}
	testcheck.Must(t, running.Close())
}
