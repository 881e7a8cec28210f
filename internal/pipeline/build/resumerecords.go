package build

import (
	"cmp"
	"time"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/partition/extsort"
)

// SortedRecord is the result of pass 1.
type SortedRecord struct {
	sortTotals
	Regions []int              `json:"regions"`        // that have rows, by ordinal
	Sums    SplitSums          `json:"sums,omitempty"` // of the data read, by split
	Runs    []extsort.SavedRun `json:"runs,omitempty"` // from which another attempt can resume
}

// sortTotals holds the totals of pass 1 for manifests.
type sortTotals struct {
	Records      int64         `json:"records"`
	Rejected     int64         `json:"rejected"`
	Filtered     int64         `json:"filtered,omitempty"`      // left out by the job's filter
	RejectFile   string        `json:"reject_file,omitempty"`   // absolute; if there are rejected ones
	FilteredFile string        `json:"filtered_file,omitempty"` // absolute; if there are filtered records
	SpillBytes   int64         `json:"spill_bytes"`
	SpillRuns    int64         `json:"spill_runs"`
	Took         time.Duration `json:"took_ns"`

	Expect *expectation.Counts `json:"expect,omitempty"` // nil: no expectations

	FilteredOwn []int64         `json:"filtered_own,omitempty"` // by table, records left out only by its own filter; nil if no table has one
	RowSum      manifest.RowSum `json:"row_sum,omitzero"`       // of packed rows that are not rejected
	Notes       string          `json:"notes,omitempty"`        // required by decoders of packed rows
}

// counts returns the numbers of records, for progress.
func (t sortTotals) counts() progress.Records {
	return progress.Records{Read: t.Records, Rejected: t.Rejected, Filtered: t.Filtered}
}

// of returns the totals of one table.
func (t sortTotals) of(table int) sortTotals {
	if t.FilteredOwn != nil {
		t.Filtered += t.FilteredOwn[table]
	}
	return t
}

// addTo stores the totals in a manifest.
func (t sortTotals) addTo(m *manifest.Manifest) {
	m.Filtered, m.FilteredFile, m.Expect = t.Filtered, t.FilteredFile, t.Expect
	m.Records, m.Rejected, m.RejectFile, m.SpillBytes, m.Runs, m.ReadTime = t.Records, t.Rejected, t.RejectFile, t.SpillBytes, t.SpillRuns, t.Took
}

// WrittenRecord describes a region whose files are complete under their final names.
type WrittenRecord struct {
	manifest.File
	Others  []manifest.File     `json:"others,omitempty"` // of further families
	Dups    int64               `json:"duplicates"`
	Records int64               `json:"records,omitempty"`  // that were sorted into the region, duplicates included
	Joined  int64               `json:"joined,omitempty"`   // of them, not the first of their row
	NoCells int64               `json:"no_cells,omitempty"` // rows without cells
	Part    manifest.Digest     `json:"digest"`
	RowSum  manifest.RowSum     `json:"row_sum,omitzero"` // of packed rows
	Times   *manifest.CellTimes `json:"times,omitempty"`
	Samples []sampleRecord      `json:"samples,omitempty"`
	// Ordinal is the region's number in the sort, where the regions of further tables follow those of the first; 0: it equals Region.
	Ordinal int `json:"ordinal,omitempty"`
}

// InSort returns the ordinal of the region in the sort.
func (w WrittenRecord) InSort() int { return cmp.Or(w.Ordinal, w.Region) }

// Files returns the region's files, one for each family with rows.
func (w WrittenRecord) Files() []manifest.File { return append([]manifest.File{w.File}, w.Others...) }

// sampleRecord is a row for the verification of a sample.
type sampleRecord struct {
	Key     rowkey.Key `json:"key"`
	Sum     uint64     `json:"sum,string"`
	Time    int64      `json:"time,omitempty"`
	Expires int64      `json:"expires,omitempty"`
}

// samples returns the samples in the form of a manifest.
func (w WrittenRecord) samples() (list []manifest.Sample) {
	for _, s := range w.Samples {
		list = append(list, manifest.Sample{Key: s.Key, Sum: s.Sum, Stamp: s.Time, Expires: s.Expires})
	}
	return list
}

// SpillRecord names the directory in which an attempt keeps the sorted runs of
// its input. An empty one means that they are removed.
type SpillRecord struct {
	Dir string `json:"dir"`
}

// SubmissionRecord is a job on YARN that builds the files.
type SubmissionRecord struct {
	Tag         string `json:"tag"`                   // of the application, unique
	Dir         string `json:"dir"`                   // of the YARN job, a URI in the staging directory
	Application string `json:"application,omitempty"` // empty until it is known
	Maps        int    `json:"maps"`
	Reduces     int    `json:"reduces"`
	// Weights are the estimated bytes of each region, by which regions were packed into reduces.
	Weights []int64 `json:"weights,omitempty"`
}
