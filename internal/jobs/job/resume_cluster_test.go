package job

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/result"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// program is the built program with its own job on the test cluster.
type program struct {
	t       *testing.T
	path    string
	cluster *testcluster.Cluster
	env     *cluster.Env
	table   string
	state   string
	input   string
	vars    []string // of its environment
	dir     string   // working directory, default the state directory
	prepare bool     // kills may occur while HBase creates its staging directory for a load: without the answer its name is unknown
}

// buildProgram returns the program, for a test that runs it on a cluster.
func buildProgram(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the program on a cluster")
	}
	return jobtest.Program(t)
}

// programRegions is the number of regions, and of files, of a program's table: a first one, a last one and some between them. Each costs the servers
// a tenth of a second of processor time in total.
const programRegions = 4

// newProgram makes a table for a job that loads the check export.
func newProgram(t *testing.T, name string) *program {
	t.Helper()
	return newProgramAt(t, name, partition.SaltSplits(programRegions))
}

// newProgramAt is newProgram with other split points.
func newProgramAt(t *testing.T, name string, splits [][]byte) *program {
	t.Helper()
	return newProgramOn(t, testcluster.Shared(t), name, splits)
}

// newProgramOn is newProgramAt on a cluster that is not shared with other tests.
func newProgramOn(t *testing.T, cluster *testcluster.Cluster, name string, splits [][]byte) *program {
	t.Helper()
	env := jobtest.ClusterEnv(t, cluster)
	return &program{t: t, path: name, cluster: cluster, env: env, table: jobtest.FreshTableAt(t, env, splits, nil), state: t.TempDir(),
		input: jobtest.Export(t, "check.dump")}
}

// admin runs an administrator's command on the table.
func (p *program) admin(t *testing.T, do string, args ...string) {
	t.Helper()
	if _, err := p.cluster.AdminT(t).Run(t.Context(), append([]string{do, p.table}, args...)...); err != nil {
		t.Fatal(err)
	}
}

// command returns a run of the job; environment variables follow the flags.
func (p *program) command(ctx context.Context, stopAfter string, flags ...string) *exec.Cmd {
	return p.any(ctx, stopAfter, append([]string{"run", "--quiet", "--output=json", "--job=" + jobtest.Absolute(p.t, "../../../examples/check.yaml"), "--table=" + p.table,
		"--input=" + p.input, "--state=" + p.state, "--verify=full", "--memory=64MiB"}, flags...)...)
}

// any returns any command of the program, with its own environment.
func (p *program) any(ctx context.Context, stopAfter string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+p.cluster.ConfDir(), "HBASE_CONF_DIR="+p.cluster.ConfDir(), "HADOOP_USER_NAME=tina")
	cmd.Env = append(cmd.Env, p.vars...)
	if stopAfter != "" {
		cmd.Env = append(cmd.Env, "BULKLOAD_TEST_STOP_AFTER="+stopAfter)
	}
	cmd.Dir = cmp.Or(p.dir, p.state)
	return cmd
}

// run returns the exit code, and the output of the program.
func (p *program) run(stopAfter string, flags ...string) (code int, stdout, stderr string) {
	p.t.Helper()
	return p.end(func(ctx context.Context) *exec.Cmd { return p.command(ctx, stopAfter, flags...) })
}

// end runs a command to its end.
func (p *program) end(command func(context.Context) *exec.Cmd) (code int, stdout, stderr string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 3*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := command(ctx)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		p.t.Fatalf("no end within three minutes: %s", errs.String())
	}
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		if s, ok := e.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			return 128 + int(s.Signal()), out.String(), errs.String()
		}
		return e.ExitCode(), out.String(), errs.String()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return 0, out.String(), errs.String()
}

// records returns the events in the job's journal.
func (p *program) records() []journal.Record {
	p.t.Helper()
	names, err := filepath.Glob(filepath.Join(p.state, "*", journal.FileName))
	if err != nil || len(names) != 1 {
		p.t.Fatalf("journals %q: %v", names, err)
	}
	f, err := os.Open(names[0])
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	records, err := journal.Read(f)
	if err != nil {
		p.t.Fatal(err)
	}
	return records
}

