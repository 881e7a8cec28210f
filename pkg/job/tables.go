package job

import (
	"context"
	"errors"
	"strings"
	"time"

	"bulkload/internal/cleanup"
	"bulkload/pkg/checkpoint"
	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
	"bulkload/pkg/loader"
	"bulkload/pkg/tablesource"
)

// openTables opens the inputs that are tables. Of a table of HBase a snapshot is
// taken, which the journal names before; a later attempt reads the same. It is not
// opened for a job that needs none of its inputs any more.
func (j *run) openTables(ctx context.Context) error {
	over := j.st.Finished || j.st.Loading
	for _, input := range j.spec.Inputs {
		ref, ok, err := tablesource.Parse(input)
		if err != nil {
			return fail.With(fail.Config, err)
		}
		if !ok {
			continue
		}
		var o tablesource.Options
		if ref.Snapshot == "" {
			if over {
				j.tablesOver = true
				continue
			}
			if o, err = j.readSnapshot(input, ref.Table); err != nil {
				return err
			}
		}
		s, err := tablesource.Open(ctx, j.env, ref, o)
		if err != nil {
			return err
		}
		j.tables = append(j.tables, s)
		s.Mount(j.env, input)
	}
	return nil
}

// readSnapshot names the snapshot through which a table is read, in the journal
// first.
func (j *run) readSnapshot(input string, table loader.TableName) (o tablesource.Options, err error) {
	place, err := j.env.Place(input)
	if err != nil {
		return o, err
	}
	r, ok := j.st.History.Read[place]
	if !ok {
		now := time.Now()
		r = checkpoint.ReadSnapshotRecord{Input: input, Place: place, Table: table.String(), Snapshot: tablesource.NewName(table, now), Created: now.UnixMilli()}
		if err := j.st.RecordRead(r); err != nil {
			return o, err
		}
	}
	return tablesource.Options{Name: r.Snapshot, Created: r.Created, Keep: j.st.Log != nil}, nil
}

// closeTables deletes what a job without a journal has taken.
func (j *run) closeTables(ctx context.Context) error {
	var errs []error
	for _, s := range j.tables {
		errs = append(errs, s.Close(ctx))
	}
	j.tables = nil
	return errors.Join(errs...)
}

// dropTables deletes the snapshots that this job has read tables through, when
// nothing reads them any more.
func (j *run) dropTables(ctx context.Context) {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	if err := j.st.DropRead(ctx, j.c); err != nil {
		j.o.Events.Warn("a snapshot is left behind", "error", err)
	}
}

// readBefore are the files of tables that are not read again, as the journal has
// them.
func (j *run) readBefore(old *checkpoint.PlanRecord) (files []checkpoint.InputRecord, err error) {
	for _, input := range j.spec.Inputs {
		if !j.notRead(input) {
			continue
		}
		place, err := j.env.Place(input)
		if err != nil {
			return nil, err
		}
		for _, f := range old.Inputs {
			if strings.HasPrefix(f.Place, place+"/") {
				files = append(files, f)
			}
		}
	}
	return files, nil
}

// notRead says that an input is a table which the job does not need any more.
func (j *run) notRead(input string) bool {
	return j.tablesOver && strings.HasPrefix(input, cluster.TableScheme)
}
