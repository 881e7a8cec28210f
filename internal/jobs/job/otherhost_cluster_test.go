package job

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/status"
	"bulkload/internal/model/result"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// hosts run one job whose state is in a table of the cluster.
type hosts struct {
	*program
	states loader.TableName
}

func newHosts(t *testing.T, name string) *hosts {
	t.Helper()
	return hostsOf(t, newProgram(t, name))
}

// hostsOf returns the hosts for the job of a program.
func hostsOf(t *testing.T, p *program) *hosts {
	t.Helper()
	h := &hosts{p, loader.TableName{Namespace: "default", Qualifier: "state-" + testcheck.Name(t)}}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		c, err := h.env.Dial(ctx)
		testcheck.Must(t, err)
		defer c.Close()
		if err := c.DeleteTable(ctx, h.states); err != nil && !errors.Is(err, loader.ErrTableNotFound) {
			t.Error(err)
		}
	})
	return h
}

// on returns the program on a separate host, without files of other hosts.
func (h *hosts) on(host string) *program {
	h.t.Helper()
	p := *h.program
	p.dir, p.state = h.state, "hbase:"+h.states.String()
	dir := filepath.Join(h.state, host)
	testcheck.Must(h.t, os.MkdirAll(filepath.Join(dir, "spill"), 0o755))
	p.vars = []string{"XDG_CACHE_HOME=" + filepath.Join(dir, "cache"), "TMPDIR=" + filepath.Join(dir, "spill")}
	return &p
}

// lose removes all files of a host.
func (h *hosts) lose(host string) { testcheck.Must(h.t, os.RemoveAll(filepath.Join(h.state, host))) }

// status returns the state of the one job on a host.
func (p *program) status() *status.State {
	p.t.Helper()
	out, err := p.any(p.t.Context(), "", "status", "--output=json", "--state="+p.state).Output()
	testcheck.Must(p.t, err)
	var list struct{ Jobs []*status.State }
	testcheck.Must(p.t, json.Unmarshal(out, &list))
	if len(list.Jobs) != 1 {
		p.t.Fatalf("%d jobs: %s", len(list.Jobs), out)
	}
	return list.Jobs[0]
}

// TestResumedOnAnotherHost kills the program just after each kind of record, and runs the same command on a host that has none of the first one's
// files. A third host sees that the job is done, and cleans up.
func TestResumedOnAnotherHost(t *testing.T) {
	t.Parallel()
	race.Plain(t)
	name := buildProgram(t)
	for _, after := range []string{"plan", "attempt", "checking:1", "checking:2", "spill", "sorted", "written:1", "written:4", "built", "loading", "prepared", "sending",
		"loaded:1", "loaded:3", "cleaned", "verified", "done"} {
		t.Run(after, func(t *testing.T) {
			t.Parallel()
			h := newHosts(t, name)
			if code, _, stderr := h.on("first").run(after); code != 128+9 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			h.lose("first")
			code, stdout, stderr := h.on("second").run("")
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			r := result.Result{}
			testcheck.Must(t, json.Unmarshal([]byte(stdout), &r))
			if r.Already != (after == "done") {
				t.Errorf("already: %v", r.Already)
			}
			h.judge(programRegions)
			third := h.on("third")
			s := third.status()
			if s.State != history.JobDone || s.Table != h.program.table || s.Loaded != programRegions {
				t.Errorf("a third host says %s, table %s, %d files", s.State, s.Table, s.Loaded)
			}
			if code, _, stderr := third.run("", "--skip-exit-code"); code != 99 {
				t.Errorf("a third time: exit code %d: %s", code, stderr)
			}
			h.cleaned(third, s.Job)
		})
	}
}

// cleaned removes the job on a host, and checks that the table does not have it any more.
func (h *hosts) cleaned(p *program, job string) {
	t := h.t
	t.Helper()
	if out, err := p.any(t.Context(), "", "clean", "--yes", "--job="+job, "--state="+p.state).CombinedOutput(); err != nil || !strings.Contains(string(out), "removed") {
		t.Errorf("%v: %s", err, out)
	}
	c, err := h.env.Dial(t.Context())
	testcheck.Must(t, err)
	defer c.Close()
	testcheck.Must(t, c.Scan(t.Context(), loader.ScanRequest{Table: h.states}, func(r loader.Row) error {
		t.Errorf("the table has %s still", r.Key)
		return nil
	}))
}

