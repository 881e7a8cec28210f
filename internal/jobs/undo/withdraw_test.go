package undo

import (
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// TestWithdrawnTimestamp checks that an undo that is withdrawn before a marker is loaded takes its timestamp back, which later jobs may use; and that one
// that was killed at that, and is resumed, marks it again.
func TestWithdrawnTimestamp(t *testing.T) {
	state, env := t.TempDir(), jobtest.Env(t)
	st := &checkpoint.Job{History: history.New()}
	testcheck.Must(t, st.Record(history.EventUndoing, history.UndoRecord{Created: 1, Timestamp: 5, Staging: t.TempDir()}))
	u := &undo{env: env, job: st, state: state, clusterID: "c"}
	u.tables = []*target{{load: &load{job: "t-1", stamp: 5, table: loader.TableName{Namespace: "default", Qualifier: "t"}}, undo: u}}
	noted := func() int {
		all, err := checkpoint.ReadUndone(t.Context(), nil, state, progress.Events{})
		testcheck.Must(t, err)
		return len(all)
	}
	testcheck.Must(t, u.note(t.Context()))
	if noted() != 1 {
		t.Fatal("the timestamp is not noted")
	}
	testcheck.Must(t, u.withdraw(t.Context()))
	if n := noted(); n != 0 || st.Undo != nil {
		t.Errorf("withdrawn: %d timestamps are noted, undo %+v", n, st.Undo)
	}
	st.Undo = &history.Undoing{UndoRecord: history.UndoRecord{Created: 1, Timestamp: 5}, Built: true, Result: &result.Undo{}, Markers: [][]loader.HFile{nil}}
	u.result = &result.Undo{}
	testcheck.Must(t, u.build(t.Context()))
	if n := noted(); n != 1 {
		t.Errorf("resumed: %d timestamps are noted", n)
	}
}
