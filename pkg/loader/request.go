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
)

// HFile is a finished file to be loaded.
type HFile struct {
	// Family is the column family of all its cells. The server would take cells of another.
	Family string `json:"family"`
	// Path is the file as the region server is to open it: a full URI, or a path on the server's default file system.
	Path string `json:"path"`
	// First and Last are its first and last row.
	First rowkey.Key `json:"first_row"`
	Last  rowkey.Key `json:"last_row"`
	// Size in bytes and Cells are for checks and the report. 0: not known.
	Size  int64 `json:"bytes"`
	Cells int64 `json:"cells"`
	// FileID is the file's identity on HDFS, which a rename keeps. 0: not known; Load looks it up before it sends the file.
	FileID uint64 `json:"file_id,omitempty"`
	// Vacant says that the table had no cell of the request's Timestamp in the first and last row before the file was sent.
	// Load sets it where the request is Shared; the caller hands it back when it resumes a load.
	Vacant bool `json:"vacant,omitempty"`
	// CRC32C is the checksum of the whole file, for comparisons. 0: unknown. Load does not use it.
	CRC32C uint32 `json:"crc32c,omitempty"`
}

// FS is the file system of the files, with the operations that a load needs; hdfsio.HDFS implements it. Names are paths without scheme and
// authority. Its methods are called by several goroutines. A name that does not exist matches [fs.ErrNotExist].
type FS interface {
	// Stat describes a file or a directory.
	Stat(ctx context.Context, name string) (fs.FileInfo, error)
	// Rename moves a file at once or not at all: by that a load proves that no server has it.
	Rename(ctx context.Context, from, to string) error
	// ReadDir lists a directory.
	ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error)
}

// Stage is the load mode: how files come into the store.
type Stage int

// The modes. In the secure mode, by a token, HBase has the caller's rights when it takes a file, and hides why it did not; directly it has its
// own, and says why. Tables that keep their store files by the tracker FILE can only be loaded directly.
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

func (s Stage) String() string { return [...]string{"auto", "secure", "direct"}[s] }

// Rewriter makes new files of files that the table's regions do not fit. The new ones are finished, are on the same file
// system, and have together the cells of the old ones.
type Rewriter interface {
	// Cut makes files of the rows before the first of the given rows, between each two, and from the last on; a part
	// without rows gives none. The file stays.
	Cut(ctx context.Context, f HFile, at [][]byte) ([]HFile, error)
	// Merge makes one file of several of one region and family. They stay.
	Merge(ctx context.Context, files []HFile) (HFile, error)
}

// Gate holds calls up.
type Gate interface {
	// Wait returns when the next call may be made, or with the cause of the context's end. It is called by several goroutines.
	Wait(ctx context.Context) error
}

// LoadRequest is files for a table.
type LoadRequest struct {
	Table TableName
	Files []HFile
	// FS is the file system of the files, as the user that owns them. Required.
	FS FS
	// PerServer is how many loads one region server has at a time: they take handlers away from readers. Default 2, and up to 8
	// as long as each is answered within half a second.
	PerServer int
	// Calls is how many loads all region servers together have at a time. Default: as many as each may have.
	Calls int
	// Unreplicated has peers of replication leave the load out. Default: they get it, if their cluster replicates bulk loads.
	Unreplicated bool
	// Gate is asked before each call, which it may hold up for hours. Default: none.
	Gate Gate
	// MaxFiles is how many files one family of one region may get; more would make reads slow until they are compacted.
	// Default 32, HBase's.
	MaxFiles int
	// Stage is the way in. Default: as the table needs it.
	Stage Stage
	// Token is the staging directory of an earlier attempt at this load. It is used again if it is still there.
	Token string
	// Timestamp is the timestamp of every cell of the files. With it the table can be asked whether a file was loaded when it is found
	// nowhere else. 0: they have no common one, or it is not known; such a file stays unknown.
	Timestamp int64
	// Shared says that others may write cells of the Timestamp. The table is asked then before files are sent, too.
	Shared bool
	// Unknown lists the Files that an earlier attempt sent without getting an answer. Their outcome is resolved first.
	Unknown []HFile
	// Rewriter cuts files that are in several regions, and merges those of a region that are more than MaxFiles. Default:
	// such files are errors.
	Rewriter Rewriter
	// Deadline is how long the load continues without any region's becoming loaded, as long as the answers prove that nothing
	// was done. Default 30 min.
	Deadline time.Duration
	Events   Events
}

func (r LoadRequest) withDefaults() LoadRequest {
	r.MaxFiles = cmp.Or(r.MaxFiles, 32)
	r.Deadline = cmp.Or(r.Deadline, 30*time.Minute)
	return r
}

// Sending is the files of a region that are about to be sent.
type Sending struct {
	Region  Region
	Files   []HFile
	Attempt int // from 1
}

// Events are called with what a load does. They are called one at a time, before the act for OnPrepared, OnSending and OnFencing
// and after it for the others, and must not block for long. An error stops the load: what it announces is not done, and
// nothing more is sent. A nil function is not called.
type Events struct {
	// OnPrepared has the token, the path of the new staging directory.
	OnPrepared func(token string) error
	// OnCut says that a file was cut, and that its children stand for it from now on; OnMerged the same of many files and one.
	OnCut    func(parent HFile, children []HFile) error
	OnMerged func(parents []HFile, child HFile) error
	// OnSending comes before the first sending of a round, with all that the round will send.
	OnSending func(groups []Sending) error
	// OnLoaded says that the files are in the region.
	OnLoaded func(r Region, files []HFile) error
	// OnReturned says that nothing was done, all files are at their sources, and they will be sent again.
	OnReturned func(r Region, files []HFile, reason error) error
	// OnFencing comes before a file is renamed so that a request under way will not find it, OnFenced when that was done and
	// the file, which was at another path, is known not to be loaded.
	OnFencing func(f HFile, to string) error
	OnFenced  func(was string, f HFile) error
	// OnResolved reports the outcome of a file whose request had no answer: PlaceStore or PlaceSource.
	OnResolved func(f HFile, place Place) error
	// OnRefused says that the files of a region were not loaded.
	OnRefused func(err *RefusedError) error
	// OnUnknown says that the answer was lost. The outcome of the files is resolved next.
	OnUnknown func(err *UnknownOutcomeError) error
	// OnCleaned says that the staging directory was deleted.
	OnCleaned func(token string) error
}

// LoadReport summarizes a load. Load returns it with an error, too.
type LoadReport struct {
	Token   string
	Regions []RegionLoad // in the order of the table
	// Loaded counts the files that are in the table, their bytes and cells.
	Loaded, Bytes, Cells int64
	// Resolved counts those of them that an earlier attempt had loaded without hearing of it.
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
	// Place is where all its files are: PlaceSource when it was not sent or nothing was done, PlaceStore when it was loaded,
	// else PlaceUnknown.
	Place Place
	Took  time.Duration // of the last attempt
}

// Validate checks what can be known without a cluster.
func (r LoadRequest) Validate() error {
	if r.FS == nil {
		return errors.New("load: no file system")
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
		// All files of a family meet in one staging directory.
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

// fsPath takes scheme and authority off a URI.
func fsPath(uri string) string {
	if _, rest, ok := strings.Cut(uri, "://"); ok {
		if at := strings.IndexByte(rest, '/'); at >= 0 {
			return rest[at:]
		}
		return "/"
	}
	return uri
}
