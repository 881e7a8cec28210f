package job

import (
	"fmt"
	"time"

	"bulkload/pkg/loader"
	"bulkload/pkg/manifest"
	"bulkload/pkg/result"
	"bulkload/pkg/rowkey"
	"bulkload/pkg/source"
	"bulkload/pkg/spec"
)

// planRecord is what a job was going to do when it began.
type planRecord struct {
	Job        string         `json:"job"`
	Table      string         `json:"table"`
	Family     spec.Family    `json:"family"`             // the first
	Families   []spec.Family  `json:"families,omitempty"` // all, if the job has a mapping
	Mapping    *spec.Mapping  `json:"mapping,omitempty"`
	MapFamily  string         `json:"mapping_family,omitempty"` // of cells that name none
	Key        string         `json:"key"`
	Modulus    int            `json:"modulus"`
	Columns    []string       `json:"columns"`
	Empty      string         `json:"empty"`
	Duplicates string         `json:"duplicates"`
	Format     string         `json:"format,omitempty"`  // asked for; what was found stands with the inputs
	Reading    *readingRecord `json:"reading,omitempty"` // nil in journals of earlier versions
	Timestamp  int64          `json:"timestamp"`
	Given      bool           `json:"timestamp_given,omitempty"` // other jobs may have the timestamp too
	Splits     []rowkey.Key   `json:"splits"`
	Staging    string         `json:"staging"`
	Inputs     []inputRecord  `json:"inputs"`
	Made       *tableRecord   `json:"table_made,omitempty"` // likewise
}

// inputRecord is an input file as it was.
type inputRecord struct {
	Input string    `json:"input"`
	Size  int64     `json:"size"`
	Time  time.Time `json:"mtime"`

	Place  string    `json:"place,omitempty"`   // where it is, however the input was given
	Format string    `json:"format,omitempty"`  // that was found
	FileID uint64    `json:"file_id,omitempty"` // inode, or that of HDFS
	Change time.Time `json:"ctime,omitzero"`    // of local files
}

// inputRecordOf is a file as it is.
func inputRecordOf(f source.FileInfo) inputRecord {
	return inputRecord{Input: f.Path, Size: f.Size, Time: f.ModTime.UTC(), FileID: f.FileID, Change: f.ChangeTime.UTC()}
}

// differs says what is not as it was, from old to new. What an older version did not record is not compared.
func (r inputRecord) differs(now inputRecord) string {
	switch {
	case r.Size != now.Size || !r.Time.Equal(now.Time):
		return fmt.Sprintf("%s had %d bytes of %s, it has %d of %s", r.Input, r.Size, r.Time.Format(time.RFC3339Nano), now.Size, now.Time.Format(time.RFC3339Nano))
	case r.FileID != 0 && now.FileID != r.FileID:
		return fmt.Sprintf("%s is another file of the same size and time (inode %d, now %d)", r.Input, r.FileID, now.FileID)
	case !r.Change.IsZero() && !now.Change.Equal(r.Change):
		return fmt.Sprintf("%s had its content or attributes changed (ctime) at %s, its time of modification notwithstanding, and before at %s",
			r.Input, now.Change.Format(time.RFC3339Nano), r.Change.Format(time.RFC3339Nano))
	}
	return ""
}

// attemptRecord is a process that worked on the job.
type attemptRecord struct {
	Attempt int    `json:"attempt"`
	PID     int    `json:"pid"`
	Host    string `json:"host"`
	Version string `json:"version,omitempty"`
}

// builtRecord is a finished build, without its files.
type builtRecord struct {
	Manifest *manifest.Manifest `json:"manifest"`
}

// snapshotRecord is a snapshot that is about to be taken, or was. An empty
// name says that the one of that name is another's.
type snapshotRecord struct {
	Snapshot string `json:"snapshot"`
	Created  int64  `json:"created,omitempty"` // the time that it is given, by which it is known from another of its name

	at time.Time // of the record
}

// fileRecord is a file on its way into the table.
type fileRecord struct {
	Family string     `json:"family"`
	Path   string     `json:"path"`
	First  rowkey.Key `json:"first_row"`
	Last   rowkey.Key `json:"last_row"`
	Size   int64      `json:"bytes"`
	Cells  int64      `json:"cells"`
	FileID uint64     `json:"file_id,omitempty"`
	Vacant bool       `json:"vacant,omitempty"` // before it was sent, the table had no cell of the job's timestamp in its first and last row
	CRC32C uint32     `json:"crc32c,omitempty"`
}

func toRecord(f loader.HFile) fileRecord {
	return fileRecord{f.Family, f.Path, f.First, f.Last, f.Size, f.Cells, f.FileID, f.Vacant, f.CRC32C}
}

func toRecords(files []loader.HFile) []fileRecord {
	records := make([]fileRecord, len(files))
	for i, f := range files {
		records[i] = toRecord(f)
	}
	return records
}

func (f fileRecord) hfile() loader.HFile {
	return loader.HFile{Family: f.Family, Path: f.Path, First: f.First, Last: f.Last, Size: f.Size, Cells: f.Cells, FileID: f.FileID, Vacant: f.Vacant, CRC32C: f.CRC32C}
}

// filesRecord is an event about files of a region.
type filesRecord struct {
	Region  string       `json:"region,omitempty"` // encoded name
	Server  string       `json:"server,omitempty"`
	Attempt int          `json:"attempt,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Files   []fileRecord `json:"files"`
}

// sendingRecord is all that a round is about to send.
type sendingRecord struct {
	Groups []filesRecord `json:"groups"`
}

// fencingRecord is a file about to get another name (to), or one that has it
// already and had another before (from).
type fencingRecord struct {
	File fileRecord `json:"file"`
	To   string     `json:"to,omitempty"`
	From string     `json:"from,omitempty"` // version 0.1 wrote it under to
}

// rewrittenRecord is files that others stand for.
type rewrittenRecord struct {
	Parents  []fileRecord `json:"parents"`
	Children []fileRecord `json:"children"`
}

// doneRecord is a job that is done.
type doneRecord struct {
	Result  *result.Result `json:"result"`
	Staging string         `json:"staging_directory,omitempty"`
}

// What becomes of the staging directory.
const (
	stagingKept    = "kept"
	stagingRemoved = "removed"
)

// tokenRecord is HBase's staging directory for the load.
type tokenRecord struct {
	Token string `json:"token"`
}

// failedRecord is why an attempt ended.
type failedRecord struct {
	Error string `json:"error"`
}
