package onyarn

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
)

// table creates a table with a region for each salt, which the user may load.
func (s *site) table(salts int) string {
	s.Helper()
	if !s.cluster.Security().Kerberos {
		return jobtest.FreshTable(s.T, s.env, salts, nil)
	}
	name := testcheck.Name(s)
	if _, err := s.cluster.AdminT(s.T).Run(s.Context(), "create", name, "--compression", "SNAPPY", "--encoding", "FAST_DIFF", "--bloom", "ROW",
		"--splits", splitsOf(salts)); err != nil {
		s.Fatal(err)
	}
	if err := s.cluster.Grant(s.Context(), name); err != nil {
		s.Fatal(err)
	}
	return name
}

// digest returns the digest of a table by the user's own Java client.
func (s *site) digest(table string) string {
	s.Helper()
	got, err := s.cluster.AdminAsT(s.T, testcluster.Loader).Digest(s.Context(), table)
	if err != nil {
		s.Fatal(err)
	}
	return got
}

// put copies a file to HDFS.
func (s *site) put(local string) string {
	s.Helper()
	fsys, dir, err := s.env.Resolve("hdfs:///user/" + s.user + "/in")
	if err != nil {
		s.Fatal(err)
	}
	if err := fsys.MkdirAll(s.Context(), dir, 0o755); err != nil {
		s.Fatal(err)
	}
	name := path.Join(dir, filepath.Base(local))
	if _, err := fsys.Stat(s.Context(), name); err == nil {
		return "hdfs://" + name
	}
	in, err := os.Open(local)
	if err != nil {
		s.Fatal(err)
	}
	defer in.Close()
	w, err := fsys.Create(s.Context(), name, hdfsio.CreateOptions{})
	if err == nil {
		if _, err = io.Copy(w, in); err == nil {
			err = w.Finish()
		}
	}
	if err != nil {
		s.Fatal(err)
	}
	return "hdfs://" + name
}

// sums returns the digests of files, in order.
func sums(all map[string][]byte) []string {
	var list []string
	for _, b := range all {
		list = append(list, fmt.Sprintf("%x", sha256.Sum256(b)))
	}
	slices.Sort(list)
	return list
}

// local returns the HFiles that one process builds.
func (s *site) local(job, input, splits string) []string {
	s.Helper()
	dir := filepath.Join(s.TempDir(), "hfiles")
	s.must("build", "--job", job, "--table", "", "--input", input, "--splits", splits, "--timestamp", timestamp, "--out", dir)
	return s.built(dir)
}

// built returns the HFiles of one table in a directory.
func (s *site) built(dir string) []string {
	s.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(filepath.Join(dir, "f"), func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[name], err = os.ReadFile(name)
		}
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return sums(files)
}

// taken returns the store files of a table: those that HBase has loaded.
func (s *site) taken(table string) []string {
	s.Helper()
	namespace, name, ok := strings.Cut(table, ":")
	if !ok {
		namespace, name = "default", table
	}
	fsys, base, err := s.super.Resolve("hdfs:///" + path.Join("hbase/data", namespace, name))
	if err != nil {
		s.Fatal(err)
	}
	regions, err := fsys.ReadDir(s.Context(), base)
	if err != nil {
		s.Fatal(err)
	}
	files := map[string][]byte{}
	for _, r := range regions {
		if len(r.Name()) != 32 {
			continue
		}
		dir := path.Join(base, r.Name(), "f")
		stores, err := fsys.ReadDir(s.Context(), dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			s.Fatal(err)
		}
		for _, f := range stores {
			if !f.IsDir() {
				files[path.Join(dir, f.Name())] = jobtest.ReadWhole(s.T, fsys, path.Join(dir, f.Name()))
			}
		}
	}
	return sums(files)
}

// holds compares the files that HBase has loaded with those that one process builds: they must be the same, each
// once.
func (s *site) holds(table string, want []string) {
	s.Helper()
	if got := s.taken(table); !slices.Equal(got, want) {
		s.Errorf("HBase has taken %d files, one process builds %d, and they differ:\n%q\n%q", len(got), len(want), got, want)
	}
}
