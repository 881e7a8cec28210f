package checkpoint

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// Undone is a timestamp whose cells were deleted one by one. Until a compaction
// drops the delete markers, they also hide cells that are written later with that
// timestamp, in some regions only.
type Undone struct {
	Cluster   string `json:"cluster"` // cluster id
	Table     string `json:"table"`
	Timestamp int64  `json:"timestamp"`
	Job       string `json:"job"` // name of the job's directory
}

// The ledger has the timestamps that jobs of a state directory have undone. It
// outlives the jobs.
const (
	ledgerDir      = "undone"
	ledgerEvent    = "undone"
	withdrawnEvent = "withdrawn"
)

// ledgerWait is how long to wait for another process that holds the ledger, which
// takes no longer than a write.
const ledgerWait = 30 * time.Second

// ReadUndone returns the timestamps that jobs of a state directory have undone, or
// have begun to undo.
func ReadUndone(ctx context.Context, c *loader.Cluster, state string, e progress.Events) ([]Undone, error) {
	s, err := sharedOf(state)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	var records []journal.Record
	switch {
	case s != nil:
		records, err = s.read(ctx, c, ledgerDir)
	case hasJournal(filepath.Join(state, ledgerDir)):
		err = withLedger(ctx, c, state, e, func(_ *journal.Journal, all []journal.Record) error {
			records = all
			return nil
		})
	}
	if err != nil {
		return nil, err
	}
	return inForce(records)
}

// inForce returns the timestamps of the ledger that were not withdrawn.
func inForce(records []journal.Record) (all []Undone, err error) {
	for _, r := range records {
		u, err := history.Decode[Undone](r)
		if err != nil {
			return nil, err
		}
		if r.Event == withdrawnEvent {
			all = slices.DeleteFunc(all, func(had Undone) bool { return had == u })
			continue
		}
		all = append(all, u)
	}
	return all, nil
}

// NoteUndone records a timestamp of a table, so that it is not used again. The
// record is durable when NoteUndone returns.
func NoteUndone(ctx context.Context, c *loader.Cluster, state string, u Undone, e progress.Events) error {
	return withLedger(ctx, c, state, e, func(j *journal.Journal, records []journal.Record) error {
		all, err := inForce(records)
		if err != nil || slices.Contains(all, u) {
			return err
		}
		_, err = j.Append(ledgerEvent, u, journal.First)
		return err
	})
}

// WithdrawUndone records that a timestamp that [NoteUndone] has recorded was not undone: no delete marker was loaded. It does nothing if there is none.
func WithdrawUndone(ctx context.Context, c *loader.Cluster, state string, u Undone, e progress.Events) error {
	if all, err := ReadUndone(ctx, c, state, e); err != nil || !slices.Contains(all, u) {
		return err
	}
	return withLedger(ctx, c, state, e, func(j *journal.Journal, _ []journal.Record) error {
		_, err := j.Append(withdrawnEvent, u, journal.First)
		return err
	})
}

func withLedger(ctx context.Context, c *loader.Cluster, state string, e progress.Events, do func(*journal.Journal, []journal.Record) error) (err error) {
	dir := filepath.Join(state, ledgerDir)
	defer func() {
		if err != nil && fail.KindOf(err) == fail.Unexpected {
			err = fail.With(fail.Config, setting.Errorf("timestamps that were undone, in %s: %w (name another directory with %s)", dir, err, setting.State))
		}
	}()
	lock, _, err := LockNew(ctx, c, dir, ledgerWait, e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	j, records, err := lock.Open()
	if err != nil {
		return err
	}
	return errors.Join(do(j, records), j.Close())
}
