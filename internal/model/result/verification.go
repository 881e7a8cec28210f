package result

import (
	"cmp"
	"fmt"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// Verification is the result of verifying a table after a load.
type Verification struct {
	Mode    string          `json:"mode"`
	Want    manifest.Digest `json:"want"`
	Got     manifest.Digest `json:"got"`               // rows with the job's timestamp; in mode sample only the sampled rows
	Sampled int             `json:"sampled"`           // rows read one by one in mode sample
	Expired bool            `json:"expired,omitempty"` // cells expired (TTL): verification inconclusive
	Masked  Masked          `json:"masked,omitzero"`
	Files   *StoreFiles     `json:"files,omitempty"` // in mode files
}

// StoreFiles counts the loaded files and their state at the verification.
type StoreFiles struct {
	Files     int   `json:"files"`     // files of the load, as written
	Bytes     int64 `json:"bytes"`     // of these files
	Split     int   `json:"split"`     // of these: served through references, because their region was split
	Compacted int   `json:"compacted"` // of these: no longer in service, because a compaction has rewritten their rows
	Read      int   `json:"read"`      // of these: read as a whole, because HDFS returned no checksum
	Others    int   `json:"others"`    // other store files
}

// Add returns the sum of the counts of two parts; a nil part has no files.
func (s *StoreFiles) Add(o *StoreFiles) *StoreFiles {
	if s == nil || o == nil {
		return cmp.Or(s, o)
	}
	return &StoreFiles{s.Files + o.Files, s.Bytes + o.Bytes, s.Split + o.Split, s.Compacted + o.Compacted, s.Read + o.Read, s.Others + o.Others}
}

// Add adds the results of another verification, and returns the sum; v may be nil.
func (v *Verification) Add(o *Verification) *Verification {
	if v == nil {
		return new(*o)
	}
	v.Want.Add(o.Want)
	v.Got.Add(o.Got)
	v.Sampled += o.Sampled
	v.Expired = v.Expired || o.Expired
	v.Masked.Add(o.Masked)
	v.Files = v.Files.Add(o.Files)
	return v
}

// Masked counts cells that a verification has found in the table although no reader
// sees them: they were loaded and are not lost, but cells or delete markers of
// others hide them.
type Masked struct {
	Rows    int64 `json:"rows"`              // with at least one hidden cell
	Newer   int64 `json:"by_newer_cells"`    // cells with a newer version that readers see
	Deleted int64 `json:"by_delete_markers"` // cells hidden by delete markers
	Gone    int64 `json:"-"`                 // rows whose cells are all hidden by delete markers
}

func (m *Masked) Add(o Masked) {
	m.Rows += o.Rows
	m.Newer += o.Newer
	m.Deleted += o.Deleted
	m.Gone += o.Gone
}

func (m *Masked) AddRow(h loader.Hidden) {
	if h.Newer+h.Deleted == 0 {
		return
	}
	m.Rows++
	m.Newer += int64(h.Newer)
	m.Deleted += int64(h.Deleted)
	if h.Undeleted != nil && len(h.Undeleted) == 0 && h.Newer == 0 {
		m.Gone++
	}
}

// Warn sends a warning if there are hidden cells.
func (m Masked) Warn(e progress.Events, mode string) {
	if m.Rows > 0 {
		e.Warn("rows that were loaded are masked by newer cells or hidden by delete markers, which others wrote: they are there, but readers do not see them",
			"mode", mode, "rows", m.Rows, "cells_masked_by_newer", m.Newer, "cells_hidden_by_delete_markers", m.Deleted)
	}
}

// Text returns a readable summary of the verification; empty without one.
func (v *Verification) Text() string {
	switch {
	case v == nil:
		return ""
	case v.Mode == "full":
		return fmt.Sprintf("the table has %s with this job's timestamp; %s were written", v.Got, v.Want) + v.Masked.Text()
	case v.Mode == "files":
		return v.filesText() + v.Masked.Text()
	case v.Mode == "sample":
		return fmt.Sprintf("%s read back", setting.Count(v.Sampled, "sampled row was")) + v.Masked.Text()
	}
	return ""
}

// filesText describes the state of the loaded files in the stores.
func (v *Verification) filesText() string {
	f := cmp.Or(v.Files, &StoreFiles{})
	rows := setting.Count(v.Sampled, "sampled row") + " are as written"
	there := setting.Count(f.Files-f.Compacted, "HFile") + " are in the table's stores with the checksums that were written"
	compacted := fmt.Sprintf("%d of %s were compacted before the check; only sampled rows of them were compared", f.Compacted, setting.Count(f.Files, "HFile"))
	switch {
	case f.Compacted == 0:
		return there + ", " + rows
	case f.Compacted == f.Files:
		return compacted + ": " + rows
	}
	return there + "; " + compacted + ": " + rows
}

// Text describes the hidden cells; empty if there are none.
func (m Masked) Text() string {
	if m.Rows == 0 {
		return ""
	}
	return fmt.Sprintf("; readers do not see all cells of %s: %s masked by newer cells, %s hidden by delete markers", setting.Count(m.Rows, "row"), setting.Count(m.Newer, "cell is"), setting.Count(m.Deleted, "cell is"))
}
