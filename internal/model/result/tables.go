package result

import (
	"time"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
)

// Table is the result for a further table of a job of several tables.
type Table struct {
	Table      string             `json:"table"`
	Index      string             `json:"index,omitempty"` // name of the index that the table is; empty: it is not an index
	Manifest   *manifest.Manifest `json:"manifest"`
	Regions    int                `json:"regions"` // regions that received files
	LoadTime   time.Duration      `json:"load_ns"`
	Verify     *Verification      `json:"verify,omitempty"`
	VerifyTime time.Duration      `json:"verify_ns,omitempty"`
}

// OfTables returns the result of a build of the given targets, without manifests if
// the build failed.
func OfTables(targets []spec.Target, m []*manifest.Manifest) *Result {
	r := &Result{Schema: 1, Table: targets[0].Table}
	r.SetManifests(targets, m)
	return r
}

// SetManifests sets the manifests of a job's targets, in the order of the targets.
// It does nothing unless there is one for each.
func (r *Result) SetManifests(targets []spec.Target, m []*manifest.Manifest) {
	if len(m) != len(targets) {
		return
	}
	r.Manifest, r.Tables = m[0], nil
	for i, t := range targets[1:] {
		r.Tables = append(r.Tables, Table{Table: t.Table, Index: t.Index, Manifest: m[i+1]})
	}
}
