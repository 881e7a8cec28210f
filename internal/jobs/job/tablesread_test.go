package job

import (
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// TestReadingOfAnAttemptWithoutPlan checks that a table that an attempt has begun to read by scans may be read from its files by the next one, unless the
// job has a plan.
func TestReadingOfAnAttemptWithoutPlan(t *testing.T) {
	t.Parallel()
	env, table := jobtest.Env(t), loader.TableName{Namespace: "default", Qualifier: "t"}
	place, err := env.Place("hbase:t")
	testcheck.Must(t, err)
	for _, planned := range []bool{false, true} {
		st := &checkpoint.Job{History: history.New()}
		testcheck.Must(t, st.Record(history.EventReadSnapshot, history.ReadSnapshotRecord{Input: "hbase:t", Place: place, Table: "t", Scan: &history.ScanRecord{}}))
		if planned {
			testcheck.Must(t, st.Record(history.EventPlan, history.PlanRecord{Table: "u"}))
		}
		s := jobtest.CSVSpec("hbase:t")
		s.ReadBy = string(tablesource.ByFiles)
		j := &run{env: env, spec: jobtest.Resolve(t, s), job: st}
		r, o, err := j.readTable(t.Context(), "hbase:t", table)
		if planned {
			if fail.KindOf(err) != fail.Config {
				t.Errorf("with a plan: %v", err)
			}
			continue
		}
		if err != nil || r.Scan != nil || r.Snapshot == "" || o.Name != r.Snapshot || o.By != tablesource.ByFiles || o.Bounds != nil || st.OwnSnapshots[place].Snapshot != r.Snapshot {
			t.Errorf("without a plan: %+v, %+v, %v", r, o, err)
		}
	}
}
