package result

import (
	"fmt"
	"strings"
	"time"

	"bulkload/pkg/setting"
)

// Part is the result of one directory of a split job.
type Part struct {
	Input          string        `json:"input"`
	Status         PartStatus    `json:"status"`
	Job            string        `json:"job,omitempty"` // state directory
	Error          string        `json:"error,omitempty"`
	Began          time.Time     `json:"began,omitzero"` // when this run began it
	Files          int           `json:"files"`
	Bytes          int64         `json:"input_bytes"`
	Records        int64         `json:"records"` // records read; if an earlier run did the part, the records that it read
	Rows           int64         `json:"rows"`
	Cells          int64         `json:"cells"`
	HFiles         int           `json:"hfiles"`
	Written        int64         `json:"bytes"` // of its HFiles
	Rejected       int64         `json:"rejected,omitempty"`
	Filtered       int64         `json:"filtered,omitempty"` // dropped by the filter
	DuplicatesFile string        `json:"duplicates_file,omitempty"`
	RejectFile     string        `json:"reject_file,omitempty"`
	FilteredFile   string        `json:"filtered_file,omitempty"`
	Elapsed        time.Duration `json:"elapsed_ns"`
}

// Parts are the parts of a job, in order.
type Parts []Part

// PartStatus is the outcome of a part.
type PartStatus string

// The outcomes.
const (
	PartDone    PartStatus = "done"
	PartAlready PartStatus = "already" // done by an earlier run; this run did nothing
	PartFailed  PartStatus = "failed"
	PartBusy    PartStatus = "busy"    // another process loads the directory
	PartStopped PartStatus = "stopped" // the run was stopped during this part
	PartLeft    PartStatus = "left"    // not begun
)

// Text returns the numbers of parts by status.
func (p Parts) Text() string {
	count := map[PartStatus]int{}
	for _, part := range p {
		count[part.Status]++
	}
	noun := "directories"
	if len(p) == 1 {
		noun = "directory"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s: %d done", len(p), noun, count[PartDone])
	for _, s := range []PartStatus{PartAlready, PartFailed, PartBusy, PartStopped, PartLeft} {
		if count[s] > 0 {
			fmt.Fprintf(&b, ", %d %s", count[s], s.Text())
		}
	}
	return b.String()
}

// Text returns a readable form of the status.
func (s PartStatus) Text() string {
	switch s {
	case PartAlready:
		return "done before"
	case PartLeft:
		return "pending"
	}
	return string(s)
}

// Done returns the totals of the parts that this run did.
func (p Parts) Done() (rows, input, written int64) {
	for _, part := range p {
		if part.Status == PartDone {
			rows, input, written = rows+part.Rows, input+part.Bytes, written+part.Written
		}
	}
	return rows, input, written
}

// Files describes the files of records that were set aside: it names the first one and counts the others. of returns the file of a part.
func (p Parts) Files(first string, of func(Part) string) string {
	files := 0
	for _, part := range p {
		if of(part) != "" {
			files++
		}
	}
	if files < 2 {
		return first
	}
	return fmt.Sprintf("%s and %s", first, setting.Count(files-1, "more file"))
}
