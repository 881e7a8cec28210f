package rewrite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawFamily draws settings of a family.
func drawFamily(t *rapid.T) spec.Family {
	return spec.Family{
		Name:        "f",
		Compression: rapid.SampledFrom([]hfile.Compression{hfile.CompressionNone, hfile.CompressionSnappy, hfile.CompressionGZ}).Draw(t, "compression"),
		Encoding:    hfile.Encoding(rapid.IntRange(0, int(hfile.EncodingRowIndexV1)).Draw(t, "encoding")),
		Bloom:       hfile.BloomType(rapid.IntRange(0, int(hfile.BloomRowPrefix)).Draw(t, "bloom")),
		BloomPrefix: 2, BlockSize: rapid.SampledFrom([]int{1, 64, 1000, 0}).Draw(t, "block size"),
	}
}

// drawCells draws cells in order, some of them equal in key.
func drawCells(t *rapid.T, least int) []hfile.Cell {
	small := rapid.SliceOfN(rapid.SampledFrom([]byte("ab\x00\xff")), 1, 4)
	cells := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) hfile.Cell {
		c := hfile.Cell{
			Row: small.Draw(t, "row"), Family: []byte("f"), Qualifier: small.Draw(t, "qualifier"), Timestamp: int64(rapid.IntRange(0, 2).Draw(t, "time")),
			Type:  rapid.SampledFrom([]hfile.Type{hfile.Put, hfile.Put, hfile.Delete, hfile.DeleteColumn, hfile.DeleteFamily}).Draw(t, "type"),
			Value: rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "value"),
		}
		if n := rapid.IntRange(0, 3).Draw(t, "tag"); n > 0 {
			c.Tags = append([]byte{0, byte(n), 65}, bytes.Repeat([]byte{7}, n-1)...)
		}
		return c
	}), least, 60).Draw(t, "cells")
	slices.SortStableFunc(cells, func(a, b hfile.Cell) int { return hfile.Compare(&a, &b) })
	return cells
}

// readCells returns a file's cells as text, one per line, and fails if the file
// or its record is wrong.
func readCells(t testing.TB, fsys hdfsio.FS, f loader.HFile) []string {
	t.Helper()
	_, name := SplitURI(f.Path)
	r, closer, err := filecheck.OpenHFile(t.Context(), fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	at, ok := closer.(io.ReaderAt)
	if !ok {
		t.Fatalf("%T", closer)
	}
	if res := hfile.Check(at, f.Size, hfile.CheckOptions{Name: name}); !res.OK {
		t.Fatalf("%s: %v", name, res.Errors)
	}
	var lines []string
	s := r.Scan()
	for s.Next() {
		lines = append(lines, string(hfile.AppendCellText(nil, s.Cell())))
	}
	first, last, rowsErr := r.Rows()
	if err := errors.Join(s.Err(), rowsErr); err != nil {
		t.Fatal(err)
	}
	info, err := fsys.Stat(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	id, _ := hdfsio.FileID(info)
	want := loader.HFile{Family: f.Family, Path: f.Path, First: first, Last: last, Size: info.Size(), Cells: int64(len(lines)), FileID: id,
		CRC32C: crc32.Checksum(jobtest.ReadWhole(t, fsys, name), crc32.MakeTable(crc32.Castagnoli))}
	if d := cmp.Diff(want, f); d != "" {
		t.Fatalf("the file is not as it is said to be (-is +said):\n%s", d)
	}
	if info.Mode().Perm() != 0o666 {
		t.Errorf("%s has mode %04o, want 0666", name, info.Mode().Perm())
	}
	if ok, err := namedAsStoreFile(path.Base(name)); !ok {
		t.Errorf("%s is not named as a store file is: %v", name, err)
	}
	return lines
}

func namedAsStoreFile(base string) (bool, error) {
	return path.Match(strings.Repeat("[0-9a-f]", 32), base)
}

func cellLines(cells []hfile.Cell) []string {
	var lines []string
	for i := range cells {
		lines = append(lines, string(hfile.AppendCellText(nil, &cells[i])))
	}
	return lines
}

// TestCut compares the children of a cut with a plain computation: each cell
// belongs to the part that contains its row, and empty parts are omitted.
func TestCut(t *testing.T) {
	testcheck.Check(t, func(rt *rapid.T) {
		fsys := hdfsio.NewMemory()
		cells := drawCells(rt, 1)
		o := hfile.Options{Encoding: hfile.Encoding(rapid.IntRange(0, 4).Draw(rt, "parent")), BlockSize: 100,
			Task: "attempt_1", BulkloadTime: 17, ExcludeFromMinorCompaction: rapid.Bool().Draw(rt, "exclude")}
		parent := jobtest.WriteCells(t, fsys, "/job/f/"+strings.Repeat("a", 32), cells, o)
		at := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]byte("ab\x00\xff")), 1, 3), 0, 6).Draw(rt, "boundaries")
		family := drawFamily(rt)
		w := New(fsys, "/job", func(string) spec.Family { return family }, 99, owned)

		sorted := slices.Clone(at)
		slices.SortFunc(sorted, bytes.Compare)
		parts := map[int][]hfile.Cell{}
		for _, c := range cells {
			n := 0
			for n < len(sorted) && bytes.Compare(sorted[n], c.Row) <= 0 {
				n++
			}
			parts[n] = append(parts[n], c)
		}
		var want [][]string
		for _, n := range slices.Sorted(maps.Keys(parts)) {
			want = append(want, cellLines(parts[n]))
		}
		for range 2 { // a repeated cut gives the same files
			children, err := w.Cut(t.Context(), parent, at)
			if err != nil {
				rt.Fatal(err)
			}
			var got [][]string
			for _, c := range children {
				got = append(got, readCells(t, fsys, c))
				checkSettings(t, fsys, c, family, 17, "attempt_1", o.ExcludeFromMinorCompaction)
			}
			if d := cmp.Diff(want, got); d != "" {
				rt.Fatalf("children (-want +got):\n%s", d)
			}
			if n := len(jobtest.TreeFiles(t, fsys, "/job")); n != len(children)+1 {
				rt.Fatalf("%d files are there, want the parent and %d children", n, len(children))
			}
		}
	})
}