func (p *program) count(event string) (n int) {
	for _, r := range p.records() {
		if r.Event == event {
			n++
		}
	}
	return n
}

// judge checks with HBase's own client that the table has exactly the rows of the export, that each of the files is there once, and that nothing is
// left behind. If files is 0, HBase may have compacted them.
func (p *program) judge(files int) {
	t := p.t
	t.Helper()
	got, err := p.cluster.AdminT(t).Digest(t.Context(), p.table)
	if want := jobtest.SaltedDigestLine(t, "check", "skip", programRegions); err != nil || got != want {
		t.Errorf("the table has %s %v, want %s", got, err, want)
	}
	fsys, _, err := jobtest.ClusterEnvAs(t, p.cluster, "hbase").Resolve("hdfs:///")
	if err != nil {
		t.Fatal(err)
	}
	ns, name, _ := strings.Cut(p.table, ":")
	n := 0
	dir := path.Join("/hbase/data", ns, name)
	regions, err := fsys.ReadDir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, region := range regions {
		stores, err := fsys.ReadDir(t.Context(), path.Join(dir, region.Name(), "f"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		n += len(stores)
	}
	if n != files && files > 0 {
		t.Errorf("%d store files, want %d", n, files)
	}
	for _, dir := range []string{"/tmp/bulkload-tina", "/hbase/staging"} {
		left, err := fsys.ReadDir(t.Context(), dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, x := range left {
			if !strings.Contains(x.Name(), name) {
				continue
			}
			if below, err := fsys.ReadDir(t.Context(), path.Join(dir, x.Name())); !p.prepare || dir != "/hbase/staging" || err != nil || len(below) > 0 {
				t.Errorf("left behind: %s/%s", dir, x.Name())
			}
		}
	}
}

// TestKilledAfterAnyRecordIsResumed kills the program just after each kind of record, and runs the same
// command again.
func TestKilledAfterAnyRecordIsResumed(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	for _, c := range []struct {
		after   string
		written int // records of finished files in the end; 0: unknown
	}{
		{"plan", 4}, {"attempt", 4}, {"checking:1", 0}, {"checking:2", 0}, {"spill", 4}, {"sorted", 4}, {"written:1", 0}, {"written:3", 0}, {"written:4", 4}, {"built", 4}, {"loading", 4},
		{"prepared", 4}, {"sending", 4}, {"loaded:1", 4}, {"loaded:3", 4}, {"cleaned", 4}, {"verified", 4}, {"done", 4},
	} {
		t.Run(c.after, func(t *testing.T) {
			t.Parallel() // each has its own table, and mostly waits for HBase
			p := newProgram(t, name)
			if code, _, stderr := p.run(c.after); code != 128+9 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			code, stdout, stderr := p.run("")
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			r := result.Result{}
			if err := json.Unmarshal([]byte(stdout), &r); err != nil {
				t.Fatalf("%v: %s", err, stdout)
			}
			p.judge(programRegions)
			if c.after != "done" {
				if r.Attempt != 2 && c.after != "plan" && !strings.HasPrefix(c.after, "checking") { // may precede the first attempt's record
					t.Errorf("attempt %d", r.Attempt)
				}
			} else if !r.Already || r.DoneAt.IsZero() {
				t.Errorf("done twice: %s", stdout)
			}
			n := p.count("written")
			if c.written != 0 && n != c.written || n > programRegions+2 {
				t.Errorf("%d files were written for %d regions", n, programRegions)
			}
			if code, _, stderr := p.run("", "--skip-exit-code"); code != 99 {
				t.Errorf("a third time: exit code %d: %s", code, stderr)
			}
		})
	}
}

// TestKilledInPreflight checks that the next attempt removes the leftover of a preflight of a killed attempt, a file that is still open.
func TestKilledInPreflight(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	for how, flags := range map[string][]string{"resumed": nil, "begun again": {"--restart"}} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			killedInPreflight(t, newProgram(t, name), flags...)
		})
	}
}

