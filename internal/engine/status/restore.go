package status

import (
	"cmp"

	"bulkload/internal/engine/history"
	"bulkload/internal/model/progress"
)

// restore fills in the state from a journal's history.
func (s *State) restore(h *history.History) {
	s.Last, s.Attempts, s.Phase = h.Last, h.Attempts, h.PhaseNow()
	if p := h.Plan; p != nil {
		s.Table, s.Key, s.Staging, s.Splits, s.Regions = p.Table, p.Key, p.Staging, p.Splits, len(p.Splits)+1
		for _, f := range p.Inputs {
			s.Inputs++
			s.InBytes += f.Size
			s.Source = append(s.Source, progress.InputFile{Path: f.Input, Bytes: f.Size})
		}
	}
	last := history.LastAttempt(h.Attempts)
	s.Attempt, s.PID, s.Host, s.Began = last.Attempt, last.PID, last.Host, last.Began
	for _, w := range h.Written {
		files := w.Files()
		s.Rows += w.Rows
		s.HFiles += len(files)
		for _, f := range files {
			s.Bytes += f.Bytes
		}
		if w.Ordinal == 0 { // of the first table, which the split points belong to
			s.Files = append(s.Files, files...)
		}
	}
	if m := h.Built; m != nil {
		s.Rows, s.HFiles, s.Bytes = m.Digest.Rows, m.HFiles, m.Bytes
		for _, m := range h.BuiltTables {
			s.Rows, s.HFiles, s.Bytes = s.Rows+m.Digest.Rows, s.HFiles+m.HFiles, s.Bytes+m.Bytes
		}
	}
	if h.Built == nil && h.Result != nil && h.Result.Manifest != nil { // of a load of a directory
		s.Rows, s.HFiles, s.Bytes = h.Result.Manifest.Digest.Rows, h.Result.Manifest.HFiles, h.Result.Manifest.Bytes
	}
	if s.Tables = h.TableStates(); s.Tables != nil {
		s.Regions = 0
		for _, t := range s.Tables {
			s.Regions += t.Regions
		}
	}
	s.Snapshot, s.Loaded, s.Sent, s.Taken, s.Result = h.Snapshot, h.LoadedFiles, len(h.Unresolved()), h.Taken, h.Result
	s.Replace, s.Fresh, s.Resources = h.Replace, h.FreshState(), h.Resources()
	if h.Fresh != nil {
		s.Table = cmp.Or(s.Table, h.Fresh.Table)
	}
	if c := h.Comparing; c != nil {
		s.Command, s.Table = "compare", c.Table
		for _, f := range h.Compared {
			s.Rows += f.RowsA
			s.differs = s.differs || f.Rows() > 0
		}
	}
	if x := h.Exporting; x != nil {
		s.Command, s.Table = "export", x.Table
		for _, r := range h.Exported {
			if r.File != nil {
				s.Rows += r.File.Digest.Rows
			}
		}
	}
	s.Offline, s.Copied = h.Undo.Offline(), h.Copied
	if u := h.Undo; u != nil {
		s.Undo, s.UndoneAt, s.Undone = history.UndoRunning, u.DoneAt, u.Result
		if u.Done {
			s.Undo = history.UndoDone
		}
	}
	if h.Finished {
		s.State, s.Ended = history.JobDone, h.FinishedAt
		if last.Began.After(h.FinishedAt) { // such as an undo
			s.Ended = last.Ended
		}
	}
}