// checkSettings checks that a file has the family's settings and records the
// origin of its cells.
func checkSettings(t testing.TB, fsys hdfsio.FS, f loader.HFile, family spec.Family, bulkTime byte, task string, excludes bool) {
	t.Helper()
	_, name := SplitURI(f.Path)
	m, err := filecheck.ReadMeta(t.Context(), fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	if m.Compression != family.Compression || m.Encoding != family.Encoding || m.Bloom != family.Bloom && m.BloomKeys > 0 {
		t.Errorf("%s has %s, %s, %s, the family %+v", name, m.Compression, m.Encoding, m.Bloom, family)
	}
	if v := m.Info["BULKLOAD_TIMESTAMP"]; !bytes.Equal(v, []byte{0, 0, 0, 0, 0, 0, 0, bulkTime}) {
		t.Errorf("bulk load time %x", v)
	}
	if v := m.Info["hfile.CREATE_TIME_TS"]; !bytes.Equal(v, []byte{0, 0, 0, 0, 0, 0, 0, 99}) {
		t.Errorf("create time %x", v)
	}
	if v := string(m.Info["BULKLOAD_SOURCE_TASK"]); v != task {
		t.Errorf("task %q, want %q", v, task)
	}
	if excluded(m.Meta) != excludes {
		t.Errorf("excluded from minor compactions: %t, want %t", !excludes, excludes)
	}
}

// TestMerge compares a merge with a stable sort of all cells, for each file.
func TestMerge(t *testing.T) {
	testcheck.Check(t, func(rt *rapid.T) {
		fsys := hdfsio.NewMemory()
		n := rapid.SampledFrom([]int{2, 3, 5, mergeWidth, mergeWidth + 1, 2*mergeWidth + 2}).Draw(rt, "files")
		files := make([]loader.HFile, n)
		var all []hfile.Cell
		for i := range files {
			var cells []hfile.Cell
			if n < 10 {
				cells = drawCells(rt, 1)
			} else { // rapid would be slow with that many
				cells = []hfile.Cell{{Row: []byte{'a' + byte(i%3)}, Family: []byte("f"), Qualifier: []byte("q"), Type: hfile.Put, Value: fmt.Append(nil, i)}}
			}
			all = append(all, cells...)
			files[i] = jobtest.WriteCells(t, fsys, fmt.Sprintf("/job/f/%032x", i), cells, hfile.Options{Task: "attempt_1", BulkloadTime: 17})
		}
		slices.SortStableFunc(all, func(a, b hfile.Cell) int { return hfile.Compare(&a, &b) })
		family := drawFamily(rt)
		w := New(fsys, "/job", func(string) spec.Family { return family }, 99, owned)
		for range 2 {
			merged, err := w.Merge(t.Context(), files)
			if err != nil {
				rt.Fatal(err)
			}
			if d := cmp.Diff(cellLines(all), readCells(t, fsys, merged)); d != "" {
				rt.Fatalf("merged (-want +got):\n%s", d)
			}
			checkSettings(t, fsys, merged, family, 17, "attempt_1", false)
			if have := len(jobtest.TreeFiles(t, fsys, "/job")); have != n+1 {
				rt.Fatalf("%d files are there, want %d parents and one more", have, n)
			}
		}
	})
}

// TestRewriteByHBase verifies the results of cutting and merging with HBase's
// reader, for all encodings, compressions and bloom filters.
func TestRewriteByHBase(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a JVM, which -short leaves out")
	}
	fsys, dir := hdfsio.Local{}, t.TempDir()
	cells := jobtest.SomeCells(1200)
	var names []string
	var files []loader.HFile
	n := 0
	for _, compression := range []hfile.Compression{hfile.CompressionNone, hfile.CompressionSnappy, hfile.CompressionGZ} {
		for encoding := hfile.EncodingNone; encoding <= hfile.EncodingRowIndexV1; encoding++ {
			for bloom := hfile.BloomNone; bloom <= hfile.BloomRowCol; bloom++ {
				family := spec.Family{Name: "f", Compression: compression, Encoding: encoding, Bloom: bloom, BlockSize: 4 << 10}
				sub := filepath.Join(dir, fmt.Sprint(n))
				n++
				parent := jobtest.WriteCells(t, fsys, sub+"/f/"+strings.Repeat("a", 32), cells, hfile.Options{Encoding: hfile.EncodingFastDiff})
				parent.Path = strings.TrimPrefix(parent.Path, jobtest.RewriteURI)
				w := New(fsys, sub, func(string) spec.Family { return family }, 9, owned)
				children, err := w.Cut(t.Context(), parent, [][]byte{[]byte("000100"), []byte("0010"), []byte("zz")})
				if err != nil {
					t.Fatal(err)
				}
				if len(children) != 3 {
					t.Fatalf("%d children", len(children))
				}
				merged, err := w.Merge(t.Context(), children)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range append(children, merged) {
					names = append(names, f.Path)
					files = append(files, f)
				}
			}
		}
	}
	out, err := testcluster.Judge(t.Context(), append([]string{"check", "--probes", "100"}, names...)...)
	if err != nil {
		t.Error("HBase finds fault") // the verdicts have the reasons
	}
	var entries int64
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != len(files) {
		t.Fatalf("%d verdicts on %d files: %v", len(lines), len(files), err)
	}
	for i, line := range lines {
		var verdict hfile.CheckResult
		if err := json.Unmarshal([]byte(line), &verdict); err != nil {
			t.Fatal(err)
		}
		if !verdict.OK || verdict.Entries != files[i].Cells {
			t.Errorf("%s", line)
		}
		entries += verdict.Entries
	}
	if want := int64(2 * n * len(cells)); entries != want {
		t.Errorf("%d cells in all files, want %d", entries, want)
	}
	for _, f := range []loader.HFile{files[3], files[len(files)-1]} {
		got, err := testcluster.Judge(t.Context(), "cells", f.Path)
		if err != nil {
			t.Fatal(err)
		}
		if got != strings.Join(cellLines(cells), "\n")+"\n" {
			t.Errorf("HBase reads other cells from %s", f.Path)
		}
	}
}

