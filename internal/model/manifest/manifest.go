package manifest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"time"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/spec"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/setting"
)

// Manifest describes the output of a build. It is stored next to the files as _bulkload.json.
type Manifest struct {
	Schema         int             `json:"schema"` // version of this format: 1
	Table          string          `json:"table,omitempty"`
	Tables         []string        `json:"input_tables,omitempty"` // inputs of the build that are tables
	Key            string          `json:"key"`
	Modulus        int             `json:"modulus"`
	SaltBuckets    int             `json:"salt_buckets,omitempty"` // the modulus, if the job states it
	Family         string          `json:"family"`
	Timestamp      int64           `json:"timestamp"`
	Columns        []string        `json:"columns"`
	Cells          []spec.CellName `json:"cells,omitempty"`    // cells that rows can have, if the job has a mapping
	Records        int64           `json:"records"`            // read, good and bad
	Rejected       int64           `json:"rejected"`           // bad records that were set aside
	Filtered       int64           `json:"filtered,omitempty"` // records that the filter dropped
	RejectFile     string          `json:"reject_file,omitempty"`
	FilteredFile   string          `json:"filtered_file,omitempty"`
	Duplicates     int64           `json:"duplicates"` // rows dropped because another row has the same key; for wide rows, dropped cells
	DuplicatesFile string          `json:"duplicates_file,omitempty"`
	Joined         int64           `json:"joined,omitempty"`         // for wide rows: records that are not the first of their row
	NoCells        int64           `json:"no_cells,omitempty"`       // rows dropped because they have no cells: all their values are empty
	Digest         Digest          `json:"digest"`                   // of the rows in the files
	RowSum         string          `json:"row_sum,omitempty"`        // for rows with new keys: the sum of a 128-bit hash of each row without its key, in hexadecimal
	Wide           bool            `json:"wide_rows,omitempty"`      // a row is made of all records of a key, which become columns or versions of cells
	Versions       int             `json:"versions,omitempty"`       // maximum per cell, if records of a key are versions of one row
	Stamped        bool            `json:"cell_timestamp,omitempty"` // a column gives the cells' timestamp, and the digest includes it
	Times          *CellTimes      `json:"times,omitempty"`          // of cells, if columns give them
	Bytes          int64           `json:"bytes"`                    // total of the files
	SpillBytes     int64           `json:"spill_bytes"`
	Runs           int64           `json:"runs"` // runs spilled to disk
	ReadTime       time.Duration   `json:"read_ns"`
	WriteTime      time.Duration   `json:"write_ns"`
	HFiles         int             `json:"hfiles"`          // number of files
	Files          []File          `json:"files,omitempty"` // in the order of their rows

	Expect *expectation.Counts `json:"expectations,omitempty"` // the expectations about the records, and their findings

	Samples []Sample `json:"-"` // rows that verification reads
}

// Summary returns the manifest without the list of files: a few hundred bytes, whatever the number of regions.
func (m *Manifest) Summary() *Manifest {
	s := *m
	s.Files = nil
	return &s
}

// FileName is the manifest's name in the output directory.
const FileName = "_bulkload.json"

// Read reads the manifest of a build from its directory. The error is fs.ErrNotExist if there is none. Read refuses a manifest that was changed after
// the build.
func Read(ctx context.Context, fsys hdfsio.FS, dir string) (*Manifest, error) {
	m, b, err := readManifest(ctx, fsys, dir)
	if err != nil {
		return nil, err
	}
	stored, computed, err := sums(b)
	if err == nil && stored != "" && stored != computed {
		err = errChanged
	}
	if err == nil {
		err = m.consistent()
	}
	if err != nil {
		return nil, setting.Errorf("%s in %s: %w (build again, or load with %s)", FileName, dir, err, setting.TrustFiles)
	}
	return m, nil
}

// ReadUnchecked is [Read] without the check for later changes.
func ReadUnchecked(ctx context.Context, fsys hdfsio.FS, dir string) (*Manifest, error) {
	m, _, err := readManifest(ctx, fsys, dir)
	return m, err
}

func readManifest(ctx context.Context, fsys hdfsio.FS, dir string) (*Manifest, []byte, error) {
	b, err := hdfsio.ReadFile(ctx, fsys, path.Join(dir, FileName), math.MaxInt64)
	if err != nil {
		return nil, nil, err
	}
	m := new(Manifest)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, nil, fmt.Errorf("%s in %s: %w", FileName, dir, err)
	}
	if m.Schema != 1 {
		return nil, nil, fmt.Errorf("%s in %s: schema %d is not known to this version", FileName, dir, m.Schema)
	}
	return m, b, nil
}

