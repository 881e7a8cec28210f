package faults

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"bulkload/internal/test/bench/data"
)

// Job is one load.
type Job struct {
	Spec   data.Spec // rows; Spec.Regions is the salt's modulus and the number of the table's regions
	Form   data.Form
	Files  int    // number of files that the rows are divided among; 0: one
	Dir    bool   // the input is the directory of the files
	Memory string // of --memory
	Stage  string // of --load-mode; empty: not given
	Verify string // of --verify
	Store  bool   // empty fields become empty cells
	// Before is the number of cells that are in the table before the job, half of them in rows of the job with a
	// lower timestamp, which the job's cells hide.
	Before int
	// Compact leaves compactions enabled and requests a major one afterwards. Cells of store files are then not
	// counted: a compaction drops duplicates.
	Compact bool
	// Tracker is the store-file tracker of the table, FILE or empty for the default.
	Tracker string
}

// String returns a short description of the job.
func (j Job) String() string {
	s := fmt.Sprintf("%s %s, %d rows, %d regions, %s", j.Spec.Table, j.Form, j.Spec.Rows, j.Spec.Regions, j.Memory)
	var more []string
	switch {
	case j.Dir:
		more = append(more, fmt.Sprintf("a directory of %d files", max(1, j.Files)))
	case j.Files > 1:
		more = append(more, fmt.Sprintf("%d files", j.Files))
	}
	if j.Stage != "" {
		more = append(more, j.Stage)
	}
	if j.Tracker != "" {
		more = append(more, "tracker "+j.Tracker)
	}
	if j.Before > 0 {
		more = append(more, fmt.Sprintf("%d cells before", j.Before))
	}
	if j.Compact {
		more = append(more, "compacted")
	}
	if j.Verify == "off" {
		more = append(more, "not verified")
	}
	if len(more) > 0 {
		s += ", " + strings.Join(more, ", ")
	}
	return s
}

// oneOf draws from a list.
func oneOf[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// RandomJob draws a job.
func RandomJob(r *rand.Rand) Job {
	j := Job{
		Spec: data.Spec{
			Table: oneOf(r, data.Check, data.Opinion), Rows: int64(200 + r.IntN(19_801)), Seed: r.Uint64() >> 1,
			Regions: 1 + r.IntN(12),
		},
		Form:   oneOf(r, data.CSV, data.Dump, data.Parquet),
		Memory: oneOf(r, "24MiB", "24MiB", "64MiB", "512MiB"),
		Stage:  oneOf(r, "", "auto", "secure", "secure", "direct"),
		Verify: oneOf(r, "sample", "full"),
		Store:  r.IntN(4) == 0,
	}
	if j.Form == data.Parquet && j.Memory == "24MiB" {
		j.Memory = "64MiB" // its pages take more; a smaller budget is refused
	}
	if r.IntN(2) == 0 {
		j.Before = 2 + r.IntN(20)
	}
	j.Compact = r.IntN(4) == 0
	switch j.Spec.Seed % 6 {
	case 0:
		j.Files = 2
	case 1:
		j.Files, j.Dir = 3, true
	}
	if j.Spec.Regions > 1 && r.IntN(4) == 0 {
		j.Spec.RegionShare = 0.7
	}
	return j
}