func killedInPreflight(t *testing.T, p *program, flags ...string) {
	base := "/tmp/preflight-" + testcheck.Name(p.t)
	flag := "--staging=" + base
	if code, _, stderr := p.run("plan", flag); code != 128+9 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	fsys, _, err := jobtest.ClusterEnvAs(t, p.cluster, "tina").Resolve("hdfs:///")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fsys.RemoveAll(context.WithoutCancel(t.Context()), base) })
	history, err := history.Of(p.records())
	if err != nil {
		t.Fatal(err)
	}
	left := path.Join(base, staging.ProbeOf(history.Plan.Staging))
	if err := fsys.MkdirAll(t.Context(), left, 0o711); err != nil {
		t.Fatal(err)
	}
	w, err := fsys.Create(t.Context(), left+"/file", hdfsio.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Abort() }() // its file is gone
	if code, _, stderr := p.run("", append(flags, flag)...); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	jobtest.Empty(t, fsys, base)
	p.judge(programRegions)
}

// TestCleanKilled cleans up after a killed job: nothing while HBase may have its files, and all of it otherwise.
func TestCleanKilled(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	for _, c := range []struct {
		after  string
		status history.Status
		goes   bool
	}{{"checking", history.JobAbandoned, true}, {"sorted", history.JobAbandoned, true}, {"built", history.JobAbandoned, true}, {"prepared", history.JobAbandoned, true}, {"sending", history.JobUnresolved, false}, {"loaded:1", history.JobUnresolved, false}, {"", history.JobDone, true}} {
		t.Run("after "+c.after, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, name)
			if code, _, stderr := p.run(c.after); code != 137 && c.after != "" {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			dirs, err := filepath.Glob(filepath.Join(p.state, "*-*"))
			if err != nil || len(dirs) != 1 {
				t.Fatalf("%q %v", dirs, err)
			}
			cleaning, err := checkpoint.Clean(t.Context(), jobtest.ClusterEnvAs(t, p.cluster, "tina"), checkpoint.CleanOptions{State: p.state, Job: filepath.Base(dirs[0]), Remove: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range cleaning.Dirs {
				if d.Status != c.status || d.Remove != c.goes {
					t.Errorf("%+v", d)
				}
			}
			left, err := filepath.Glob(filepath.Join(p.state, "*"))
			if err != nil || (len(left) == 0) != c.goes {
				t.Errorf("left: %q %v", left, err)
			}
			if c.status == history.JobDone {
				p.judge(programRegions)
				return
			}
			if code, _, stderr := p.run(""); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			p.judge(programRegions)
		})
	}
}

// TestRunTwice checks concurrent runs of one job, a changed input, and starting over.
func TestRunTwice(t *testing.T) {
	t.Parallel()
	p := newProgram(t, buildProgram(t))
	b, err := os.ReadFile(p.input)
	if err != nil {
		t.Fatal(err)
	}
	p.input = filepath.Join(t.TempDir(), "check.dump")
	if err := os.WriteFile(p.input, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := p.run("built"); code != 137 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	dirs, err := filepath.Glob(filepath.Join(p.state, "*-*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%q %v", dirs, err)
	}
	lock, err := journal.TryLock(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := p.run(""); code != 75 || !strings.Contains(stderr, fmt.Sprintf("process %d on", os.Getpid())) {
		t.Errorf("while it is running: exit code %d: %s", code, stderr)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.input, b[:bytes.LastIndexByte(b[:len(b)-1], 0x10)+1], 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := p.run(""); code != 5 || !strings.Contains(stderr, "has changed since this job began") || !strings.Contains(stderr, p.input) {
		t.Errorf("with another input: exit code %d: %s", code, stderr)
	}
	if err := os.WriteFile(p.input, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := p.run("", "--restart"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	p.judge(programRegions)
	if code, stdout, stderr := p.run("", "--job-id", "another", "--snapshot", "before_"+strings.ReplaceAll(p.table, ":", "_")); code != 0 || !strings.Contains(stdout, `"snapshot":"before_`) {
		t.Errorf("another job: exit code %d: %s", code, stderr)
	}
}

// TestStateLost checks that a job is refused whose files are on HDFS, but whose
// journal is missing.
func TestStateLost(t *testing.T) {
	t.Parallel()
	p := newProgram(t, buildProgram(t))
	if code, _, stderr := p.run("loading"); code != 137 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	there := p.state
	p.state = t.TempDir()
	if code, _, stderr := p.run(""); code != 3 || !strings.Contains(stderr, "this job was begun at") {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := p.run("", "--job-id", "another", "--verify", "off"); code != 0 {
		t.Errorf("another job: exit code %d: %s", code, stderr)
	}
	p.state = there
	if code, _, stderr := p.run(""); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
}

// TestKilledWhileSpilled kills the program when its sorted rows are on disk, and
// again in the second pass, and checks that the input is read once.
func TestKilledWhileSpilled(t *testing.T) {
	t.Parallel()
	p := newProgram(t, buildProgram(t))
	p.input = jobtest.ManyRecords(t, 30_000)
	spill := t.TempDir()
	flags := []string{"--memory", "8MiB", "--workers", "1", "--spill-dir", spill}
	for _, after := range []string{"sorted", "written:2"} {
		if code, _, stderr := p.run(after, flags...); code != 137 {
			t.Fatalf("%s: exit code %d: %s", after, code, stderr)
		}
	}
	code, stdout, stderr := p.run("", flags...)
	r := result.Result{}
	if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v: %s", code, err, stderr)
	}
	if n := p.count("sorted"); n != 1 || r.Manifest.Runs == 0 || r.Manifest.Digest.Rows != 30_000 || p.count("written") != programRegions {
		t.Errorf("sorted %d times, wrote %d files: %s", n, p.count("written"), stdout)
	}
	if left, err := os.ReadDir(spill); err != nil || len(left) > 0 {
		t.Errorf("left in the spill directory: %v %v", left, err)
	}
}

// TestTerminated stops the program by SIGTERM while it writes, and checks that
// nothing is lost. The limit is only a guard; TestStop of internal/test/faults and
// TestStopTells of cmd/bulkload check the 15 s that a stop may take.
func TestTerminated(t *testing.T) {
	t.Parallel()
	p := newProgram(t, buildProgram(t))
	cmd := p.command(t.Context(), "")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testcheck.Eventually(t, time.Minute, "a file is written", func() (bool, any) {
		names, err := filepath.Glob(filepath.Join(p.state, "*", journal.FileName))
		testcheck.Must(t, err)
		return len(names) == 1 && p.count("written") > 0, names
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Error("it did not end within two minutes")
		_ = cmd.Process.Kill()
		<-ended
	}
	if code := cmd.ProcessState.ExitCode(); code != 143 && code != 0 {
		t.Errorf("exit code %d", code)
	}
	if code, _, stderr := p.run(""); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	p.judge(programRegions)
	if n := p.count("written"); n != programRegions {
		t.Errorf("%d files were written for %d regions", n, programRegions)
	}
}

// snapshot takes a snapshot of the table as the program or another user would.
func (p *program) snapshot(name string, created int64) {
	p.t.Helper()
	table, err := loader.ParseTableName(p.table)
	if err != nil {
		p.t.Fatal(err)
	}
	c, err := p.env.Dial(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	defer c.Close()
	if err := c.Snapshot(p.t.Context(), table, name, created); err != nil {
		p.t.Fatal(err)
	}
}

// TestOlderSnapshotIsNotTheJobs checks that a snapshot name is refused before the build if it existed before, also for a restart and a load, and before the
// load if others took it just before the program was killed.
func TestOlderSnapshotIsNotTheJobs(t *testing.T) {
	t.Parallel()
	p := newProgram(t, buildProgram(t))
	dir := p.builtDir(false, programRegions)
	snapshot := "before_" + strings.ReplaceAll(p.table, ":", "_")
	p.snapshot(snapshot, 0)
	refused := func(what string, code int, stderr string) {
		if names, err := filepath.Glob(filepath.Join(p.state, "*", journal.FileName)); code != 2 || !strings.Contains(stderr, snapshot) || len(names) > 0 {
			t.Errorf("%s: exit code %d, journals %q, %v: %s", what, code, names, err, stderr)
		}
	}
	code, _, stderr := p.run("", "--snapshot", snapshot)
	refused("run", code, stderr)
	code, _, stderr = p.run("", "--snapshot", snapshot, "--restart")
	refused("restart", code, stderr)
	code, _, stderr = p.load("", dir, "--snapshot", snapshot)
	refused("load", code, stderr)
	if code, _, stderr := p.run("snapshotting", "--snapshot", snapshot+"_killed"); code != 137 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	p.snapshot(snapshot+"_killed", 0)
	for range 2 {
		if code, _, stderr := p.run("", "--snapshot", snapshot+"_killed"); code != 2 || !strings.Contains(stderr, snapshot) || p.count("loading") != 0 {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	}
	if code, _, stderr := p.run("", "--snapshot", snapshot+"_own"); code != 0 || p.count("snapshot") != 1 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestKilledAtSnapshot checks that a snapshot is taken once, also if the program
// was killed between the snapshot and its record; another one of that name is
// refused.
func TestKilledAtSnapshot(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	for _, taken := range []bool{false, true} {
		t.Run(fmt.Sprintf("taken %t", taken), func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, name)
			snapshot := "before_" + strings.ReplaceAll(p.table, ":", "_")
			if code, _, stderr := p.run("snapshotting", "--snapshot", snapshot); code != 137 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			if taken {
				var asked history.SnapshotRecord
				for _, r := range p.records() {
					if r.Event == "snapshotting" {
						asked, _ = history.Decode[history.SnapshotRecord](r)
					}
				}
				p.snapshot(snapshot, asked.Created)
			}
			if code, stdout, stderr := p.run("", "--snapshot", snapshot); code != 0 || !strings.Contains(stdout, `"snapshot":"`+snapshot) || p.count("snapshot") != 1 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			p.judge(programRegions)
			// The finished job's snapshot has the name: a restart is refused before the job is discarded.
			if code, _, stderr := p.run("", "--snapshot", snapshot, "--restart"); code != 2 || !strings.Contains(stderr, snapshot) || p.count("done") != 1 {
				t.Errorf("the name of another snapshot: exit code %d: %s", code, stderr)
			}
			if code, _, stderr := p.run("", "--snapshot", snapshot); code != 0 || p.count("snapshot") != 1 {
				t.Errorf("the finished job: exit code %d: %s", code, stderr)
			}
			p.judge(programRegions)
		})
	}
}

// TestRestartKeepsSnapshot checks that --restart of an unfinished job, also after a refused one, uses the snapshot that the job took before it loaded
// anything: one that is taken later has what the first attempt loaded.
func TestRestartKeepsSnapshot(t *testing.T) {
	t.Parallel()
	p := newProgram(t, buildProgram(t))
	snapshot := "before_" + strings.ReplaceAll(p.table, ":", "_")
	if code, _, stderr := p.run("sending", "--snapshot", snapshot); code != 137 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := p.run("", "--snapshot", snapshot, "--restart", "--expect-records", "1"); code == 0 {
		t.Fatalf("a wrong number of records was accepted: %s", stderr)
	}
	if code, stdout, stderr := p.run("", "--snapshot", snapshot, "--restart"); code != 0 || !strings.Contains(stdout, `"snapshot":"`+snapshot) || p.count("snapshot") != 1 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	p.judge(programRegions)
}
