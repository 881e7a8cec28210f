package status

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/result"
	"bulkload/pkg/hdfsio"
)

// Trace is the history of a job that is not run, which decides whether the job may
// be removed. If the journal cannot be interpreted it is broken, and the job is
// kept.
type Trace struct {
	history.History
	Broken error // why the journal does not have the job's outcome
}

// Status returns the job's status according to the journal.
func (t *Trace) Status() history.Status {
	switch {
	case t.Broken != nil:
		return history.JobUnknown
	case t.UndoRunning():
		return history.JobUnresolved
	case t.Finished:
		return history.JobDone
	case len(t.Unresolved()) > 0:
		return history.JobUnresolved
	}
	return history.JobAbandoned
}

// Planned returns the job's plan, zero if no record has it.
func (t *Trace) Planned() (p history.PlanRecord) {
	if t.Plan != nil {
		p = *t.Plan
	}
	return p
}

// ID returns the digits in the name of the job's directory, empty without a plan.
func (t *Trace) ID() string {
	id := t.Planned().Job
	return id[:min(len(id), history.StateDigits)]
}

// ReadTrace reads the journal in a state directory.
func ReadTrace(dir string) (*Trace, error) {
	f, err := os.Open(filepath.Join(dir, journal.FileName))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := traceOf(f.Name(), f)
	if err != nil {
		return nil, err
	}
	if info, e := f.Stat(); e == nil && t.Last.IsZero() {
		t.Last = info.ModTime()
	}
	return t, nil
}

// ReadStaged reads the copy of a journal in a staging directory.
func ReadStaged(ctx context.Context, fsys hdfsio.FS, dir string) (*Trace, error) {
	name := path.Join(dir, staging.JournalName)
	f, err := fsys.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return traceOf(name, f)
}

// errNoRecord reports a journal that was truncated, or whose only record is torn.
var errNoRecord = errors.New("it has no records")

// traceOf reads a journal. A journal that cannot be interpreted, or has no record,
// is broken: HBase may have some of its job's files. An error is returned only if
// reading fails: then nothing is known.
func traceOf(name string, r io.Reader) (*Trace, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read journal %s: %w", name, err)
	}
	t := &Trace{}
	records, broken := journal.Read(bytes.NewReader(b))
	t.History, err = history.Of(records)
	if broken = cmp.Or(broken, err); broken == nil && len(records) == 0 {
		broken = errNoRecord
	}
	if broken != nil {
		t.Broken = fmt.Errorf("journal %s: %w", name, broken)
	}
	return t, nil
}

// LastResult returns the result at the end of the named journal, or nil if the journal does not end with one. It reads only the last record, and the one
// before that of the removal of the staging directory.
func LastResult(name string) *result.Result {
	const tail = 256 << 10 // the last record is a few hundred bytes, and 200 of each expectation
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	b := make([]byte, min(info.Size(), tail))
	if _, err := f.ReadAt(b, info.Size()-int64(len(b))); err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	var r journal.Record
	for r.Event = string(history.EventCleaned); history.Event(r.Event) == history.EventCleaned; b = b[:len(b)-len(r.Data)] {
		b = bytes.TrimRight(b, "\n")
		r = journal.Record{Data: b[bytes.LastIndexByte(b, '\n')+1:]}
		if json.Unmarshal(r.Data, &r) != nil {
			return nil
		}
	}
	if history.Event(r.Event) != history.EventDone {
		return nil
	}
	done, err := history.Decode[history.DoneRecord](r)
	if err != nil {
		return nil
	}
	return done.Result
}
