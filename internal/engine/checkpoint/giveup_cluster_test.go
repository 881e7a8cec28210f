package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/statetable"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/progress"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
)

// TestStagingOfTheLost checks what a process does with a staging directory that it has created after it lost the job: it removes one that the journal does not
// name any more, because the job has started over, is done or was removed, and keeps one that the new owner may use, and one with files.
func TestStagingOfTheLost(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	env := jobtest.ClusterEnv(t, testcluster.Shared(t))
	own, err := env.Dial(t.Context())
	testcheck.Must(t, err)
	states := loader.TableName{Namespace: "default", Qualifier: "state-" + testcheck.Name(t)}
	t.Cleanup(func() {
		testcheck.Must(t, own.DeleteTable(context.WithoutCancel(t.Context()), states))
		own.Close()
	})
	testcluster.OwnCache(t)
	dir, err := StateDir(env, "hbase:"+states.String())
	testcheck.Must(t, err)
	base := "/tmp/" + testcheck.Name(t)
	for name, c := range map[string]struct {
		become statetable.Holder // by one that has taken over; without an epoch: the job is removed
		file   bool              // the directory has a file
		done   bool              // the job is done
		kept   bool
	}{
		"taken over":           {become: statetable.Holder{Epoch: 2}, kept: true},
		"started over":         {become: statetable.Holder{Epoch: 2, Generation: 1}},
		"done":                 {become: statetable.Holder{Epoch: 2}, done: true},
		"removed":              {},
		"removed, with a file": {file: true, kept: true},
	} {
		l, err := staging.Choose(t.Context(), env, base, "t", 1)
		testcheck.Must(t, err)
		st, err := Open(t.Context(), own, IdentifyParts(loader.TableName{Namespace: "default", Qualifier: "t"}, name).On("test"), Options{Dir: dir}, progress.Events{})
		testcheck.Must(t, err)
		testcheck.Must(t, st.Record(history.EventPlan, history.PlanRecord{Job: name, Table: "t", Staging: l.String()}))
		made, err := st.Stage(t.Context(), env, l.String())
		testcheck.Must(t, err)
		if c.file {
			w, err := made.FS.Create(t.Context(), l.Path+"/file", hdfsio.CreateOptions{})
			testcheck.Must(t, err)
			testcheck.Must(t, w.Finish())
		}
		if c.done {
			testcheck.Must(t, st.Record(history.EventDone, history.DoneRecord{Staging: history.StagingRemoved, Next: true}))
		}
		if c.become.Epoch == 0 {
			testcheck.Must(t, st.lock.owner.Delete(t.Context()))
		} else {
			holder, err := json.Marshal(c.become)
			testcheck.Must(t, err)
			cell := func(name string, value []byte) loader.Cell {
				return loader.Cell{Family: []byte("o"), Qualifier: []byte(name), Value: value}
			}
			done, err := own.Mutate(t.Context(), states, loader.Mutation{Row: []byte(filepath.Base(st.Dir)), If: cell("none", nil), Cells: []loader.Cell{cell("owner", holder)}})
			if testcheck.Must(t, err); !done {
				t.Fatal("the job is not taken over")
			}
		}
		st.giveUp(t.Context(), made, l.String(), &statetable.LostError{Holder: c.become})
		if _, err := made.FS.Stat(t.Context(), l.Path); errors.Is(err, fs.ErrNotExist) == c.kept {
			t.Errorf("%s: %v", name, err)
		}
		testcheck.Must(t, st.Close())
	}
}
