package job

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/verify"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
)

// storedLoad is a table with one file in each of its regions, and the tools to check them.
type storedLoad struct {
	t       *testing.T
	env     *cluster.Env
	c       *loader.Cluster
	facts   *cluster.Facts
	m       *manifest.Manifest
	stores  *verify.Stores
	asHBase hdfsio.FS
}

// newStoredLoad runs a job that is verified by its files.
func newStoredLoad(t *testing.T) *storedLoad {
	t.Helper()
	s := &storedLoad{t: t, env: jobtest.ClusterEnv(t, testcluster.Shared(t)), asHBase: jobtest.UserFS(t, testcluster.Shared(t), "hbase")}
	table := jobtest.FreshTable(t, s.env, 4, nil)
	var csv strings.Builder
	csv.WriteString("id,v\n")
	for i := range 400 {
		fmt.Fprintf(&csv, "k%04d,%d\n", i, i*i)
	}
	in := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(in, []byte(csv.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), s.env, jobtest.Resolve(t, spec.Spec{Table: table, Inputs: []string{in}, Key: "salt(id) + id", Verify: "files"}),
		RunOptions{State: checkpoint.Options{Dir: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	want := &result.StoreFiles{Files: len(r.Manifest.Files), Bytes: r.Manifest.Bytes}
	if v := r.Verify; v.Mode != "files" || v.Sampled == 0 || v.Files == nil || *v.Files != *want || want.Files < 3 {
		t.Errorf("verified %+v, %+v, want %+v", v, v.Files, want)
	}
	s.m = r.Manifest
	if s.c, err = s.env.Dial(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.c.Close() })
	if s.facts, err = cluster.TableFacts(t.Context(), s.env, s.c, table, "f"); err != nil {
		t.Fatal(err)
	}
	l, err := s.env.Conf.Resolve(s.env.Conf.Value("hbase.rootdir"))
	if err != nil {
		t.Fatal(err)
	}
	s.stores = &verify.Stores{Root: l.Path}
	if s.stores.FS, err = s.env.FS(l); err != nil {
		t.Fatal(err)
	}
	for _, f := range s.m.Files {
		s.stores.Files = append(s.stores.Files, loader.HFile{Family: f.Family, Path: f.Name, First: f.FirstRow, Last: f.LastRow, Size: f.Bytes, FileID: f.FileID, CRC32C: f.CRC32C})
	}
	return s
}

func (s *storedLoad) look() (*result.Verification, error) {
	return verify.Files(s.t.Context(), s.c, s.facts, s.m, s.stores)
}

// refused checks that verification reports files that differ from those that were written.
func (s *storedLoad) refused(what, says string, kind fail.Kind) {
	s.t.Helper()
	if _, err := s.look(); fail.KindOf(err) != kind || !strings.Contains(fmt.Sprint(err), says) {
		s.t.Errorf("%s: kind %d, %v", what, fail.KindOf(err), err)
	}
}

// accepted verifies the files and returns the result.
func (s *storedLoad) accepted(what string) *result.StoreFiles {
	s.t.Helper()
	v, err := s.look()
	if err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
	return v.Files
}

// place returns the path of the first file of the load.
func (s *storedLoad) place() string {
	s.t.Helper()
	table := path.Join(s.stores.Root, "data", s.facts.Name.Namespace, s.facts.Name.Qualifier)
	regions, err := s.asHBase.ReadDir(s.t.Context(), table)
	s.must(err)
	for _, r := range regions {
		files, err := s.asHBase.ReadDir(s.t.Context(), path.Join(table, r.Name(), "f"))
		if err != nil {
			continue
		}
		for _, f := range files {
			if id, _ := hdfsio.FileID(f); id == s.m.Files[0].FileID {
				return path.Join(table, r.Name(), "f", f.Name())
			}
		}
	}
	s.t.Fatal("the first file lies nowhere")
	return ""
}

func (s *storedLoad) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *storedLoad) write(name string, content []byte) {
	s.t.Helper()
	w, err := s.asHBase.Create(s.t.Context(), name, hdfsio.CreateOptions{Perm: 0o666})
	s.must(err)
	_, err = w.Write(content)
	s.must(err)
	s.must(w.Finish())
}

// TestFilesMode checks that verification finds changed files of a load without reading them, and accepts HBase's own operations on files.
func TestFilesMode(t *testing.T) {
	t.Parallel()
	s := newStoredLoad(t)
	place := s.place()
	content := jobtest.ReadWhole(t, s.asHBase, place)
	admin := testcluster.Shared(t).AdminT(t)

	// HBase's directory is not readable.
	dir := path.Join(s.stores.Root, "data", s.facts.Name.Namespace, s.facts.Name.Qualifier, s.facts.Regions[0].Encoded, "f")
	s.must(s.asHBase.Chmod(t.Context(), dir, 0o700))
	s.refused("a directory that is closed", "may not be read", fail.Check)
	if err := s.stores.Readable(t.Context(), s.facts); fail.KindOf(err) != fail.Check {
		t.Errorf("a directory that is closed, before the job: %v", err)
	}
	s.must(s.asHBase.Chmod(t.Context(), dir, 0o777))
	s.accepted("a directory that is open again")

	// A flipped bit on disk: HDFS's checksum of the block is unchanged, and readers of the data find the damage. With a matching checksum the file is
	// another one.
	block := replica(t, testcluster.Shared(t), content)
	at := len(content) / 2
	poke(t, block, int64(at), content[at]^4)
	s.accepted("data that do not match their checksum (documented: who reads them finds it)")
	if err := readAll(t, s.asHBase, place); err == nil {
		t.Error("the damaged data can be read")
	}
	mend(t, block, at)
	s.refused("a damaged block with the checksum of the damage", "has other bytes in the store", fail.Verify)
	poke(t, block, int64(at), content[at])
	mend(t, block, at)
	s.accepted("a block that is good again")

	// Missing, and replaced by another file of the same name, even with the same bytes.
	aside := "/tmp/aside-" + path.Base(place)
	s.must(s.asHBase.Rename(t.Context(), place, aside))
	s.refused("a file that is missing", "is neither in the table's stores nor in its archive", fail.Verify)
	s.write(place, bytes.Repeat([]byte{7}, len(content)))
	s.refused("a file that was replaced", "is neither in the table's stores nor in its archive", fail.Verify)
	s.must(s.asHBase.Remove(t.Context(), place))
	s.must(s.asHBase.Rename(t.Context(), aside, place))
	s.accepted("a file that is back")

	// A split of the last region, whose file is served through references.
	last := s.m.Files[len(s.m.Files)-1]
	var middle []string
	for _, sample := range s.m.Samples {
		if bytes.Compare(sample.Key, last.FirstRow) > 0 && bytes.Compare(sample.Key, last.LastRow) < 0 {
			middle = append(middle, string(sample.Key))
		}
	}
	slices.Sort(middle)
	_, err := admin.Run(t.Context(), "split", s.facts.Name.String(), rowkey.String([]byte(middle[len(middle)/2])))
	s.must(err)
	if f := s.accepted("a split region"); f.Split+f.Compacted != 1 {
		t.Errorf("after a split %+v", f)
	}

	// A second copy of a file is loaded.
	copied := "/tmp/copied-" + path.Base(place)
	s.must(s.asHBase.MkdirAll(t.Context(), copied+"/f", 0o777))
	s.must(s.asHBase.Chmod(t.Context(), copied, 0o777))
	s.must(s.asHBase.Chmod(t.Context(), copied+"/f", 0o777))
	as := jobtest.UserFS(t, testcluster.Shared(t), "tina")
	w, err := as.Create(t.Context(), copied+"/f/"+strings.Repeat("a", 32), hdfsio.CreateOptions{Perm: 0o666})
	s.must(err)
	_, err = w.Write(content)
	s.must(err)
	s.must(w.Finish())
	_, err = LoadDir(t.Context(), s.env, s.facts.Name.String(), "hdfs://"+copied, LoadOptions{Verify: "off"})
	s.must(err)
	s.refused("a second copy", "is a second copy of", fail.Verify)
	s.must(s.asHBase.RemoveAll(t.Context(), copied))

	// A compaction rewrites all of them. The sample still finds the rows.
	_, err = admin.Run(t.Context(), "major-compact", s.facts.Name.String())
	s.must(err)
	if f := s.accepted("a compacted table"); f.Compacted == 0 || f.Files != len(s.m.Files) {
		t.Errorf("after a compaction %+v", f)
	}
	none := *s.m
	none.Samples = nil
	s.m = &none
	s.refused("a compacted table without sampled rows", "was compacted since, and no sampled row is of it", fail.Verify)
}

func readAll(t *testing.T, fsys hdfsio.FS, name string) error {
	f, err := fsys.Open(t.Context(), name)
	if err != nil {
		return err
	}
	defer f.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(f)
	return err
}

func poke(t *testing.T, name string, at int64, with ...byte) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(with, at); err != nil {
		t.Fatal(err)
	}
}

// mend updates the checksum that a DataNode keeps of the chunk at an offset of a block to the current data. After 7 bytes of header a .meta file has
// a checksum of 4 bytes for each 512 (BlockMetadataHeader).
func mend(t *testing.T, block string, at int) {
	t.Helper()
	metas, err := filepath.Glob(block + "_*.meta")
	if err != nil || len(metas) != 1 {
		t.Fatalf("%v, %v", metas, err)
	}
	b, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	const chunk = 512
	i := at / chunk
	sum := crc32.Checksum(b[i*chunk:min(len(b), (i+1)*chunk)], crc32.MakeTable(crc32.Castagnoli))
	poke(t, metas[0], int64(7+4*i), binary.BigEndian.AppendUint32(nil, sum)...)
}
