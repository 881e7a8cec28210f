package history

import (
	"fmt"
	"slices"

	"bulkload/internal/model/manifest"
	"bulkload/pkg/setting"
)

// TableState is the state of one table of a job of several tables.
type TableState struct {
	Table   string    `json:"table"`
	Index   string    `json:"index,omitempty"` // name of the index that the table is; empty: it is not an index
	State   TableStep `json:"state"`
	Rows    int64     `json:"rows"`   // in its complete files
	HFiles  int       `json:"hfiles"` // complete HFiles
	Bytes   int64     `json:"bytes"`  // size of these HFiles
	Regions int       `json:"regions"`
	Loaded  int       `json:"loaded_files"`               // files loaded by HBase
	Sent    int       `json:"unresolved_files,omitempty"` // files sent to HBase whose outcome is unknown
	Undo    string    `json:"undo,omitempty"`             // pending, under way, or undone: the load is removed from the table
}

// TableStep is the progress of a table of a job.
type TableStep string

// The steps, in order.
const (
	TablePending  TableStep = "pending" // its load has not begun
	TableLoading  TableStep = "loading" // its load has begun
	TableVerified TableStep = "verified"
)

// TableStates returns the states of the tables of a job of several, in loading order; nil for a job of one table.
func (h *History) TableStates() []TableState {
	if h.Plan == nil || len(h.Plan.Tables) == 0 {
		return nil
	}
	var list []TableState
	ends := []int{} // end ordinals of the tables' regions in the sort
	end := 0
	now := h.tableLoads()
	loads := now
	if h.loads != nil {
		loads = h.loads
	}
	for i, p := range append([]PlanRecord{*h.Plan}, h.Plan.Tables...) {
		t := TableState{Table: p.Table, Index: p.Index, Regions: len(p.Splits) + 1, State: TablePending}
		if load, known := loads[i]; known {
			t.load(load, h.Finished)
		}
		t.Undo = h.Undo.ofTable(i, now[i].Loading)
		end += t.Regions
		list, ends = append(list, t), append(ends, end)
	}
	if h.Built != nil {
		for i, m := range append([]*manifest.Manifest{h.Built}, h.BuiltTables...) {
			if i < len(list) {
				list[i].Rows, list[i].HFiles, list[i].Bytes = m.Digest.Rows, m.HFiles, m.Bytes
			}
		}
		return list
	}
	for _, w := range h.Written {
		if i := slices.IndexFunc(ends, func(end int) bool { return w.InSort() < end }); i >= 0 {
			list[i].Rows += w.Rows
			list[i].HFiles += 1 + len(w.Others)
			for _, f := range w.Files() {
				list[i].Bytes += f.Bytes
			}
		}
	}
	return list
}

// load fills in the progress of the table's load.
func (t *TableState) load(l tableLoad, finished bool) {
	switch {
	case l.verified:
		t.State = TableVerified
	case l.Loading:
		t.State = TableLoading
	}
	for _, at := range l.Files {
		switch {
		case at == FileLoaded:
			t.Loaded++
		case at == FileSent && !finished:
			t.Sent++
		}
	}
}

// PhaseNow returns the phase that follows the finished steps: verify for a table with all files loaded.
func (h *History) PhaseNow() string {
	if h.phase != "load" || !h.Loading || h.verified {
		return h.phase
	}
	for _, at := range h.Files {
		if at != FileLoaded {
			return h.phase
		}
	}
	return "verify"
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
