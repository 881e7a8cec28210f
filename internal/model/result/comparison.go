package result

import (
	"fmt"
	"time"

	"bulkload/pkg/setting"
)

// Comparison is the result of comparing two tables.
type Comparison struct {
	Schema int          `json:"schema"` // version of this form: 1
	A      ComparedSide `json:"a"`
	B      ComparedSide `json:"b"`
	Equal  bool         `json:"equal"`
	// Ranges is how many ranges of rows were compared, Different how many of them differ.
	Ranges    int         `json:"ranges"`
	Different int         `json:"different_ranges"`
	Found     Differences `json:"differences"`
	File      string      `json:"differences_file,omitempty"` // what differs, or what was repaired
	Listed    int         `json:"listed,omitempty"`           // rows in it
	Digests   string      `json:"digests_file,omitempty"`
	Repairs   []Repair    `json:"repairs,omitempty"` // of B, in their order; the rest is what was found after the last
	Job       string      `json:"job,omitempty"`     // the directory of its state

	Elapsed time.Duration `json:"elapsed_ns"`
}

// ComparedSide is one of the two.
type ComparedSide struct {
	Name  string    `json:"name"`          // hbase:TABLE, snapshot:NAME, or a directory
	As    string    `json:"read_as"`       // snapshot, scan, hfiles, export
	Time  time.Time `json:"time,omitzero"` // of the snapshot, or when a scan began
	Rows  int64     `json:"rows"`          // with cells that were compared
	Cells int64     `json:"cells"`         // likewise
	// Digest has sixteen hexadecimal digits, of all cells that were compared; empty: none was asked for.
	Digest string `json:"digest,omitempty"`
	Conf   string `json:"conf,omitempty"` // directory of the configuration of its cluster, if that is not the command's
}

// Differences counts the differing rows and cells. Each is counted once.
type Differences struct {
	OnlyA   int64 `json:"rows_only_in_a"`
	OnlyB   int64 `json:"rows_only_in_b"`
	Changed int64 `json:"rows_changed"` // in both, with other cells

	CellsOnlyA int64 `json:"cells_only_in_a"`
	CellsOnlyB int64 `json:"cells_only_in_b"`
	Values     int64 `json:"cells_of_other_value"`
	Times      int64 `json:"cells_of_other_timestamp"` // and of the same value
}

// Rows returns how many rows differ.
func (d Differences) Rows() int64 { return d.OnlyA + d.OnlyB + d.Changed }

// Add counts what was found elsewhere.
func (d *Differences) Add(o Differences) {
	d.OnlyA += o.OnlyA
	d.OnlyB += o.OnlyB
	d.Changed += o.Changed
	d.CellsOnlyA += o.CellsOnlyA
	d.CellsOnlyB += o.CellsOnlyB
	d.Values += o.Values
	d.Times += o.Times
}

// String returns a summary in one line.
func (d Differences) String() string {
	return fmt.Sprintf("%s only in A, %d only in B, %d changed", setting.Count(d.OnlyA, "row"), d.OnlyB, d.Changed)
}

// ComparedRange is the result of comparing a range of rows.
type ComparedRange struct {
	RowsA  int64 `json:"rows_a"`
	RowsB  int64 `json:"rows_b"`
	CellsA int64 `json:"cells_a"`
	CellsB int64 `json:"cells_b"`
	// Digested says that SumA and SumB are the sums of the cells.
	Digested bool   `json:"digested,omitempty"`
	SumA     uint64 `json:"sum_a,string,omitempty"`
	SumB     uint64 `json:"sum_b,string,omitempty"`
	Differences
}

// Repair is one load of the rows and cells that B lacked.
type Repair struct {
	Found   Differences `json:"differences"` // before it
	Cells   int64       `json:"cells"`       // that were loaded
	Markers int64       `json:"markers"`     // delete markers likewise
	Files   int         `json:"files"`
	Job     string      `json:"job,omitempty"` // the directory of its state
}
