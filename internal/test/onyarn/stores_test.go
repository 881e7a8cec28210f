package onyarn

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/stores"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// stores loads an object of a server with faults, with tasks on nodes without keys: the job passes the keys to them. A build of the same file in one
// process is the judge. The secret must not be in any output, nor in any file that the job leaves on HDFS.
func (s *site) stores() {
	const secret, token = "wJalrXUtnFEMIsecret", "token-of-a-session"
	dir, export := s.TempDir(), jobtest.Export(s.T, "check.csv")
	b, err := os.ReadFile(export)
	testcheck.Must(s.T, err)
	testcheck.Must(s.T, os.WriteFile(filepath.Join(dir, "check.csv"), b, 0o644))
	bucket := &stores.S3{Bucket: "b"}
	testcheck.Must(s.T, bucket.Serve(dir))
	proxy := stores.NewProxy(bucket, rand.New(rand.NewPCG(testcheck.Rand(s.T).Uint64(), 1)), stores.Harm{Busy: 0.1, Reset: 0.1})
	var unsigned atomic.Int64
	proxy.Before = func(r *http.Request) {
		if !strings.Contains(r.Header.Get("Authorization"), "Credential=AKIAX/") || r.Header.Get("X-Amz-Security-Token") != token {
			unsigned.Add(1)
		}
	}
	server := httptest.NewServer(proxy)
	defer server.Close()

	built := filepath.Join(s.TempDir(), "hfiles")
	s.must("build", "--job", s.job("check"), "--input", export, "--splits", splitsOf(10), "--timestamp", timestamp, "--out", built)
	table := s.table(10)
	with := s.with("AWS_ACCESS_KEY_ID=AKIAX", "AWS_SECRET_ACCESS_KEY="+secret, "AWS_SESSION_TOKEN="+token)
	args := []string{"run", "--job", s.job("check"), "--table", table, "--input", "s3://b/check.csv", "--endpoint", "s3=" + server.URL, "--timestamp", timestamp, "--verify", "full",
		"--engine", "yarn", "--maps", "2", "--reduces", "3"}
	var said []string
	for _, event := range []string{"submitted", "built"} {
		e := with.with("BULKLOAD_TEST_STOP_AFTER=" + event).do(args...)
		if said = append(said, e.said); e.code != -1 {
			s.Fatalf("%s: it ends with %d: %s", event, e.code, e.said)
		}
	}
	before := proxy.Requests.Load()
	e := with.must(args...)
	s.holds(table, s.built(built))
	if said = append(said, e.said); unsigned.Load() > 0 || before < 4 {
		s.Errorf("of %d requests %d have no keys of the job: %s", before, unsigned.Load(), strings.Join(said, "\n"))
	}
	confs := 0
	left := s.left("/user", "/mr-history")
	for name, b := range left {
		said = append(said, name+"\n"+string(b))
		if strings.HasSuffix(name, "_conf.xml") && bytes.Contains(b, []byte("mapreduce.job.reduces")) {
			confs++
		}
	}
	for _, text := range said {
		if name, _, _ := strings.Cut(text, "\n"); strings.Contains(text, secret) || strings.Contains(text, token) {
			s.Errorf("a secret is in %.200s", name)
		}
	}
	if confs == 0 {
		s.Errorf("the configuration of no job was looked at: %q", slices.Sorted(maps.Keys(left)))
	}

	bucket.Put("check.csv", bytes.Replace(b, []byte("1"), []byte("2"), 1), time.Now())
	if e := with.do(args...); e.code == 0 || !strings.Contains(e.said, "the input has changed since this job began") {
		s.Errorf("another object: %d, %s", e.code, e.said)
	}
	if e := with.do(append(slices.Replace(slices.Clone(args), 6, 7, "gs://b/check.csv"), "--job-id", "other")...); e.code == 0 || !strings.Contains(e.said, "only keys of S3's protocol go to nodes") {
		s.Errorf("a bucket of Google's: %d, %s", e.code, e.said)
	}
}

// left returns the files below some directories of HDFS.
func (s *site) left(roots ...string) map[string][]byte {
	all := map[string][]byte{}
	fsys, _, err := s.super.Resolve("hdfs:///")
	testcheck.Must(s.T, err)
	var walk func(dir string)
	walk = func(dir string) {
		list, err := fsys.ReadDir(s.Context(), dir)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		testcheck.Must(s.T, err)
		for _, info := range list {
			name := path.Join(dir, info.Name())
			switch {
			case info.IsDir():
				walk(name)
			case info.Size() < 4<<20:
				if b := s.read(fsys, name); b != nil {
					all[name] = b
				}
			}
		}
	}
	for _, root := range roots {
		walk(root)
	}
	return all
}

// read returns a file of HDFS, nil if it does not exist.
func (s *site) read(fsys hdfsio.FS, name string) []byte {
	f, err := fsys.Open(s.Context(), name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	testcheck.Must(s.T, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	testcheck.Must(s.T, err)
	return b
}
