package export

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/exportdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/source"
)

// labSnapshot saves the snapshot of a table and opens it.
func labSnapshot(t testing.TB, table *testsnapshot.Table) *snapshot.Snapshot {
	t.Helper()
	table.Save()
	s, err := snapshot.Open(t.Context(), table.FS, table.Root, table.Snapshot)
	testcheck.Must(t, err)
	return s
}

// labCells returns a table of these cells, with regions that begin at the given rows in addition to the first.
func labCells(t testing.TB, cells []hfile.Cell, splits ...string) *snapshot.Snapshot {
	t.Helper()
	var families []string
	for _, c := range cells {
		if !slices.Contains(families, string(c.Family)) {
			families = append(families, string(c.Family))
		}
	}
	table := testsnapshot.New(t, testsnapshot.Options{Families: families, Versions: 3, Splits: splits})
	table.Load(3, cells...)
	return labSnapshot(t, table)
}

// labBuild returns a table that was loaded with the files of a build.
func labBuild(t testing.TB, dir string, m *manifest.Manifest, splits [][]byte) *snapshot.Snapshot {
	t.Helper()
	o := testsnapshot.Options{Families: m.Families(), Versions: 3}
	for _, row := range splits {
		o.Splits = append(o.Splits, string(row))
	}
	table := testsnapshot.New(t, o)
	for _, f := range m.Files {
		table.Add(f.Region, f.Family, 3, jobtest.ReadWhole(t, hdfsio.Local{}, path.Join(dir, f.Name)))
	}
	return labSnapshot(t, table)
}

// put returns a cell with the text row family:qualifier value.
func put(row, column, value string) hfile.Cell {
	family, qualifier, _ := strings.Cut(column, ":")
	return testsnapshot.Put(row, family, qualifier, 1000, value)
}

// exported runs an export into a directory in memory.
func exported(t testing.TB, s *snapshot.Snapshot, o Options) (*hdfsio.Memory, *Manifest) {
	t.Helper()
	p, err := Compile(o)
	testcheck.Must(t, err)
	fsys := hdfsio.NewMemory()
	m, err := p.Run(t.Context(), s, fsys, "/out")
	testcheck.Must(t, err)
	return fsys, m
}

// resolve returns the job of a spec without a key.
func resolve(t testing.TB, s spec.Spec) *spec.Job {
	t.Helper()
	j, err := s.ResolveTable()
	testcheck.Must(t, err)
	return &j
}

// readBack reads files with package source: values as text, NULL as nil.
func readBack(t testing.TB, fsys hdfsio.FS, dir string, o source.Options) ([]map[string]any, error) {
	t.Helper()
	in, err := source.Open(t.Context(), func(name string) (source.FS, string, error) { return fsys, name, nil }, []string{dir}, o)
	if err != nil {
		return nil, err
	}
	return jobtest.Texts(context.WithoutCancel(t.Context()), in)
}

// writeOver writes a file on disk, replacing it.
func writeOver(t testing.TB, name string, b []byte) {
	t.Helper()
	testcheck.Must(t, os.WriteFile(name, b, 0o600))
}

// readerOptions returns options for CSV with a header.
func readerOptions(columns []string) source.Options {
	return source.Options{Format: source.FormatCSV, Columns: columns}
}

// Run claims a directory, which must be empty or missing, and writes the rows of a snapshot into it. After an error nothing is left.
func (p *Plan) Run(ctx context.Context, s *snapshot.Snapshot, fsys hdfsio.FS, dir string) (*Manifest, error) {
	d, _, err := exportdir.Claim(ctx, fsys, dir, rand.Text())
	if err != nil {
		return nil, err
	}
	m, err := p.Write(ctx, OfSnapshot(s), d, Attempt{})
	if err != nil {
		return nil, errors.Join(err, d.Remove(ctx))
	}
	return m, d.Finish(ctx)
}
