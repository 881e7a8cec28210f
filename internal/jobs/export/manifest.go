package export

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"time"

	"bulkload/internal/model/choice"
	"bulkload/internal/model/manifest"
	"bulkload/pkg/hdfsio"
)

// ManifestName is the manifest's name in the directory. Hadoop, Hive, Spark and
// bulkload pass over names that begin with an underscore.
const ManifestName = "_manifest.json"

// A Manifest says what an export wrote. It is the last file of its directory.
type Manifest struct {
	Schema   int            `json:"schema"` // version of this form: 1
	Table    string         `json:"table"`
	Snapshot string         `json:"snapshot"`          // empty: region servers were read from, and there is no single moment
	Created  time.Time      `json:"snapshot_created"`  // by the master's clock; without a snapshot, when reading began
	Now      time.Time      `json:"expired_before"`    // the time by which lifetimes of cells were judged; without a snapshot the servers judged them
	Format   Format         `json:"format"`            // of the files
	Columns  []string       `json:"columns,omitempty"` // of the records; none: every cell of a row
	Choice   choice.Asked   `json:"choice,omitzero"`   // of the table's cells; none: all
	ReadAs   map[string]any `json:"read_as"`           // fields of a job file that reads the files back
	// Digest is of the rows as the table has them, so that exports of the same
	// columns in other formats have the same: a sum over rows of the XXH64 of the key
	// (its length in 2 bytes, little-endian, before it) and of the family, qualifier and
	// value of each cell (their lengths in 4 bytes). The order of rows does not change it.
	Digest   manifest.Digest `json:"digest"`
	Bytes    int64           `json:"bytes"`                    // of all files
	NoCells  int64           `json:"no_cells,omitempty"`       // rows left out because they have none of the columns
	LeftOver int64           `json:"cells_left_out,omitempty"` // cells that no column has, of the families that were read
	Files    []File          `json:"files"`                    // in the order of their rows
}

// File is one file of an export.
type File struct {
	Name   string          `json:"name"`
	Region string          `json:"region"` // its encoded name in the snapshot; empty without one
	Digest manifest.Digest `json:"digest"`
	Bytes  int64           `json:"bytes"`
	SHA256 string          `json:"sha256"` // of the whole file
}

// Summary is the manifest without the list of files.
func (m *Manifest) Summary() *Manifest {
	s := *m
	s.Files = nil
	return &s
}

// save writes the manifest below the directory of files that are being written, and renames it.
func (m *Manifest) save(ctx context.Context, fsys hdfsio.FS, dir string) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	writing := path.Join(dir, writingDir, ManifestName)
	w, err := fsys.Create(ctx, writing, hdfsio.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	if err == nil {
		err = w.Finish()
	}
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	return fsys.Rename(ctx, writing, path.Join(dir, ManifestName))
}

// ReadManifest reads that of a directory; fs.ErrNotExist says that it has no complete export.
func ReadManifest(ctx context.Context, fsys hdfsio.FS, dir string) (*Manifest, error) {
	f, err := fsys.Open(ctx, path.Join(dir, ManifestName))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m := new(Manifest)
	if err := json.NewDecoder(f).Decode(m); err != nil {
		return nil, err
	}
	return m, nil
}
