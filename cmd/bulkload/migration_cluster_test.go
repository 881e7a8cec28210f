package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
)

// migration is a new table on the test cluster, and a state directory.
type migration struct {
	conf, table, name, state string
	cluster                  *testcluster.Cluster
	hdfs                     *hdfsio.HDFS // as the user of the job
}

func newMigration(t *testing.T) *migration {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the test cluster, which -short leaves out")
	}
	conf := os.Getenv(testcluster.EnvConf)
	if conf == "" {
		t.Skip("needs a running test cluster, named by " + testcluster.EnvConf)
	}
	cluster, err := testcluster.Attach(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	name := "migration" + testcheck.Name(t)
	m := &migration{conf: conf, name: name, table: "test:" + name, state: t.TempDir(), cluster: cluster}
	t.Cleanup(func() { dropTable(t, conf, name) })
	h, err := hdfsio.NewHDFS(hdfsio.HDFSOptions{Addresses: []string{strings.TrimPrefix(cluster.HDFS(), "hdfs://")}, User: "tina"})
	if err != nil {
		t.Fatal(err)
	}
	m.hdfs = h
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(h.RemoveAll(ctx, "/tmp/"+name), h.RemoveAll(ctx, "/tmp/"+name+"-exports"), h.Close()); err != nil {
			t.Error(err)
		}
	})
	p := m.start(t, "table", "create", m.table, "--salts", "10")
	if code := p.wait(); code != 0 {
		t.Fatalf("table create ended with %d\n%s", code, p.log())
	}
	return m
}

// run starts the job over an input.
func (m *migration) run(t *testing.T, input string, args ...string) *process {
	t.Helper()
	return m.start(t, append([]string{"run", "--job", "../../examples/check.yaml", "--table", m.table, "--format", "dump", "--state", m.state,
		"--staging", "hdfs:///tmp/" + m.name, "--input", input, "--log-level", "info"}, args...)...)
}

// digest returns the digest of the table by HBase's own client.
func (m *migration) digest(t *testing.T) string {
	t.Helper()
	got, err := m.cluster.AdminT(t).Run(t.Context(), "digest", m.table)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// wantDigest returns the digest of the check export, without empty cells.
func wantDigest(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../testdata/exports/check.digest")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.SplitN(strings.TrimSpace(line), " ", 3); f[0] == "skip" {
			return f[2]
		}
	}
	t.Fatal("no digest of check without empty cells")
	return ""
}

// days returns the records of the check export, divided into files of n directories.
func days(t *testing.T, n int) map[string][]byte {
	t.Helper()
	b, err := os.ReadFile("../../testdata/exports/check.dump")
	if err != nil {
		t.Fatal(err)
	}
	records := bytes.SplitAfter(b, []byte{0x10})
	records = records[:len(records)-1] // nothing follows the last mark
	files := map[string][]byte{}
	for i, r := range records {
		day := i * n / len(records)
		name := fmt.Sprintf("2017/10/%02d/part-%d", day+1, i%2)
		files[name] = append(files[name], r...)
	}
	return files
}

