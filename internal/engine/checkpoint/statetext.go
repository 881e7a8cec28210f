package checkpoint

import (
	"fmt"

	"bulkload/pkg/setting"
)

// StateText returns the status of the job in words.
func (s *State) StateText() string {
	switch s.Undo {
	case UndoRunning:
		return string(s.State) + ", undo under way"
	case UndoDone:
		return string(s.State) + ", undone"
	}
	if s.Resumable {
		return string(s.State) + ", resumable"
	}
	return string(s.State)
}

// PhaseText returns the phase of a job that is not done, and its completed
// percentage.
func (s *State) PhaseText() string {
	switch {
	case s.State == JobDone || s.Phase == "":
		return "-"
	case s.Percent != nil:
		return fmt.Sprintf("%s %.0f%%", s.Phase, *s.Percent)
	}
	return s.Phase
}

// Text describes the state of one table of a job of several; bytes formats a number
// of bytes.
func (t TableState) Text(bytes func(int64) string) string {
	name := "table " + t.Table
	if t.Index != "" {
		name = fmt.Sprintf("index %s in table %s", t.Index, t.Table)
	}
	state := string(t.State)
	if t.Undo != "" {
		state += ", undo " + t.Undo
	}
	if t.Undo == UndoDone {
		state = t.Undo
	}
	return fmt.Sprintf("%s: %s, %s in %s of %s for %s, %s loaded", name, state, setting.Count(t.Rows, "row"), setting.Count(t.HFiles, "HFile"), bytes(t.Bytes), setting.Count(t.Regions, "region"), setting.Count(t.Loaded, "file"))
}