// TestStoppedOwner checks that another host takes over the job of a suspended process, and finishes it. When the first process continues, it neither
// records nor loads, and reports the process that has the job.
func TestStoppedOwner(t *testing.T) {
	t.Parallel()
	race.Plain(t)
	name := buildProgram(t)
	at := []string{"sorted", "sending:1", "loaded:2"}
	if os.Getenv("BULKLOAD_FAULTS") != "" {
		at = append(at, "attempt", "written:2", "built", "loading", "prepared", "loaded:3", "verified")
	}
	for _, at := range at {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			newHosts(t, name).takeOver(at+freezeSuffix(at), nil)
		})
	}
}

// TestStoppedWhileItSends suspends the owner while its requests to load files are running, or just before or after.
func TestStoppedWhileItSends(t *testing.T) {
	t.Parallel()
	race.Plain(t)
	name := buildProgram(t)
	rounds := 1
	if os.Getenv("BULKLOAD_FAULTS") != "" {
		rounds = 12
	}
	for round := range rounds {
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			t.Parallel()
			h := newHosts(t, name)
			h.takeOver("", func(first *exec.Cmd) {
				journals := filepath.Join(h.state, "first", "cache", "bulkload", "state", "*", "*", journal.FileName)
				testcheck.Eventually(t, time.Minute, "the first owner sends", func() (bool, any) {
					names, err := filepath.Glob(journals)
					testcheck.Must(t, err)
					b := []byte(nil)
					for _, name := range names {
						b, _ = os.ReadFile(name)
					}
					return bytes.Count(b, []byte(`"event":"sending"`)) > 0, len(b)
				})
				testcheck.Must(t, first.Process.Signal(syscall.SIGSTOP))
			})
		})
	}
}

// takeOver has a second host finish a job whose first owner is suspended, either by itself after a record or by stop, and then lets the first one
// continue. If the job was done before that, there is nothing to take over.
func (h *hosts) takeOver(after string, stop func(*exec.Cmd)) {
	t := h.t
	t.Helper()
	first, stderr := h.stopped(after, stop)
	code, stdout, second := h.on("second").run("")
	if code != 0 {
		t.Errorf("exit code %d: %s", code, second)
	}
	r := result.Result{}
	testcheck.Must(t, json.Unmarshal([]byte(stdout), &r))
	h.judge(programRegions)
	testcheck.Must(t, first.Process.Signal(syscall.SIGCONT))
	err := first.Wait()
	if lost := first.ProcessState.ExitCode() == 75 && strings.Contains(stderr.String(), "has taken over this job"); !lost && !(r.Already && err == nil) {
		t.Errorf("the first owner ends with %v: %s", err, stderr.String())
	}
	h.judge(programRegions)
	if s := h.on("third").status(); s.State != history.JobDone {
		t.Errorf("a third host says %s", s.State)
	}
}

// stopped starts the job on the first host, where its process is suspended, either by itself after a record or by stop.
func (h *hosts) stopped(after string, stop func(*exec.Cmd)) (first *exec.Cmd, stderr *strings.Builder) {
	t := h.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	first, stderr = h.on("first").command(ctx, after), &strings.Builder{}
	first.Stderr = stderr
	testcheck.Must(t, first.Start())
	if stop != nil {
		stop(first)
	}
	testcheck.Eventually(t, time.Minute, "the first owner stands still, or has ended before it was stopped", func() (bool, any) {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(first.Process.Pid) + "/stat")
		return err == nil && (strings.Contains(string(b), ") T ") || stop != nil && strings.Contains(string(b), ") Z ")), string(b)
	})
	return first, stderr
}

// TestCleanedWhileStopped checks that a list of leftovers leaves the job of a suspended process to it, and that after a removal by force the process
// neither records nor loads when it continues, and says why, also if another host has run the job again.
func TestCleanedWhileStopped(t *testing.T) {
	t.Parallel()
	race.Plain(t)
	name := buildProgram(t)
	at := map[string]string{"sorted": "listed", "loaded:2": "run again", "sending:1": ""}
	if os.Getenv("BULKLOAD_FAULTS") != "" {
		at = map[string]string{"attempt": "run again", "plan": "", "sorted": "listed", "written:2": "", "built": "run again", "loading": "", "prepared": "run again",
			"sending:1": "run again", "loaded:1": "", "loaded:2": "run again", "loaded:3": "listed", "verified": "run again"}
	}
	for at, then := range at {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			h := newHosts(t, name)
			first, stderr := h.stopped(at+freezeSuffix(at), nil)
			second := h.on("second")
			clean := []string{"clean", "--state=" + second.state, "--job=" + second.status().Job}
			want := "this job"
			if then == "listed" {
				want = ""
			} else {
				clean = append(clean, "--force", "--yes")
			}
			if out, err := second.any(t.Context(), "", clean...).CombinedOutput(); err != nil || strings.Contains(string(out), "removed") == (want == "") {
				t.Errorf("%v: %s", err, out)
			}
			if then == "run again" {
				second.judged()
			}
			testcheck.Must(t, first.Process.Signal(syscall.SIGCONT))
			err := first.Wait()
			if code := first.ProcessState.ExitCode(); want == "" && err != nil || want != "" && (code != 75 || !strings.Contains(stderr.String(), want)) {
				t.Errorf("the first owner ends with %v: %s", err, stderr)
			}
			second.judged()
		})
	}
}