// plantLocal and plantHDFS write the files below a fresh directory.
func plantLocal(t *testing.T, files map[string][]byte) string {
	t.Helper()
	root := t.TempDir()
	for name, b := range files {
		if err := os.MkdirAll(filepath.Join(root, path.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func (m *migration) plantHDFS(t *testing.T, files map[string][]byte) string {
	t.Helper()
	h, root := m.hdfs, "/tmp/"+m.name+"-exports"
	for name, b := range files {
		name = path.Join(root, name)
		if err := h.MkdirAll(t.Context(), path.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		w, err := h.Create(t.Context(), name, hdfsio.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	return "hdfs://" + root
}

// process is bulkload as a separate process.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer
	ended  chan struct{}

	mu    sync.Mutex
	lines []string
	more  chan struct{} // closed when a line arrives
}

func (m *migration) start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command("bulkload", args...), ended: make(chan struct{}), more: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+m.conf, "HBASE_CONF_DIR="+m.conf, "HADOOP_USER_NAME=tina", "TZ=UTC")
	p.cmd.Stdout = &p.stdout
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		s := bufio.NewScanner(stderr)
		for s.Scan() {
			p.mu.Lock()
			p.lines = append(p.lines, s.Text())
			close(p.more)
			p.more = make(chan struct{})
			p.mu.Unlock()
		}
		_ = p.cmd.Wait() // the exit code shows
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // normally it has ended
		<-p.ended
	})
	return p
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// says waits until a line has all of the words.
func (p *process) says(words ...string) {
	p.t.Helper()
	deadline := time.After(time.Minute)
	for seen := 0; ; {
		p.mu.Lock()
		lines, more := p.lines[seen:], p.more
		seen = len(p.lines)
		p.mu.Unlock()
	next:
		for _, line := range lines {
			for _, w := range words {
				if !strings.Contains(line, w) {
					continue next
				}
			}
			return
		}
		select {
		case <-more:
		case <-p.ended:
			p.t.Fatalf("it ended and did not say %q\n%s", words, p.log())
		case <-deadline:
			p.t.Fatalf("it does not say %q\n%s", words, p.log())
		}
	}
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait returns the exit code, or 128 and the signal's number if a signal killed the process.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(2 * time.Minute):
		p.t.Fatalf("it does not end\n%s", p.log())
	}
	if s, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return 128 + int(s.Signal())
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) result() *result.Result {
	p.t.Helper()
	r := new(result.Result)
	if err := json.Unmarshal(bytes.TrimSpace(p.stdout.Bytes()), r); err != nil {
		p.t.Fatalf("%v\n%s\n%s", err, p.stdout.String(), p.log())
	}
	return r
}

// TestSplitByDirectoryGoesOn kills a run over five directories on HDFS in the third. The same command leaves the
// first two unchanged and loads the rest, and a further one has nothing to do.
func TestSplitByDirectoryGoesOn(t *testing.T) {
	m := newMigration(t)
	input := m.plantHDFS(t, days(t, 5))
	args := []string{"--split-by", "directory", "--output", "json", "--skip-exit-code"}
	p := m.run(t, input, args...)
	p.says("directory begins", "number=3")
	p.signal(syscall.SIGKILL)
	if code := p.wait(); code != 128+9 {
		t.Fatalf("killed, it ended with %d\n%s", code, p.log())
	}
	journals := func() map[string]string {
		found := map[string]string{}
		names, err := filepath.Glob(filepath.Join(m.state, "*", "journal.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found[filepath.Dir(name)] = string(b)
		}
		return found
	}
	before := journals()
	p = m.run(t, input, args...)
	if code := p.wait(); code != 0 {
		t.Fatalf("the second run ended with %d\n%s", code, p.log())
	}
	r := p.result()
	if len(r.Parts) != 5 || r.Already || r.Manifest.Records != 3000 || r.Manifest.Digest.Rows != 3000 {
		t.Fatalf("result: %+v", r)
	}
	after := journals()
	for i, part := range r.Parts {
		want := fmt.Sprintf("%s/2017/10/%02d", input, i+1)
		if part.Input != want || part.Files != 2 || part.Records != 600 || part.Rows != 600 || part.Error != "" {
			t.Errorf("part %d is %+v, want that of %s", i+1, part, want)
		}
		switch done := strings.Contains(before[part.Job], `"event":"done"`); {
		case i < 2 && (part.Status != result.PartAlready || before[part.Job] != after[part.Job]):
			t.Errorf("part %d was done, and is %s", i+1, part.Status)
		case i >= 2 && !done && part.Status != result.PartDone:
			t.Errorf("part %d is %s", i+1, part.Status)
		}
	}
	if got := m.digest(t); got != wantDigest(t) {
		t.Errorf("the table has %s, want %s", got, wantDigest(t))
	}
	if _, err := checkResult(bytes.TrimSpace(p.stdout.Bytes())); err != nil {
		t.Errorf("the result is not of its schema: %v", err)
	}
	page, err := os.ReadFile(filepath.Join(r.Job, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<code>" + input + "</code>", "<code>2017/10/05</code>", "5 directories: ", "<dd>10 files"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the report has no %q", want)
		}
	}
	// The last part's description of the earlier parts. The third was usually planned before.
	var live status.Live
	b, err := os.ReadFile(filepath.Join(r.Parts[4].Job, status.LiveName))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &live); err != nil {
		t.Fatal(err)
	}
	done := progress.PartsWork{Parts: 1, Bytes: r.Parts[3].Bytes}
	if !strings.Contains(before[r.Parts[2].Job], `"event":"plan"`) {
		done.Parts, done.Bytes = 2, done.Bytes+r.Parts[2].Bytes
	}
	got := live.Progress.Start.Behind
	if took := got.Took; took <= 0 || took > r.Elapsed {
		t.Errorf("the parts before the last took %s of %s", took, r.Elapsed)
	}
	got.Took = 0
	if start := live.Progress.Start; got != done || start.Part != 5 || start.Parts != 5 || start.Ahead.Parts != 0 || start.Ahead.Bytes != 0 {
		t.Errorf("the last part says that it is %d of %d, %+v behind and %+v ahead, want %+v", start.Part, start.Parts, got, start.Ahead, done)
	}
	p = m.run(t, input, args...)
	if code := p.wait(); code != 99 || !p.result().Already {
		t.Errorf("the third run ended with %d\n%s", code, p.log())
	}
}

// TestPauseAndGoOn pauses a run by a signal. Meanwhile the run keeps its lock, and stops at once on request; the next
// one is paused and resumed.
func TestPauseAndGoOn(t *testing.T) {
	m := newMigration(t)
	input := m.plantHDFS(t, days(t, 5))
	p := m.run(t, input, "--split-by", "directory", "--upload-limit", "64KiB") // so that there is time for a pause
	p.says("directory begins", "number=2")
	testcheck.Eventually(t, time.Minute, "the second job has begun", func() (bool, any) {
		jobs, err := status.ReadAll(m.state)
		return err == nil && len(jobs) == 2 && jobs[0].Attempt == 1 && jobs[1].Attempt == 1, jobs
	})
	p.signal(syscall.SIGUSR1)
	p.says("level=INFO", "msg=paused", "an operator requested it")
	busy := m.run(t, input, "--split-by", "directory")
	if code := busy.wait(); code != 75 {
		t.Errorf("during a paused run, another ended with %d\n%s", code, busy.log())
	}
	stopped := time.Now()
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 128+15 {
		t.Errorf("paused and terminated, it ended with %d\n%s", code, p.log())
	}
	t.Logf("it stopped within %s", time.Since(stopped).Round(time.Millisecond))

	log := m.goesOnByConsole(t, 5)
	if n := strings.Count(log, "msg=paused"); n != 1 || strings.Count(log, "msg=resumed") != 1 {
		t.Errorf("it said %d times that it is paused\n%s", n, log)
	}
	if got := m.digest(t); got != wantDigest(t) {
		t.Errorf("the table has %s, want %s", got, wantDigest(t))
	}
}

// TestOnlyBetween starts runs outside of their window, and checks that they wait, and stop at once on request. In an
// open window a run completes.
func TestOnlyBetween(t *testing.T) {
	m := newMigration(t)
	input := plantLocal(t, days(t, 1))
	hour := func(n int) string { return time.Now().UTC().Add(time.Duration(n) * time.Hour).Format("15:04") }
	p := m.run(t, input, "--only-between", hour(2)+"-"+hour(3), "--job-id", "tonight", "--split-by", "directory")
	p.says("msg=paused", "outside of the window", "until=")
	testcheck.Eventually(t, time.Minute, "the state reports that the job waits", func() (bool, any) {
		jobs, err := status.ReadAll(m.state)
		return err == nil && len(jobs) == 1 && jobs[0].State == history.JobRunning && jobs[0].JobID == "tonight" && jobs[0].Table == m.table &&
			jobs[0].Live != nil && jobs[0].Live.Paused != nil && !jobs[0].Live.Paused.Until.IsZero(), jobs
	})
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 128+15 {
		t.Errorf("terminated outside of the window, it ended with %d\n%s", code, p.log())
	}
	p = m.run(t, input, "--time-zone", "Asia/Kolkata", "--only-between", hour(-1)+"-"+hour(2))
	p.says("msg=paused", "Asia/Kolkata", "+05:30")
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 128+15 {
		t.Errorf("terminated outside of the window, it ended with %d\n%s", code, p.log())
	}
	p = m.run(t, input, "--only-between", hour(-1)+"-"+hour(2), "--upload-limit", "20MiB/s", "--upload-streams", "1", "--load-concurrency", "1", "--verify", "full")
	if code := p.wait(); code != 0 || strings.Contains(p.log(), "paused") {
		t.Fatalf("within the window it ended with %d\n%s", code, p.log())
	}
	if got := m.digest(t); got != wantDigest(t) {
		t.Errorf("the table has %s, want %s", got, wantDigest(t))
	}
	p = m.run(t, input, "--only-between", hour(2)+"-"+hour(3), "--skip-exit-code")
	if code := p.wait(); code != 99 {
		t.Errorf("that it is done is said with %d outside of the window\n%s", code, p.log())
	}
}

// TestUploadLimitSlows reports the slowdown by an upload limit.
func TestUploadLimitSlows(t *testing.T) {
	m := newMigration(t)
	input := plantLocal(t, days(t, 1))
	wrote := map[string]time.Duration{}
	for name, args := range map[string][]string{"without": nil, "with": {"--upload-limit", "256KiB"}} {
		p := m.run(t, input, append(args, "--job-id", name, "--output", "json")...)
		if code := p.wait(); code != 0 {
			t.Fatalf("%s a limit it ended with %d\n%s", name, code, p.log())
		}
		wrote[name] = p.result().Manifest.WriteTime
	}
	t.Logf("written in %s without a limit, in %s with 256 KiB/s: %.1f times", wrote["without"], wrote["with"], wrote["with"].Seconds()/wrote["without"].Seconds())
}
