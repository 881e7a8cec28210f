package export

import (
	"bytes"
	"context"
	"encoding/json"
	"path"
	"time"

	"bulkload/internal/model/choice"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/exportdir"
	"bulkload/pkg/hdfsio"
)

// A Manifest describes the files of an export. It is the last file of its directory.
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
	// value of each cell (their lengths in 4 bytes); of versions of rows the timestamp follows the key (8 bytes). The order of rows does not change it.
	Digest   manifest.Digest         `json:"digest"`
	Bytes    int64                   `json:"bytes"`                    // of all files
	NoCells  int64                   `json:"no_cells,omitempty"`       // rows left out because they have none of the columns
	LeftOver int64                   `json:"cells_left_out,omitempty"` // cells that no column has, of the families that were read
	Files    []manifest.ExportedFile `json:"files"`                    // in the order of their rows
}

// Summary returns the manifest without the list of files.
func (m *Manifest) Summary() *Manifest {
	s := *m
	s.Files = nil
	return &s
}

// save writes the manifest below the directory of files that are being written, and renames it.
func (m *Manifest) save(ctx context.Context, d *exportdir.Dir) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	writing := path.Join(d.Path, exportdir.Writing, exportdir.ManifestName)
	if err := hdfsio.WriteFile(ctx, d.FS, writing, bytes.NewReader(append(b, '\n')), hdfsio.CreateOptions{}); err != nil {
		return err
	}
	return d.FS.Rename(ctx, writing, path.Join(d.Path, exportdir.ManifestName))
}

// ReadManifest reads that of a directory; fs.ErrNotExist says that it has no complete export.
func ReadManifest(ctx context.Context, fsys hdfsio.FS, dir string) (*Manifest, error) {
	f, err := fsys.Open(ctx, path.Join(dir, exportdir.ManifestName))
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