// judged runs the job, and judges the table.
func (p *program) judged() {
	p.t.Helper()
	if code, _, stderr := p.run(""); code != 0 {
		p.t.Errorf("exit code %d: %s", code, stderr)
	}
	p.judge(0)
}

// TestEveryCommandOnAnotherHost checks for every command that a job begun on a host that died is finished by another host.
func TestEveryCommandOnAnotherHost(t *testing.T) {
	t.Parallel()
	race.Plain(t)
	h := newHosts(t, buildProgram(t))
	n := 0
	host := func() *program { n++; return h.on("host" + strconv.Itoa(n)) }
	do := func(stopAfter string, want int, args ...string) string {
		t.Helper()
		p := host()
		code, stdout, stderr := p.end(func(ctx context.Context) *exec.Cmd { return p.any(ctx, stopAfter, append(args, "--state="+p.state)...) })
		if code != want {
			t.Fatalf("%s: exit code %d: %s", strings.Join(args, " "), code, stderr)
		}
		return stdout
	}
	if code, _, stderr := host().run(""); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	job := host().status().Job
	for _, at := range []string{"undoing", "markers", "sending"} {
		do(at, 128+9, "undo", "--job="+job)
	}
	do("", 0, "undo", "--job="+job)
	if s := host().status(); s.Undo != history.UndoDone {
		t.Errorf("undo is %s", s.Undo)
	}
	if code, _, stderr := host().run("", "--restart"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	h.judge(0)
	to := h.table + "_rekeyed"
	rekey := []string{"rekey", "--from=" + h.table, "--to=" + to, "--key=md5hex($row)", "--verify=full", "--job-id=other"}
	for _, at := range []string{"rekey", "plan", "sorted", "written:1", "built", "sending"} {
		do(at, 128+9, rekey...)
	}
	do("", 0, rekey...)
	compare := []string{"compare", h.table, to, "--new-key=md5hex($row)"}
	for _, at := range []string{"read_snapshot:1", "comparing", "compared"} {
		do(at, 128+9, compare...)
	}
	if out := do("", 0, compare...); !strings.Contains(out, "equal") {
		t.Error(out)
	}
	export := []string{"export", h.table, "--to=hdfs:///tmp/" + testcheck.Name(t), "--format=jsonl", "--workers=1"}
	for _, at := range []string{"exporting:1", "read_snapshot:1", "exporting:1", "exported:1", "done"} {
		do(at, 128+9, export...)
	}
	do("", 0, export...)
	out := filepath.Join(h.state, "files")
	testcheck.Must(t, os.RemoveAll(out))
	build := func(ctx context.Context) *exec.Cmd {
		return host().any(ctx, "", "build", "--job="+jobtest.Absolute(t, "../../../examples/check.yaml"), "--table="+h.table, "--input="+h.input, "--splits=salt:"+strconv.Itoa(programRegions), "--out="+out)
	}
	if code, _, stderr := h.end(build); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	load := []string{"load", "--table=" + h.table, out, "--verify=full"}
	for _, at := range []string{"plan", "loading", "sending", "loaded"} {
		do(at, 128+9, load...)
	}
	do("", 0, load...)
	load = append(load, "--replace", "--max-deletes=100%", "--job-id=replace")
	for _, at := range []string{"read_snapshot:1", "replaced", "loaded"} {
		do(at, 128+9, load...)
	}
	do("", 0, load...)
}

// TestStateOutOfReach checks that without the state table nothing is done, and that the exit code shows it.
func TestStateOutOfReach(t *testing.T) {
	t.Parallel()
	h := newHosts(t, buildProgram(t))
	if code, _, stderr := h.on("first").run("built"); code != 128+9 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	admin := h.cluster.AdminT(t)
	_, err := admin.Run(t.Context(), "disable", h.states.String())
	testcheck.Must(t, err)
	if code, _, stderr := h.on("second").run(""); code != 9 || !strings.Contains(stderr, h.states.String()+" is disabled") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	_, err = admin.Run(t.Context(), "enable", h.states.String())
	testcheck.Must(t, err)
	if code, _, stderr := h.on("second").run(""); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	h.judge(programRegions)
}

func freezeSuffix(at string) string {
	if strings.Contains(at, ":") {
		return ":freeze"
	}
	return ":1:freeze"
}
