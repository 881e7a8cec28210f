package loader

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/setting"
)

// HFile is a finished file to be loaded.
type HFile struct {
	// Family is the column family of all its cells. The server would accept cells of another family too.
	Family string `json:"family"`
	// Path is the path with which the region server opens the file: a full URI, or a path on the server's default file system.
	Path string `json:"path"`
	// First and Last are its first and last row.
	First rowkey.Key `json:"first_row"`
	Last  rowkey.Key `json:"last_row"`
	// Size in bytes and Cells are for checks and the report. 0: not known.
	Size  int64 `json:"bytes"`
	Cells int64 `json:"cells"`
	// FileID is the file's identity on HDFS, which a rename keeps. 0: not known; Load looks it up before it sends the file.
	FileID uint64 `json:"file_id,omitempty"`
	// Vacant says that the table had no cell of the request's Timestamp in the first and last row before the file was sent. Load sets it if
	// the request is Shared; the caller passes it back when it resumes a load.
	Vacant bool `json:"vacant,omitempty"`
	// CRC32C is the checksum of the whole file, for comparisons. 0: unknown. Load does not use it.
	CRC32C uint32 `json:"crc32c,omitempty"`
}

// FS is the file system of the files, with the operations that a load needs; hdfsio.HDFS implements it. Names are paths without scheme and
// authority. Its methods are called by several goroutines. A name that does not exist matches [fs.ErrNotExist].
type FS interface {
	// Stat describes a file or a directory.
	Stat(ctx context.Context, name string) (fs.FileInfo, error)
	// Rename moves a file atomically: by that a load proves that the server has not taken it.
	Rename(ctx context.Context, from, to string) error
	// ReadDir lists a directory.
	ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error)
}

// Stage is the load mode: how files get into the store.
type Stage int

// The modes. In the secure mode, by a token, HBase takes a file with the caller's permissions, and hides the reason of a failure; in the
// direct mode it uses its own, and reports the reason. Tables that keep their store files by the tracker FILE can only be loaded directly.
const (
	StageAuto   Stage = iota // StageDirect where a family's tracker is not DEFAULT, else StageToken
	StageToken               // through a directory of HBase's, made by PrepareBulkLoad
	StageDirect              // from where the files are; HBase's user must be able to write them and their directory
)

// ParseStage reads auto, secure or direct; an empty name is auto.
func ParseStage(s string) (Stage, error) {
	switch s {
	case "", "auto":
		return StageAuto, nil
	case "secure":
		return StageToken, nil
	case "direct":
		return StageDirect, nil
	}
	return 0, fmt.Errorf("%q is invalid: want secure, direct or auto", s)
}

func (s Stage) String() string {
	return setting.Word("Stage", s, "auto", "secure", "direct")
}

// Rewriter makes new files from files that do not fit the table's regions. The new files are finished, are on the same file system, and
// together have the cells of the old ones.
type Rewriter interface {
	// Cut makes files of the rows before the first of the given rows, between each two, and from the last on; a part without rows makes no
	// file. The original file stays.
	Cut(ctx context.Context, f HFile, at [][]byte) ([]HFile, error)
	// Merge makes one file of several of one region and family. The originals stay.
	Merge(ctx context.Context, files []HFile) (HFile, error)
}

// Gate delays calls.
type Gate interface {
	// Wait returns when the next call may be made, or with the cause of the context's end. Several goroutines call it.
	Wait(ctx context.Context) error
}

// LoadRequest describes the load of files into a table.
type LoadRequest struct {
	Table TableName
	Files []HFile
	// FS is the file system of the files, as the user that owns them. Required.
	FS FS
	// PerServer is the number of concurrent loads per region server: they take handlers away from readers. Default 2, and up to 8 as long
	// as each is answered within half a second.
	PerServer int
	// Calls is the number of concurrent loads on all region servers together. Default: limited by PerServer only.
	Calls int
	// Repeatable says that loading a file twice does no harm: after a lost answer there is no wait for a file that is found nowhere, which may be a
	// file that others removed.
	Repeatable bool

	// Unreplicated excludes the load from replication. Default: peers get it, if their cluster replicates bulk loads.
	Unreplicated bool
	// Gate is waited for before each call, possibly for hours. Default: none.
	Gate Gate
	// MaxFiles is the limit of files per family of a region; more would make reads slow until they are compacted. Default 32, as in HBase.
	MaxFiles int
	// Stage is the load mode. Default: as the table needs it.
	Stage Stage
	// Token is the staging directory of an earlier attempt at this load. It is used again if it still exists.
	Token string
	// Timestamp is the timestamp of every cell of the files. With it the table can be searched for the cells of a file that is found
	// nowhere else. 0: the cells have no common timestamp, or it is not known; the outcome of such a file stays unknown.
	Timestamp int64
	// Shared says that others may write cells with the Timestamp. The table is then also searched before files are sent.
	Shared bool
	// Unknown lists the Files that an earlier attempt sent without getting an answer. Their outcome is resolved first.
	Unknown []HFile
	// Rewriter cuts files that span several regions, and merges those of a region that exceed MaxFiles. Default: such files are errors.
	Rewriter Rewriter
	// Deadline is how long the load continues while no region gets loaded, as long as the answers prove that the server did nothing.
	// Default 30 min.
	Deadline time.Duration
	Events   Events
}

