package checkpoint

import (
	"fmt"
	"time"

	"bulkload/internal/formats/spool"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// PlanRecord is the plan of a job at its start.
type PlanRecord struct {
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
	Inputs     []InputRecord  `json:"inputs"`
	Made       *TableRecord   `json:"table_made,omitempty"` // likewise
	Replicate  string         `json:"replicate,omitempty"`  // no: peers leave the load out

	Filter string       `json:"filter,omitempty"` // of a further table that has its own: the job's and that
	Index  string       `json:"index,omitempty"`  // name of the index that a further table is
	Tables []PlanRecord `json:"tables,omitempty"` // further tables; what they have in common with the first is empty
}

// ComparingRecord has the sources of a comparison of two tables.
type ComparingRecord struct {
	Table string       `json:"table"` // for people
	A     string       `json:"a"`     // what the side is, and what it has: a snapshot's checksum, or a digest
	B     string       `json:"b"`
	Now   int64        `json:"now"`  // by which cells have expired, milliseconds
	Cuts  []rowkey.Key `json:"cuts"` // the rows at which ranges begin, without the first
}

// ComparedRecord is a range that was compared.
type ComparedRecord struct {
	Range int                  `json:"range"` // from 0
	Found result.ComparedRange `json:"found"`
}

// ExportingRecord has the source and the destination of an export.
type ExportingRecord struct {
	Table string `json:"table"`          // for people
	Dir   string `json:"directory"`      // a path or URI
	Token string `json:"token"`          // that the directory has; empty: what was written is removed
	Asked string `json:"asked"`          // checksum of what is written, and how
	Read  string `json:"read,omitempty"` // the snapshot's checksum; empty: it is not open yet, or the table is scanned
	Now   int64  `json:"now,omitempty"`  // by which cells have expired, milliseconds
}

// ExportedRecord is a region whose rows are in the directory of an export.
type ExportedRecord struct {
	Region int                     `json:"region"` // from 0
	Wrote  manifest.ExportedRegion `json:"wrote"`
}

// ClusterRecord is a cluster that has the files of a job for several clusters.
type ClusterRecord struct {
	Conf   string         `json:"conf"` // directory of its configuration; empty: the command's own
	Result result.Cluster `json:"result"`
}

// RekeyRecord has the source of a job that gives the rows of a table new keys, and the time by which cells expire.
type RekeyRecord struct {
	From       string       `json:"from"`                  // the table; empty: that of the snapshot
	Snapshot   string       `json:"snapshot"`              // its name
	Own        bool         `json:"own"`                   // taken for the job, and deleted at its end
	Created    int64        `json:"created"`               // the time that an own one is given, in milliseconds
	Makes      bool         `json:"makes_table,omitempty"` // the table was not there, and an attempt may have made it
	Now        int64        `json:"now"`                   // by which cells have expired, likewise
	Since      int64        `json:"since,omitempty"`
	Choice     choice.Asked `json:"choice,omitzero"`    // of the table's cells
	Versions   int          `json:"versions,omitempty"` // of a column, the newest; 0: all
	Key        string       `json:"key"`
	OldKey     string       `json:"old_key,omitempty"` // by which the old keys are taken apart
	Duplicates string       `json:"duplicates"`
	BadRecords string       `json:"bad_records,omitempty"`
	Shares     string       `json:"shares,omitempty"` // checksum of the plan by which other processes build the files; empty: this job builds them
}

// InputRecord is an input file as it was.
type InputRecord struct {
	Input string    `json:"input"`
	Size  int64     `json:"size"`
	Time  time.Time `json:"mtime"`

	Place  string    `json:"place,omitempty"`   // where it is, however the input was given
	Format string    `json:"format,omitempty"`  // that was found
	FileID uint64    `json:"file_id,omitempty"` // inode, or that of HDFS
	Change time.Time `json:"ctime,omitzero"`    // of local files

	CRC32C *spool.Sum `json:"crc32c,omitempty"` // checksum of a stream, whose only other known property is its size; nil: the input is a file
}

// AsStream returns the record of the stream that the file is a copy of.
func (r InputRecord) AsStream(d spool.Digest) InputRecord {
	return InputRecord{Input: r.Input, Size: d.Bytes, Place: r.Place, Format: r.Format, CRC32C: &d.CRC32C}
}

// InputRecordOf returns a file as it is.
func InputRecordOf(f source.FileInfo) InputRecord {
	return InputRecord{Input: f.Path, Size: f.Size, Time: f.ModTime.UTC(), FileID: f.FileID, Change: f.ChangeTime.UTC()}
}

// Differs describes the first difference, from old to new. Fields that an older version did not record are not compared.
func (r InputRecord) Differs(now InputRecord) string {
	switch {
	case (r.CRC32C == nil) != (now.CRC32C == nil):
		kind := map[bool]string{true: "a file", false: "a stream"}
		return fmt.Sprintf("%s was %s, it is %s", r.Input, kind[r.CRC32C == nil], kind[now.CRC32C == nil])
	case r.CRC32C != nil:
		if was, is := (spool.Digest{Bytes: r.Size, CRC32C: *r.CRC32C}), (spool.Digest{Bytes: now.Size, CRC32C: *now.CRC32C}); was != is {
			return fmt.Sprintf("%s had %s, it has %s", r.Input, was, is)
		}
	case r.Size != now.Size || !r.Time.Equal(now.Time):
		return fmt.Sprintf("%s had %s of %s, it has %d of %s", r.Input, setting.Count(r.Size, "byte"), r.Time.Format(time.RFC3339Nano), now.Size, now.Time.Format(time.RFC3339Nano))
	case r.FileID != 0 && now.FileID != r.FileID:
		return fmt.Sprintf("%s is another file of the same size and time (inode %d, now %d)", r.Input, r.FileID, now.FileID)
	case !r.Change.IsZero() && !now.Change.Equal(r.Change):
		return fmt.Sprintf("%s has the same modification time, but content or attributes changed (ctime) at %s, before at %s",
			r.Input, now.Change.Format(time.RFC3339Nano), r.Change.Format(time.RFC3339Nano))
	}
	return ""
}

// AttemptRecord is a process that worked on the job.
type AttemptRecord struct {
	Attempt int    `json:"attempt"`
	PID     int    `json:"pid"`
	Host    string `json:"host"`
	Version string `json:"version,omitempty"`
}

// BuiltRecord is a finished build, without its files.
type BuiltRecord struct {
	Manifest *manifest.Manifest   `json:"manifest"`
	Tables   []*manifest.Manifest `json:"tables,omitempty"` // of further tables
}

// TurnRecord names the table of a job that is loaded from then on.
type TurnRecord struct {
	Number int    `json:"number"` // in the order of loading, from 0
	Table  string `json:"table"`
}

// SnapshotRecord is a snapshot that is about to be taken, or was. An empty
// name says that the one of that name is another's.
type SnapshotRecord struct {
	Snapshot string `json:"snapshot"`
	Created  int64  `json:"created,omitempty"` // the time that it is given, by which it is known from another of its name

	At time.Time `json:"-"` // of the record
}

// ReplacedRecord counts the rows that a load deletes from its table, and has its files of markers.
type ReplacedRecord struct {
	Replace *result.Replace `json:"replace"`
	Files   []loader.HFile  `json:"files"`
}

// FilesRecord is an event about files of a region.
type FilesRecord struct {
	Region  string         `json:"region,omitempty"` // encoded name
	Server  string         `json:"server,omitempty"`
	Attempt int            `json:"attempt,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	Files   []loader.HFile `json:"files"`
}

// SendingRecord is all that a round is about to send.
type SendingRecord struct {
	Groups []FilesRecord `json:"groups"`
}

// FencingRecord is a file about to get another name (to), or one that has it
// already and had another before (from).
type FencingRecord struct {
	File loader.HFile `json:"file"`
	To   string       `json:"to,omitempty"`
	From string       `json:"from,omitempty"` // version 0.1 wrote it under to
}

// RewrittenRecord is files that others stand for.
type RewrittenRecord struct {
	Parents  []loader.HFile `json:"parents"`
	Children []loader.HFile `json:"children"`
}

// SubmissionRecord is a job on YARN.
type SubmissionRecord struct {
	Tag         string `json:"tag"` // of the application
	Dir         string `json:"dir"` // of the job, a URI in the staging directory
	Application string `json:"application,omitempty"`
	Maps        int    `json:"maps"`
	Reduces     int    `json:"reduces"`
	// Weights are the estimated bytes of each region, by which regions were assigned to reduces.
	Weights []int64 `json:"weights,omitempty"`
}

// EndedRecord is how a job on YARN ended that left nothing.
type EndedRecord struct {
	Tag string `json:"tag"`
	How string `json:"how"`
}

// DoneRecord is a job that is done.
type DoneRecord struct {
	Result  *result.Result `json:"result"`
	Staging string         `json:"staging_directory,omitempty"`
}

// How the staging directory is handled at the end.
const (
	StagingKept    = "kept"
	StagingRemoved = "removed"
)

// TokenRecord is HBase's staging directory for the load.
type TokenRecord struct {
	Token string `json:"token"`
}

// FailedRecord is why an attempt ended.
type FailedRecord struct {
	Error   string `json:"error"`
	Kind    string `json:"kind,omitempty"`    // of the failure: see [fail.Kind]
	Phase   string `json:"phase,omitempty"`   // in which it ended, where the records before do not say
	Stopped bool   `json:"stopped,omitempty"` // by a signal
}
