package result

import (
	"fmt"
	"time"

	"bulkload/pkg/setting"
)

// Comparison is the result of comparing two tables.
type Comparison struct {
	Schema int          `json:"schema"` // version of this format: 1
	A      ComparedSide `json:"a"`
	B      ComparedSide `json:"b"`
	Equal  bool         `json:"equal"`
	// Ranges is the number of ranges of rows that were compared, Different the number of those that differ.
	Ranges    int         `json:"ranges"`
	Different int         `json:"different_ranges"`
	Found     Differences `json:"differences"`
	File      string      `json:"differences_file,omitempty"`
	Listed    int         `json:"listed,omitempty"` // number of rows in the file
	Digests   string      `json:"digests_file,omitempty"`
	Repairs   []Repair    `json:"repairs,omitempty"` // of B, in order; Found has the differences after the last one
	Job       string      `json:"job,omitempty"`     // state directory

	Elapsed time.Duration `json:"elapsed_ns"`
}

// ComparedSide is one side of a comparison.
type ComparedSide struct {
	Name  string    `json:"name"`          // hbase:TABLE, snapshot:NAME, or a directory
	As    string    `json:"read_as"`       // snapshot, scan, hfiles, export
	Time  time.Time `json:"time,omitzero"` // of the snapshot, or the start of the scan
	Rows  int64     `json:"rows"`          // with cells that were compared
	Cells int64     `json:"cells"`         // cells that were compared
	// Digest has sixteen hexadecimal digits and covers all cells that were compared; empty: not requested.
	Digest string `json:"digest,omitempty"`
	Conf   string `json:"conf,omitempty"` // configuration directory of its cluster, if it is not the command's
	// Rejected is the number of bad records of an export that were set aside: their rows are not compared. RejectFile has them.
	Rejected   int64  `json:"rejected,omitempty"`
	RejectFile string `json:"reject_file,omitempty"`
}

// Differences counts the rows and cells that differ, each once.
type Differences struct {
	OnlyA   int64 `json:"rows_only_in_a"`
	OnlyB   int64 `json:"rows_only_in_b"`
	Changed int64 `json:"rows_changed"` // in both, with different cells

	CellsOnlyA int64 `json:"cells_only_in_a"`
	CellsOnlyB int64 `json:"cells_only_in_b"`
	Values     int64 `json:"cells_of_other_value"`
	Times      int64 `json:"cells_of_other_timestamp"` // with the same value
}

// Rows returns the number of rows that differ.
func (d Differences) Rows() int64 { return d.OnlyA + d.OnlyB + d.Changed }

// Add adds other counts.
func (d *Differences) Add(o Differences) {
	d.OnlyA += o.OnlyA
	d.OnlyB += o.OnlyB
	d.Changed += o.Changed
	d.CellsOnlyA += o.CellsOnlyA
	d.CellsOnlyB += o.CellsOnlyB
	d.Values += o.Values
	d.Times += o.Times
}

// String returns a readable form.
func (d Differences) String() string {
	return fmt.Sprintf("%s only in A, %d only in B, %d changed", setting.Count(d.OnlyA, "row"), d.OnlyB, d.Changed)
}

// ComparedRange is the result for one range of rows.
type ComparedRange struct {
	RowsA  int64 `json:"rows_a"`
	RowsB  int64 `json:"rows_b"`
	CellsA int64 `json:"cells_a"`
	CellsB int64 `json:"cells_b"`
	// Digested reports whether SumA and SumB hold the checksums of the cells.
	Digested bool   `json:"digested,omitempty"`
	SumA     uint64 `json:"sum_a,string,omitempty"`
	SumB     uint64 `json:"sum_b,string,omitempty"`
	ShownB   uint64 `json:"shown_b,string,omitempty"` // checksum of B's cells that differ
	Differences
}

// Repair is one load of the changes that make B equal to A.
type Repair struct {
	Found   Differences `json:"differences"` // before the repair
	Cells   int64       `json:"cells"`       // cells loaded
	Markers int64       `json:"markers"`     // delete markers loaded
	Files   int         `json:"files"`
	Job     string      `json:"job,omitempty"` // state directory
}