func (r LoadRequest) withDefaults() LoadRequest {
	r.MaxFiles = cmp.Or(r.MaxFiles, 32)
	r.Deadline = cmp.Or(r.Deadline, 30*time.Minute)
	return r
}

// Sending is a group of files of one region that are about to be sent.
type Sending struct {
	Region  Region
	Files   []HFile
	Attempt int // from 1
}

// Events are the handlers of a load's events. They are called one at a time, before the act for OnPrepared, OnSending and OnFencing and
// after it for the others, and must not block for long. An error stops the load: the announced act is not done, and nothing more is sent. A
// nil function is not called.
type Events struct {
	// OnPrepared gets the token, the path of the new staging directory.
	OnPrepared func(token string) error
	// OnCut says that a file was cut, and that its children replace it; OnMerged says the same of several files and one.
	OnCut    func(parent HFile, children []HFile) error
	OnMerged func(parents []HFile, child HFile) error
	// OnSending is called before the first sending of a round, with all groups that the round will send.
	OnSending func(groups []Sending) error
	// OnLoaded says that the files are in the region.
	OnLoaded func(r Region, files []HFile) error
	// OnReturned says that the server did nothing, or was not called, and that all files are at their sources. They are sent again, unless the load fails.
	OnReturned func(r Region, files []HFile, reason error) error
	// OnFencing is called before a file is renamed so that a request in progress will not find it, OnFenced after the rename, when the
	// file, which was at another path, is known not to be loaded.
	OnFencing func(f HFile, to string) error
	OnFenced  func(was string, f HFile) error
	// OnResolved reports the outcome of a file whose request had no answer: PlaceStore or PlaceSource.
	OnResolved func(f HFile, place Place) error
	// OnRefused says that the files of a region were not loaded.
	OnRefused func(err *RefusedError) error
	// OnUnknown says that the answer was lost. The outcome of the files is resolved next.
	OnUnknown func(err *UnknownOutcomeError) error
	// OnCleaning is called before the staging directory is deleted. An error keeps it: another process may have taken over the load, and use it.
	OnCleaning func(ctx context.Context) error
	// OnCleaned says that the staging directory was deleted.
	OnCleaned func(token string) error
}

// LoadReport summarizes a load. Load returns it with an error, too.
type LoadReport struct {
	Token   string
	Regions []RegionLoad // in the order of the table
	// Loaded counts the files that are in the table, their bytes and cells.
	Loaded, Bytes, Cells int64
	// Resolved counts those of them that an earlier attempt had loaded without an answer.
	Resolved int64
	// Cleaned says that the staging directory was deleted. It is kept when a file may still be in it.
	Cleaned bool
	Took    time.Duration
}

// RegionLoad is the load of one region.
type RegionLoad struct {
	Region   Region
	Files    []HFile
	Attempts int
	// Place is the place of all its files: PlaceSource if it was not sent or the server did nothing, PlaceStore if it was loaded, else
	// PlaceUnknown.
	Place Place
}

// Validate checks the request as far as is possible without a cluster.
func (r LoadRequest) Validate() error {
	if r.FS == nil {
		return errors.New("load: no file system")
	}
	switch {
	case r.Table.Qualifier == "":
		return errors.New("load: no table")
	case r.Stage > StageDirect || r.Stage < StageAuto:
		return fmt.Errorf("load into table %s: there is no load mode %d", r.Table, int(r.Stage))
	case r.Calls < 0 || r.PerServer < 0 || r.MaxFiles < 0:
		return fmt.Errorf("load into table %s: one of Calls %d, PerServer %d and MaxFiles %d is below 0", r.Table, r.Calls, r.PerServer, r.MaxFiles)
	case r.Timestamp < 0:
		return fmt.Errorf("load into table %s: the timestamp %d is below 0", r.Table, r.Timestamp)
	}
	names := map[string]string{}
	for _, f := range r.Files {
		switch {
		case f.Family == "" || f.Path == "":
			return fmt.Errorf("load %q: family %q and path must not be empty", f.Path, f.Family)
		case bytes.Compare(f.First, f.Last) > 0:
			return fmt.Errorf("load %s: its first row comes after its last row", f.Path)
		case len(f.First) == 0:
			return fmt.Errorf("load %s: its first row is empty", f.Path)
		case !path.IsAbs(fsPath(f.Path)):
			return fmt.Errorf("load %s: the path is not absolute", f.Path)
		}
		// All files of a family are moved into one staging directory.
		key := f.Family + "/" + path.Base(f.Path)
		if other, ok := names[key]; ok {
			return fmt.Errorf("load %s: %s has the same family and base name", f.Path, other)
		}
		names[key] = f.Path
	}
	for _, f := range r.Unknown {
		if names[f.Family+"/"+path.Base(f.Path)] != f.Path {
			return fmt.Errorf("load %s: its outcome is unknown, but it is not among the files", f.Path)
		}
	}
	return nil
}

// fsPath removes scheme and authority from a URI.
func fsPath(uri string) string {
	if _, rest, ok := strings.Cut(uri, "://"); ok {
		if at := strings.IndexByte(rest, '/'); at >= 0 {
			return rest[at:]
		}
		return "/"
	}
	return uri
}
