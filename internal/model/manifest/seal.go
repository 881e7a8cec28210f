package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"bulkload/pkg/setting"
)

// errChanged reports that a manifest differs from what the build wrote.
var errChanged = errors.New("it was changed since the build wrote it")

// sealedManifest is a manifest as it is stored next to its files: with a checksum
// of all its other fields.
type sealedManifest struct {
	*Manifest
	Checksum string `json:"checksum"`
}

// Seal returns the encoded manifest, with its checksum.
func Seal(m *Manifest) ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	_, sum, err := sums(b)
	if err != nil {
		return nil, err
	}
	b, err = json.MarshalIndent(sealedManifest{m, sum}, "", "  ")
	return append(b, '\n'), err
}

// sums returns the checksum that a manifest stores, empty if it has none, and the
// checksum of all its other fields, which does not depend on the order of fields or
// on white space.
func sums(b []byte) (stored, computed string, err error) {
	fields := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		return "", "", err
	}
	stored, _ = fields["checksum"].(string)
	delete(fields, "checksum")
	all, err := json.Marshal(fields)
	return stored, fmt.Sprintf("xxh64:%016x", xxhash.Sum64(all)), err
}

// consistent checks that a manifest's totals match its list of files.
func (m *Manifest) consistent() error {
	var d Digest
	var size int64
	var families []string
	for _, f := range m.Files {
		d.Rows += f.Rows
		d.Cells += f.Cells
		size += f.Bytes
		if !slices.Contains(families, f.Family) {
			families = append(families, f.Family)
		}
	}
	if len(families) > 1 {
		d.Rows = m.Digest.Rows // a row may have cells in several files, so their rows do not add up
	}
	if d.Rows != m.Digest.Rows || d.Cells != m.Digest.Cells || size != m.Bytes || len(m.Files) != m.HFiles {
		return fmt.Errorf("%w: it says %s and %s in %s of %s, but its list of files has %d and %d in %d of %d", errChanged,
			setting.Count(m.Digest.Rows, "row"), setting.Count(m.Digest.Cells, "cell"), setting.Count(m.HFiles, "file"), setting.Count(m.Bytes, "byte"), d.Rows, d.Cells, len(m.Files), size)
	}
	return nil
}
