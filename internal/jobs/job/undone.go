package job

import (
	"context"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// undone refuses a job whose load was undone, or is being undone: the table may not
// have its rows any more. again explains how to load it again.
func undone(dir string, h *checkpoint.History, restart bool, again setting.Text) error {
	u := h.Undo
	switch {
	case u == nil:
	case !u.Done:
		return fail.Errorf(fail.Check, "an undo of this job is under way: bulkload undo %s %s resumes it", setting.Job, dir)
	case !restart:
		return fail.Errorf(fail.Check, "this job was undone at %s: %s", u.DoneAt.Format(time.RFC3339), again)
	}
	return nil
}

// byRestart explains that a restart loads a job again, and how that load differs.
func byRestart(how string) setting.Text {
	return setting.Textf("%s loads it again%s", setting.Restart, how)
}

// afterUndo explains how to load a run again after an undo.
func (o RunOptions) afterUndo() setting.Text {
	if o.parts > 0 { // a restart would affect all directories
		return setting.Textf("leave the directory out, or load it again by a run of it alone with %s", setting.Restart)
	}
	return byRestart(", with another timestamp")
}

// buildAgain explains how to load a directory again after an undo by markers, which hide cells with its timestamp.
func buildAgain() setting.Text {
	return setting.Plain("build its files again, with another timestamp")
}

// freshTimestamp refuses a timestamp that was undone in one of the plan's tables:
// delete markers hide cells that are written with it, in regions where no compaction
// has dropped the markers.
func freshTimestamp(ctx context.Context, c *loader.Cluster, p *checkpoint.PlanRecord, state string, again setting.Text, e progress.Events) error {
	if state == "" {
		return nil
	}
	all, err := checkpoint.ReadUndone(ctx, c, state, e)
	if err != nil {
		return err
	}
	for i := range 1 + len(p.Tables) {
		for _, u := range all {
			if u.Cluster == p.Made.Cluster && u.Table == p.At(i).Table && u.Timestamp == p.Timestamp {
				return fail.Errorf(fail.Config, "timestamp %d of table %s was undone (job %s), and delete markers hide cells with it: %s",
					u.Timestamp, u.Table, u.Job, again)
			}
		}
	}
	return nil
}