// File is one HFile that a build made.
type File struct {
	Name     string     `json:"name"` // below the output directory: family/32 hex digits
	Family   string     `json:"family"`
	Region   int        `json:"region"` // ordinal of the region in the plan
	FirstRow rowkey.Key `json:"first_row"`
	LastRow  rowkey.Key `json:"last_row"`
	Rows     int64      `json:"rows"`
	Cells    int64      `json:"cells"`
	Bytes    int64      `json:"bytes"`
	CRC32C   uint32     `json:"crc32c,omitempty"`  // checksum of the whole file
	FileID   uint64     `json:"file_id,omitempty"` // on HDFS; a rename keeps it
}

// ExportedFile is one file of an export.
type ExportedFile struct {
	Name   string `json:"name"`
	Region string `json:"region"` // encoded region name in the snapshot; empty without a snapshot
	Digest Digest `json:"digest"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // of the whole file
}

// ExportedRegion is the output of an export for one region.
type ExportedRegion struct {
	File     *ExportedFile `json:"file,omitempty"`           // nil: no rows
	NoCells  int64         `json:"no_cells,omitempty"`       // rows left out because they have no cell in any of the columns
	LeftOver int64         `json:"cells_left_out,omitempty"` // cells left out because they are in none of the columns
	Absent   []string      `json:"absent,omitempty"`         // columns that no row has
}

// InAll returns the names that all parts have, in the order of the first part.
func InAll[T any](parts []T, names func(T) []string) []string {
	var common []string
	for i, p := range parts {
		if i == 0 {
			common = slices.Clone(names(p))
		}
		common = slices.DeleteFunc(common, func(name string) bool { return !slices.Contains(names(p), name) })
	}
	return common
}

// Sample is a row that was written: its key and a hash of its encoded form.
type Sample struct {
	Key     []byte
	Sum     uint64
	Stamp   int64 // timestamp of its cells, if it is not the job's
	Expires int64 // when its cells expire, 0 for never
}

// CellNames returns the names of the cells that rows of a manifest can have, in order.
func (m *Manifest) CellNames() []spec.CellName {
	if m.Cells != nil {
		return m.Cells
	}
	var names []spec.CellName
	for _, c := range slices.Sorted(slices.Values(m.Columns)) {
		names = append(names, spec.CellName{Family: m.Family, Qualifier: c})
	}
	return names
}

// Findings returns the results of the job's expectations.
func (m *Manifest) Findings() []expectation.Finding {
	if m == nil || m.Expect == nil {
		return nil
	}
	return m.Expect.Findings
}

// Expiring reports whether any cell of the files has its own TTL.
func (m *Manifest) Expiring() bool { return m.Times != nil && m.Times.Expires != 0 }

// Splits returns the first row of each region that has rows, except for the first of these regions.
func (m *Manifest) Splits() (points [][]byte) {
	first := map[int][]byte{}
	for _, f := range m.Files {
		if row, known := first[f.Region]; !known || bytes.Compare(f.FirstRow, row) < 0 {
			first[f.Region] = f.FirstRow
		}
	}
	for i, region := range slices.Sorted(maps.Keys(first)) {
		if i > 0 {
			points = append(points, first[region])
		}
	}
	return points
}

// Families returns the families of the manifest's cells.
func (m *Manifest) Families() []string {
	names := []string{}
	for _, c := range m.CellNames() {
		names = append(names, c.Family)
	}
	return slices.Compact(names)
}

// Add adds the counts of another build. Other fields keep the first build's values.
func (m *Manifest) Add(o *Manifest) {
	if m.Schema == 0 {
		*m = *o.Summary()
		m.Timestamp = 0
		return
	}
	m.Records += o.Records
	m.Rejected += o.Rejected
	m.Filtered += o.Filtered
	if sum := m.Expect.Add(o.Expect); sum != nil { // the counts of several jobs cannot be judged together, so only findings are kept
		m.Expect = &expectation.Counts{Records: sum.Records, ReadAt: sum.ReadAt, Findings: expectation.Sum(m.Findings(), o.Findings())}
	}
	m.RejectFile, m.FilteredFile = cmp.Or(m.RejectFile, o.RejectFile), cmp.Or(m.FilteredFile, o.FilteredFile)
	m.Duplicates += o.Duplicates
	m.DuplicatesFile = cmp.Or(m.DuplicatesFile, o.DuplicatesFile)
	m.Joined += o.Joined
	m.NoCells += o.NoCells
	m.Digest.Add(o.Digest)
	m.Bytes += o.Bytes
	m.SpillBytes += o.SpillBytes
	m.Runs += o.Runs
	m.ReadTime += o.ReadTime
	m.WriteTime += o.WriteTime
	m.HFiles += o.HFiles
}
