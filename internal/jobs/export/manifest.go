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

// A Manifest describes the output of an export. It is the last file written to its directory.
type Manifest struct {
	Schema   int            `json:"schema"` // version of this format: 1
	Table    string         `json:"table"`
	Snapshot string         `json:"snapshot"`          // empty: the table was scanned, so there is no single point in time
	Created  time.Time      `json:"snapshot_created"`  // by the master's clock; without a snapshot, the start of reading
	Now      time.Time      `json:"expired_before"`    // the time that decides which cells have expired; without a snapshot, the servers decided
	Format   Format         `json:"format"`            // of the files
	Columns  []string       `json:"columns,omitempty"` // columns of the records; none: records have every cell of a row
	Choice   choice.Asked   `json:"choice,omitzero"`   // selected cells of the table; zero: all
	ReadAs   map[string]any `json:"read_as"`           // fields of a job file that can read the files back
	// Digest covers the rows as the table stores them, so exports of the same columns in other formats have the same digest. It is the sum of a hash of
	// each row, in any order. The hash is the XXH64 of these bytes: the key, preceded by its length in 2 bytes, little-endian; for a version of a row, the
	// timestamp in 8 bytes; and the family, qualifier and value of each cell, each preceded by its length in 4 bytes.
	Digest   manifest.Digest         `json:"digest"`
	Bytes    int64                   `json:"bytes"`                    // of all files
	NoCells  int64                   `json:"no_cells,omitempty"`       // rows dropped because they have none of the columns
	LeftOver int64                   `json:"cells_left_out,omitempty"` // cells of the families that were read, but in none of the columns
	Absent   []string                `json:"absent_columns,omitempty"` // columns that no row has, as of a mistyped name: each is NULL or empty everywhere
	Files    []manifest.ExportedFile `json:"files"`                    // in row order
}

// Summary returns the manifest without the list of files.
func (m *Manifest) Summary() *Manifest {
	s := *m
	s.Files = nil
	return &s
}

// save writes the manifest into the directory for unfinished files, and renames it.
func (m *Manifest) save(ctx context.Context, d *exportdir.Dir) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	writing := path.Join(d.Path, exportdir.Writing, exportdir.ManifestName)
	if err := hdfsio.WriteFile(ctx, d.FS, writing, bytes.NewReader(append(b, '\n')), d.NewFile()); err != nil {
		return err
	}
	return d.FS.Rename(ctx, writing, path.Join(d.Path, exportdir.ManifestName))
}

// ReadManifest reads the manifest of a directory; fs.ErrNotExist means that it has no complete export.
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
