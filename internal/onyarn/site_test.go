package onyarn

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/jobtest"
	"bulkload/internal/testcluster"
	"bulkload/pkg/cluster"
	"bulkload/pkg/hdfsio"
)

// site is a cluster, the program and who runs it.
type site struct {
	*testing.T
	cluster *testcluster.Cluster
	env     *cluster.Env
	user    string
	program string
	environ []string
}

// on starts a cluster and builds the program.
func on(t *testing.T, s testcluster.Security) *site {
	t.Helper()
	program := filepath.Join(t.TempDir(), "bulkload")
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "stopafter", "-o", program, "bulkload/cmd/bulkload")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// Not the test's context, which ends before the cluster does.
	c, err := testcluster.Start(context.Background(), testcluster.Options{YARN: true, Security: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	at := &site{T: t, cluster: c, user: who.Username, program: program}
	at.environ = append(slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "HADOOP_USER_NAME=") }), c.Environment()...)
	at.environ = append(at.environ, "BULKLOAD_STATE="+t.TempDir())
	if s.Kerberos {
		at.user = testcluster.Loader
	} else {
		at.env = jobtest.ClusterEnvAs(t, c, at.user)
	}
	return at
}

// in is the site in a subtest.
func (s *site) in(t *testing.T) *site {
	own := *s
	own.T = t
	return &own
}

// ended is how a command ended.
type ended struct {
	code   int
	result map[string]any
	said   string
}

func (s *site) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.Context(), s.program, args...)
	cmd.Env = s.environ
	return cmd
}

// do runs the program to its end.
func (s *site) do(more []string, args ...string) ended {
	s.Helper()
	cmd := s.command(append(args, "--output", "json")...)
	cmd.Env = append(slices.Clone(cmd.Env), more...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	began := time.Now()
	err := cmd.Run()
	s.Logf("%s: %.1f s", strings.Join(args[:1], " "), time.Since(began).Seconds())
	e := ended{said: said.String()}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if e.code = exit.ExitCode(); exit.Sys().(syscall.WaitStatus).Signaled() {
			e.code = -1
		}
	} else if err != nil {
		s.Fatal(err)
	}
	_ = json.Unmarshal(out.Bytes(), &e.result)
	return e
}

// must is do that must succeed.
func (s *site) must(args ...string) ended {
	s.Helper()
	e := s.do(nil, args...)
	if e.code != 0 {
		s.Fatalf("%v ends with %d: %s", args, e.code, e.said)
	}
	return e
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

// sums are the digests of files, in order.
func sums(all map[string][]byte) []string {
	var list []string
	for _, b := range all {
		list = append(list, fmt.Sprintf("%x", sha256.Sum256(b)))
	}
	slices.Sort(list)
	return list
}

// local are the HFiles that one process builds.
func (s *site) local(job, input, splits string) []string {
	s.Helper()
	dir := filepath.Join(s.TempDir(), "hfiles")
	s.must("build", "--job", job, "--table", "", "--input", input, "--splits", splits, "--timestamp", timestamp, "--out", dir)
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

// taken are the store files of a table: those that HBase was given.
func (s *site) taken(table string) []string {
	s.Helper()
	namespace, name, _ := strings.Cut(table, ":")
	fsys := jobtest.UserFS(s.T, s.cluster, "hbase")
	base := path.Join("/hbase/data", namespace, name)
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

// await kills a process of a container that runs, the first that is wanted, and says which it was.
func (s *site) await(done <-chan struct{}, wanted func(command string) bool, sig syscall.Signal) bool {
	s.Helper()
	for {
		all, err := s.cluster.Containers()
		if err != nil {
			s.Error(err)
			return false
		}
		for _, p := range all {
			if wanted(strings.Join(p.Command, " ")) && p.Signal(sig) == nil {
				s.Logf("%s: signal %d", p.Container, sig)
				return true
			}
		}
		select {
		case <-done:
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
}
