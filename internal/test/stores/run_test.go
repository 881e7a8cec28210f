package stores

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// runLab loads a bucket of CSV files into tables of a cluster, through a proxy with faults.
type runLab struct {
	*testing.T
	cluster  *testcluster.Cluster
	env      *cluster.Env
	proxy    *Proxy
	endpoint string
	dir      string // of the files
	records  [][]string
}

// newRunLab writes the files; put makes all files of a directory objects, and returns the server.
func newRunLab(t *testing.T, put func(dir string) *Proxy) *runLab {
	l := &runLab{T: t, cluster: testcluster.Shared(t), dir: t.TempDir()}
	l.env = jobtest.ClusterEnv(t, l.cluster)
	testcheck.Must(t, os.Mkdir(filepath.Join(l.dir, "day"), 0o755))
	for file := range 3 {
		var b bytes.Buffer
		b.WriteString("id,text\n")
		for i := range 3000 {
			r := []string{fmt.Sprintf("%04d%d", i, file), fmt.Sprintf("text %d of %d", i, file)}
			l.records = append(l.records, r)
			fmt.Fprintf(&b, "%s,%s\n", r[0], r[1])
		}
		testcheck.Must(t, os.WriteFile(filepath.Join(l.dir, "day", fmt.Sprintf("%d.csv", file)), b.Bytes(), 0o644))
	}
	l.proxy = put(l.dir)
	server := httptest.NewServer(l.proxy)
	t.Cleanup(server.Close)
	l.endpoint = "s3=" + server.URL
	return l
}

// run runs the job, which kills itself after an event if one is given, and checks that it prints no secret.
func (l *runLab) run(table, state, after string) (code int, r result.Result, said string) {
	l.Helper()
	cmd := exec.CommandContext(l.Context(), jobtest.Program(l), "run", "--quiet", "--output=json", "--table="+table, "--key=id", "--input=s3://bucket/day/*.csv", "--endpoint="+l.endpoint,
		"--state="+state, "--spill-dir="+l.TempDir(), "--verify=full", "--timestamp=1700000000000", "--memory=64MiB")
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+l.cluster.ConfDir(), "HBASE_CONF_DIR="+l.cluster.ConfDir(), "HADOOP_USER_NAME=tina", "AWS_ACCESS_KEY_ID=AKIAX", "AWS_SECRET_ACCESS_KEY="+secret,
		"AWS_ENDPOINT_URL=", "AWS_DEFAULT_REGION=us-east-1", "BULKLOAD_TEST_STOP_AFTER="+after)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if said = out.String() + errs.String(); strings.Contains(said, secret) {
		l.Error("the program prints a secret")
	}
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		if s, ok := e.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			return 128 + int(s.Signal()), r, said
		}
		return e.ExitCode(), r, said
	}
	testcheck.Must(l, err)
	testcheck.Must(l, json.Unmarshal(out.Bytes(), &r))
	return 0, r, said
}

// endToEnd loads the bucket with a job that is killed in each phase and resumed, and compares the table with the files by HBase's own client. A job
// whose objects change is refused.
func (l *runLab) endToEnd(change func()) {
	table := func() string {
		return jobtest.FreshTableAt(l, l.env, [][]byte{[]byte("1"), []byte("2")}, nil)
	}
	loaded, state := table(), l.TempDir()
	for _, after := range []string{"plan", "sorted", "written:2", "loading", ""} {
		code, r, said := l.run(loaded, state, after)
		if after != "" && code != 128+9 || after == "" && code != 0 {
			l.Fatalf("%q: exit code %d: %s", after, code, said)
		}
		if after == "" && (r.Manifest.Records != 9000 || r.Manifest.Digest.Rows != 9000 || r.Verify == nil || r.Attempt < 4) {
			l.Errorf("%+v", r)
		}
	}
	plain := spec.Spec{Key: "id", Timestamp: 1700000000000, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "id"}, {Column: "text"}}}}
	got, err := l.cluster.AdminT(l).Run(l.Context(), "digest", loaded)
	if want := jobtest.ClientDigest(jobtest.PlainCells(l, plain, []string{"id", "text"}, l.records)); err != nil || got != want {
		l.Errorf("the table has %s, want %s, %v", got, want, err)
	}
	if code, r, said := l.run(loaded, state, ""); code != 0 || !r.Already {
		l.Errorf("again: exit code %d: %s", code, said)
	}
	refused, state := table(), l.TempDir()
	if code, _, said := l.run(refused, state, "sorted"); code != 128+9 {
		l.Fatalf("exit code %d: %s", code, said)
	}
	change()
	code, _, said := l.run(refused, state, "")
	if code != fail.Input.ExitCode() || !strings.Contains(said, "the input has changed since this job began") || !strings.Contains(said, "s3://bucket/day/1.csv") {
		l.Errorf("a changed object: exit code %d: %s", code, said)
	}
	if got, err := l.cluster.AdminT(l).Run(l.Context(), "count", refused); err != nil || strings.TrimSpace(got) != "0" {
		l.Errorf("the table has %s rows, %v", got, err)
	}
	l.Logf("%d requests, %d of them harmed", l.proxy.Requests.Load(), l.proxy.Harmed.Load())
	if l.proxy.Harmed.Load() == 0 {
		l.Error("no request was harmed")
	}
}

var runHarm = Harm{Busy: 0.1, Reset: 0.1, Short: 0.1}

// TestRun loads objects of our own server into a cluster.
func TestRun(t *testing.T) {
	s := &S3{Bucket: "bucket"}
	l := newRunLab(t, func(dir string) *Proxy {
		testcheck.Must(t, s.Serve(dir))
		return NewProxy(s, rand.New(rand.NewPCG(testcheck.Rand(t).Uint64(), 1)), runHarm)
	})
	l.endToEnd(func() { s.Put("day/1.csv", []byte("id,text\n1,x\n"), time.Now()) })
}

// TestOthersRun loads objects of moto's server into a cluster.
func TestOthersRun(t *testing.T) {
	o := others()[0]
	address := o.start(t)
	l := newRunLab(t, func(dir string) *Proxy {
		o.upload(t, address, dir)
		return NewProxy(To(address), rand.New(rand.NewPCG(testcheck.Rand(t).Uint64(), 1)), runHarm)
	})
	l.endToEnd(func() { o.upload(t, address, l.dir, "again", "day/1.csv") })
}