// policyFS is a file system with storage policies, in which a file is created only in a directory that exists, as on HDFS.
type policyFS struct {
	hdfsio.FS
	set map[string]string // by directory
}

func (f policyFS) SetStoragePolicy(_ context.Context, name, policy string) error {
	f.set[name] = policy
	return nil
}

func (f policyFS) Create(ctx context.Context, name string, o hdfsio.CreateOptions) (hdfsio.Writer, error) {
	if _, err := f.Stat(ctx, path.Dir(name)); err != nil {
		return nil, err
	}
	return f.FS.Create(ctx, name, o)
}

// TestCutWithPolicy cuts a file of a family with a storage policy after the build has removed its directory of incomplete files.
func TestCutWithPolicy(t *testing.T) {
	memory := hdfsio.NewMemory()
	cells := jobtest.SomeCells(100)
	parent := jobtest.WriteCells(t, memory, "/job/f/"+strings.Repeat("a", 32), cells, hfile.Options{})
	fsys := policyFS{memory, map[string]string{}}
	w := New(fsys, "/job", spec.DefaultFamily, 9, owned)
	w.Output.Policies.Of = map[string]string{"f": "ALL_SSD"}
	for range 2 {
		children, err := w.Cut(t.Context(), parent, [][]byte{[]byte("000050")})
		testcheck.Must(t, err)
		if len(children) != 2 {
			t.Errorf("%d children", len(children))
		}
	}
	want := map[string]string{"/job/f": "ALL_SSD", "/job/" + w.Output.WritingOf("f"): "ALL_SSD"}
	if d := cmp.Diff(want, fsys.set); d != "" {
		t.Errorf("policies (-want +got):\n%s", d)
	}
}

