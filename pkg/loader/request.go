package loader

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// HFile is a finished file to be loaded.
type HFile struct {
	// Family is the column family of all its cells. The server would take cells of another.
	Family string
	// Path is the file as the region server is to open it: a full URI, or a path on the server's default file system.
	Path string
	// First and Last are its first and last row.
	First, Last []byte
	// Size in bytes and Cells are for checks and the report. 0: not known.
	Size, Cells int64
}

// FS is what a load does on the file system of the files. Names are paths without scheme and authority.
type FS interface {
	Stat(ctx context.Context, name string) (fs.FileInfo, error)
	Rename(ctx context.Context, from, to string) error
	ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error)
}

// LoadRequest is files for a table.
type LoadRequest struct {
	Table TableName
	Files []HFile
	// FS is the file system of the files, as the user that owns them. Required.
	FS FS
	// PerServer is how many loads one region server has at a time: they take handlers away from readers. Default 2.
	PerServer int
	// MaxFiles is how many files one family of one region may get; more would make reads slow until they are compacted.
	// Default 32, HBase's.
	MaxFiles int
	// Attempts is how often the files of a region are sent, when the answers prove that nothing was done. Default 10.
	Attempts int
	Events   Events
}

func (r LoadRequest) withDefaults() LoadRequest {
	r.PerServer = cmp.Or(r.PerServer, 2)
	r.MaxFiles = cmp.Or(r.MaxFiles, 32)
	r.Attempts = cmp.Or(r.Attempts, 10)
	return r
}

// Events are told what a load does. They are called one at a time, before the act for OnPrepared and OnSend and after it
// for the others, and must not block for long. An error stops the load: what it announces is not done, and nothing more is
// sent. A nil function is not called.
type Events struct {
	// OnPrepared has the token, the path of the new staging directory.
	OnPrepared func(token string) error
	// OnSend comes before each sending of a region's files.
	OnSend func(r Region, files []HFile, attempt int) error
	// OnLoaded says that the files are in the region.
	OnLoaded func(r Region, files []HFile) error
	// OnReturned says that nothing was done, all files are at their sources, and they will be sent again.
	OnReturned func(r Region, files []HFile, reason error) error
	// OnRefused says that the files of a region were not loaded.
	OnRefused func(err *RefusedError) error
	// OnUnknown says that the outcome is not known.
	OnUnknown func(err *UnknownOutcomeError) error
	// OnCleaned says that the staging directory was deleted.
	OnCleaned func(token string) error
}

// LoadReport is what a load did. Load gives it with an error, too.
type LoadReport struct {
	Token   string
	Regions []RegionLoad // in the order of the table
	// Loaded counts the files that are in the table, their bytes and cells.
	Loaded, Bytes, Cells int64
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
			return fmt.Errorf("load %s: its first row %q comes after its last row %q", f.Path, f.First, f.Last)
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

// group is the files of one region.
type group struct {
	region   Region
	files    []HFile
	attempts int
}

// assign groups files by the region that holds them, in the order of the regions.
func assign(table TableName, regions []Region, files []HFile, maxFiles int) ([]group, error) {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b HFile) int { return bytes.Compare(a.First, b.First) })
	var groups []group
	for _, f := range files {
		r := regions[find(regions, f.First)]
		if !r.before(f.Last) {
			return nil, &MisfitError{Table: table, File: f, Region: r}
		}
		if n := len(groups); n == 0 || !bytes.Equal(groups[n-1].region.Start, r.Start) {
			groups = append(groups, group{region: r})
		}
		g := &groups[len(groups)-1]
		g.files = append(g.files, f)
	}
	for _, g := range groups {
		count := map[string]int{}
		for _, f := range g.files {
			if count[f.Family]++; count[f.Family] > maxFiles {
				return nil, fmt.Errorf("region %s of table %s would get more than %d files in family %s: merge them, or split the region first",
					g.region, table, maxFiles, f.Family)
			}
		}
	}
	return groups, nil
}
