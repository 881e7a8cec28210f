package history

import (
	"bulkload/internal/engine/journal"
	"fmt"
	"maps"
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

// PlanRecord is the plan of a job, made when it began.
type PlanRecord struct {
	Job        string         `json:"job"`
	Table      string         `json:"table"`
	Conf       string         `json:"conf,omitempty"`     // configuration directory of the table's cluster; empty: the command's
	Family     spec.Family    `json:"family"`             // of the first table's cells
	Families   []spec.Family  `json:"families,omitempty"` // all families, if the job has a mapping
	Mapping    *spec.Mapping  `json:"mapping,omitempty"`
	MapFamily  string         `json:"mapping_family,omitempty"` // of cells without a family
	Key        string         `json:"key"`
	Modulus    int            `json:"modulus"`
	Columns    []string       `json:"columns"`
	Empty      string         `json:"empty"`
	Duplicates string         `json:"duplicates"`
	Format     string         `json:"format,omitempty"`  // as configured; the detected formats are in Inputs
	Reading    *readingRecord `json:"reading,omitempty"` // nil in journals of earlier versions
	Timestamp  int64          `json:"timestamp"`
	Given      bool           `json:"timestamp_given,omitempty"` // other jobs may use the timestamp too
	Splits     []rowkey.Key   `json:"splits"`
	Staging    string         `json:"staging"`
	Inputs     []InputRecord  `json:"inputs"`
	Made       *TableRecord   `json:"table_made,omitempty"` // identifies the table
	Replicate  string         `json:"replicate,omitempty"`  // no: the load is not replicated to peers; empty in older journals of loads of directories

	Filter string       `json:"filter,omitempty"` // of a further table with its own filter: that and the job's, combined
	Index  string       `json:"index,omitempty"`  // name of the index that a further table is
	Tables []PlanRecord `json:"tables,omitempty"` // further tables; fields that they share with the first are empty
}

// ComparingRecord describes the two tables that a comparison reads.
type ComparingRecord struct {
	Table string       `json:"table"` // information for people
	A     string       `json:"a"`     // kind of the side and its contents: a snapshot's checksum, or a digest
	B     string       `json:"b"`
	Now   int64        `json:"now"`  // time for deciding which cells have expired, milliseconds
	Cuts  []rowkey.Key `json:"cuts"` // the first rows of the ranges, without the first range
}

// ComparedRecord is the result for a range that was compared.
type ComparedRecord struct {
	Range int                  `json:"range"` // from 0
	Found result.ComparedRange `json:"found"`
}

// ExportingRecord describes the input and output of an export.
type ExportingRecord struct {
	Table string `json:"table"`          // information for people
	Dir   string `json:"directory"`      // a path or URI
	Token string `json:"token"`          // stored in the directory; empty: the output was removed
	Asked string `json:"asked"`          // checksum of the requested output and its settings
	Read  string `json:"read,omitempty"` // the snapshot's checksum; empty: not open yet, or the table is scanned
	Now   int64  `json:"now,omitempty"`  // time for deciding which cells have expired, milliseconds
}

// ExportedRecord is a region whose rows have been written to the directory of an export.
type ExportedRecord struct {
	Region int                     `json:"region"` // from 0
	Wrote  manifest.ExportedRegion `json:"wrote"`
}

// ClusterRecord is a cluster that has received the files of a job for several clusters.
type ClusterRecord struct {
	Conf   string         `json:"conf"` // configuration directory; empty: the command's own
	Result result.Cluster `json:"result"`
}

// RekeyRecord describes the input of a job that gives the rows of a table new keys,
// and the time that decides which cells have expired.
type RekeyRecord struct {
	From       string       `json:"from"`                  // the table; empty: the snapshot's table
	Snapshot   string       `json:"snapshot"`              // name of the snapshot
	Own        bool         `json:"own"`                   // the snapshot is taken for the job, and deleted at its end
	Created    int64        `json:"created"`               // creation time of an own snapshot, in milliseconds
	Makes      bool         `json:"makes_table,omitempty"` // the target table did not exist, and an attempt may have created it
	Now        int64        `json:"now"`                   // time for deciding which cells have expired, in milliseconds
	Since      int64        `json:"since,omitempty"`
	Choice     choice.Asked `json:"choice,omitzero"`    // selected cells of the table
	Versions   int          `json:"versions,omitempty"` // newest versions per column; 0: all
	Key        string       `json:"key"`
	OldKey     string       `json:"old_key,omitempty"` // key spec by which the old keys are parsed
	Duplicates string       `json:"duplicates"`
	BadRecords string       `json:"bad_records,omitempty"`
	Shares     string       `json:"shares,omitempty"` // checksum of the plan with which other processes build the files; empty: this job builds them
}

// InputRecord describes an input file at the time of the plan.
type InputRecord struct {
	Input string    `json:"input"`
	Size  int64     `json:"size"`
	Time  time.Time `json:"mtime"`

	Place  string    `json:"place,omitempty"`   // canonical place, however the input was given
	Format string    `json:"format,omitempty"`  // detected format
	FileID uint64    `json:"file_id,omitempty"` // inode, or HDFS file id
	Change time.Time `json:"ctime,omitzero"`    // of local files

	CRC32C *spool.Sum `json:"crc32c,omitempty"` // checksum of a stream, whose only other known property is its size; nil: the input is a file
}

// AsStream returns the record of the stream that the file is a copy of.
func (r InputRecord) AsStream(d spool.Digest) InputRecord {
	return InputRecord{Input: r.Input, Size: d.Bytes, Place: r.Place, Format: r.Format, CRC32C: &d.CRC32C}
}

// InputRecordOf returns the record of a file in its current state.
func InputRecordOf(f source.FileInfo) InputRecord {
	return InputRecord{Input: f.Path, Size: f.Size, Time: f.ModTime.UTC(), FileID: f.FileID, Change: f.ChangeTime.UTC()}
}

// Differs describes the difference from now, from old to new; empty: none. Fields that an older version did not record are not compared.
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

// AttemptRecord is a process that begins to work on the job.
type AttemptRecord struct {
	Attempt int    `json:"attempt"`
	PID     int    `json:"pid"`
	Host    string `json:"host"`
	Start   int64  `json:"start,omitempty"` // of the process, as in journal.Owner
	Version string `json:"version,omitempty"`
}

// BuiltRecord is a finished build, without its list of files.
type BuiltRecord struct {
	Manifest *manifest.Manifest   `json:"manifest"`
	Tables   []*manifest.Manifest `json:"tables,omitempty"` // of further tables
}

// TurnRecord is the table of a job that later records are about.
type TurnRecord struct {
	Number int    `json:"number"` // in loading order, from 0
	Table  string `json:"table"`
}

// SnapshotRecord is a snapshot that is about to be taken, or was taken. An empty
// name means that the snapshot of that name is not the job's.
type SnapshotRecord struct {
	Snapshot string `json:"snapshot"`
	Created  int64  `json:"created,omitempty"` // assigned creation time, which distinguishes it from another snapshot of its name

	At time.Time `json:"-"` // time of the record
}

// ReplacedRecord describes what a load deletes from its table, and the files with the delete markers.
type ReplacedRecord struct {
	Replace *result.Replace `json:"replace"`
	Files   []loader.HFile  `json:"files"`
}

// FilesRecord is an event about files of a region.
type FilesRecord struct {
	Region  string         `json:"region,omitempty"` // encoded region name
	Server  string         `json:"server,omitempty"`
	Attempt int            `json:"attempt,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	Files   []loader.HFile `json:"files"`
}

// SendingRecord lists all files that a round is about to send.
type SendingRecord struct {
	Groups []FilesRecord `json:"groups"`
}

// FencingRecord is a file that is about to be renamed (to), or that was renamed and
// had another name before (from).
type FencingRecord struct {
	File loader.HFile `json:"file"`
	To   string       `json:"to,omitempty"`
	From string       `json:"from,omitempty"` // version 0.1 wrote it as to
}

// RewrittenRecord describes files that were replaced by others.
type RewrittenRecord struct {
	Parents  []loader.HFile `json:"parents"`
	Children []loader.HFile `json:"children"`
}

// EndedRecord describes the end of a YARN job without output.
type EndedRecord struct {
	Tag string `json:"tag"`
	How string `json:"how"`
}

// DoneRecord is the record of a finished job.
type DoneRecord struct {
	Result  *result.Result `json:"result"`
	Staging string         `json:"staging_directory,omitempty"`
	Next    bool           `json:"removed_next,omitempty"` // the staging directory is removed after this record, which [EventCleaned] records
}

// Whether the staging directory of a finished job is kept.
const (
	StagingKept     = "kept"
	StagingRemoved  = "removed"  // there is none, or it is removed next: earlier versions do not record which, nor the removal
	StagingRemoving = "removing" // in the history only: it is removed next
	StagingGone     = "gone"     // in the history only: its removal is recorded
)

// TokenRecord is HBase's staging directory for the load.
type TokenRecord struct {
	Token string `json:"token"`
}

// FailedRecord describes why an attempt ended.
type FailedRecord struct {
	Error   string `json:"error"`
	Kind    string `json:"kind,omitempty"`    // kind of the failure: see [fail.Kind]
	Phase   string `json:"phase,omitempty"`   // phase where it ended, if the records before do not show it
	Stopped bool   `json:"stopped,omitempty"` // stopped by a signal
}

// DiscardedRecord is the record of a job that starts over, with the things that still belong to it. They are in one record, so that no kill separates them.
type DiscardedRecord struct {
	Prepared map[string]string `json:"prepared,omitempty"` // staging directories of HBase that could not be removed, and their tables
	Staging  []string          `json:"staging,omitempty"`  // the job's staging directories whose NameNode did not answer
	Snapshot *SnapshotRecord   `json:"snapshot,omitempty"` // of the table from before the load; nil: none
	Fresh    *FreshRecord      `json:"fresh,omitempty"`    // the table that the job has made; nil: none
}

func (h *History) startOver(r journal.Record, d DiscardedRecord) error {
	maps.Copy(h.Prepared, d.Prepared)
	h.LeftStaging = d.Staging
	if d.Fresh != nil {
		h.fresh(*d.Fresh)
	}
	if d.Snapshot == nil {
		return nil
	}
	return h.snapshot(r, *d.Snapshot)
}

// CheckingRecord is a staging directory that HBase made for a check of a job.
type CheckingRecord struct {
	Table string `json:"table"`
	Token string `json:"token"`
	Gone  bool   `json:"gone,omitempty"`
}

// prepare adds a staging directory of HBase; an empty table removes the directory.
func (h *History) prepare(token, table string) {
	if table == "" {
		delete(h.Prepared, token)
		return
	}
	h.Prepared[token] = table
}

// IsEmpty reports whether the journal shows that the job has done nothing and left nothing.
func (h *History) IsEmpty() bool {
	return h.Plan == nil && h.Rekey == nil && h.Fresh == nil && h.Undo == nil && !h.Finished && !h.AnyLoading() &&
		h.Sorted == nil && h.Built == nil && len(h.Written) == 0 && h.Submission == nil && h.Spill == "" && len(h.Streams) == 0 && len(h.OwnSnapshots) == 0 && len(h.Prepared) == 0 && len(h.Quiet) == 0 &&
		h.Snapshotting.Snapshot == "" && len(h.LeftStaging) == 0 &&
		(h.Exporting == nil || h.Exporting.Token == "") && len(h.Compared) == 0
}

// KeptSnapshot returns the snapshot that a job keeps also when it starts over: the one that was requested for an unfinished job.
func (h *History) KeptSnapshot() SnapshotRecord {
	if h.Finished {
		return SnapshotRecord{}
	}
	return h.Snapshotting
}