// TestMobReferences checks that the files of a cut and of a merge refer to the MOB files of their cells, as HBase's splitter has it, and that files
// with different MOB files are not merged.
func TestMobReferences(t *testing.T) {
	fsys := hdfsio.NewMemory()
	w := New(fsys, "/job", spec.DefaultFamily, 9, owned)
	one, other := "n:t/d41d8cd98f00b204e9800998ecf8427e20261101", "n:t/d41d8cd98f00b204e9800998ecf8427e20261102"
	made := 0
	file := func(refs string) loader.HFile {
		made++
		return jobtest.WriteCells(t, fsys, fmt.Sprintf("/job/f/%032x", made), jobtest.SomeCells(9), hfile.Options{MobRefs: []byte(refs)})
	}
	check := func(f loader.HFile, want string) {
		t.Helper()
		_, name := SplitURI(f.Path)
		m, err := filecheck.ReadMeta(t.Context(), fsys, name)
		testcheck.Must(t, err)
		if got, there := m.Info["MOB_FILE_REFS"]; string(got) != want || there != (want != "") {
			t.Errorf("%s refers to %q, want %q", name, got, want)
		}
	}
	for _, refs := range []string{one, "\x00", ""} {
		children, err := w.Cut(t.Context(), file(refs), [][]byte{[]byte("000003"), []byte("000006")})
		testcheck.Must(t, err)
		for _, c := range children {
			check(c, strings.Trim(refs, "\x00"))
		}
		if len(children) != 3 {
			t.Errorf("%d parts", len(children))
		}
	}
	for _, c := range []struct {
		files   []string
		want    string
		refused bool
	}{
		{[]string{one, one}, one, false}, {[]string{"", one, "\x00"}, one, false}, {[]string{"", "\x00"}, "", false}, {slices.Repeat([]string{"", one}, mergeWidth), one, false},
		{[]string{one, other}, "", true}, {append(slices.Repeat([]string{one}, 2*mergeWidth), other, other), "", true},
	} {
		var files []loader.HFile
		for _, refs := range c.files {
			files = append(files, file(refs))
		}
		before := len(jobtest.TreeFiles(t, fsys, "/job"))
		merged, err := w.Merge(t.Context(), files)
		if c.refused {
			if fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "refers to other MOB files") || len(jobtest.TreeFiles(t, fsys, "/job")) != before {
				t.Errorf("%q: %v", c.files, err)
			}
			continue
		}
		testcheck.Must(t, err)
		check(merged, c.want)
	}
}
