package export

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/exportdir"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// exportJob exports a snapshot on local disk, with 40 rows in four regions.
type exportJob struct {
	t     *testing.T
	table *testsnapshot.Table
	env   *cluster.Env
	o     JobOptions
	to    string
	want  *Manifest // complete export
	again int       // regions that an attempt reports as not read again
}

func newExportJob(t *testing.T) *exportJob {
	t.Helper()
	j := &exportJob{t: t, env: &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}, to: filepath.Join(t.TempDir(), "out")}
	j.o.State.Dir = t.TempDir()
	j.o.Events.OnNote = func(msg string, kv ...any) {
		if msg == "regions are exported already" {
			j.again, _ = kv[1].(int)
		}
	}
	j.save("x")
	snap := labSnapshot(t, j.table)
	j.env.Conf.Set("hbase.rootdir", "file://"+j.table.Root, "test")
	var err error
	j.want, err = j.plan(Options{}).Run(t.Context(), snap, hdfsio.NewMemory(), "/out")
	testcheck.Must(t, err)
	return j
}

// save creates the snapshot s, with the given value in its cells.
func (j *exportJob) save(value string) {
	root := j.t.TempDir()
	if j.table != nil {
		root = j.table.Root
		testcheck.Must(j.t, os.RemoveAll(root))
	}
	j.table = testsnapshot.New(j.t, testsnapshot.Options{FS: hdfsio.Local{}, Root: root, Table: "n:t", Snapshot: "s", Families: []string{"f"}, Splits: []string{"10", "20", "30"}})
	var cells []hfile.Cell
	for i := range 40 {
		cells = append(cells, put(fmt.Sprintf("%02d", i), "f:a", value))
	}
	j.table.Load(3, cells...)
	j.table.Save()
}

// plan returns an export with one worker, to JSON lines unless the options have a format.
func (j *exportJob) plan(o Options) *Plan {
	j.t.Helper()
	if o.Format == "" {
		o.Format = JSONL
	}
	p, err := Compile(o)
	testcheck.Must(j.t, err)
	return p
}

func (j *exportJob) do(ctx context.Context, p *Plan) (*Manifest, error) {
	j.again = 0
	return Do(ctx, j.env, Request{From: tablesource.Ref{Snapshot: "s"}, To: j.to, Plan: p}, j.o)
}

// stopped stops the job before the n-th region, from 0.
func (j *exportJob) stopped(n int) {
	j.t.Helper()
	ctx, stop := context.WithCancel(j.t.Context())
	defer stop()
	j.o.Gate = gate(func() {
		if n--; n == -2 { // it is called once before the snapshot is opened
			stop()
		}
	})
	defer func() { j.o.Gate = nil }()
	if _, err := j.do(ctx, j.plan(Options{})); !errors.Is(err, context.Canceled) {
		j.t.Fatalf("it ended with %v", err)
	}
}

// whole compares the directory with the complete export.
func (j *exportJob) whole(m *Manifest, err error) {
	j.t.Helper()
	if err != nil || m.Digest != j.want.Digest || fmt.Sprint(m.Files) != fmt.Sprint(j.want.Files) || !slices.Equal(listed(j.t, hdfsio.Local{}, j.to), []string{exportdir.ManifestName, "part-00000.jsonl", "part-00001.jsonl", "part-00002.jsonl", "part-00003.jsonl"}) {
		j.t.Fatalf("%+v, want %+v, %v, %v", m, j.want, err, listed(j.t, hdfsio.Local{}, j.to))
	}
	for _, f := range m.Files {
		if got := jobtest.ReadWhole(j.t, hdfsio.Local{}, filepath.Join(j.to, f.Name)); int64(len(got)) != f.Bytes {
			j.t.Errorf("%s has %d bytes, want %d", f.Name, len(got), f.Bytes)
		}
	}
}

// gate calls a function each time that work waits at it.
type gate func()

// Wait lets work pass unless its context has ended.
func (g gate) Wait(ctx context.Context) error {
	g()
	return context.Cause(ctx)
}

// TestExportResumes checks that regions finished by a stopped export are not read again, if their files are unchanged. Status shows the directory of
// the stopped export.
func TestExportResumes(t *testing.T) {
	for regions := range 4 {
		j := newExportJob(t)
		j.stopped(regions)
		if left := listed(t, hdfsio.Local{}, j.to); len(left) != (regions+1)*min(regions, 1) { // files of these regions, and the directory for unfinished files
			t.Errorf("after %d regions %v are left", regions, left)
		}
		jobs, err := status.ReadAll(j.o.State.Dir)
		testcheck.Must(t, err)
		if regions == 0 { // nothing is left, not even a job
			if len(jobs) > 0 {
				t.Errorf("status: %+v", jobs[0])
			}
		} else if len(jobs) != 1 || jobs[0].State != history.JobStopped || jobs[0].Rows != int64(10*regions) || len(jobs[0].Resources) != 1 || jobs[0].Resources[0].Kind != history.ResourceExport || jobs[0].Resources[0].Name != j.to {
			t.Errorf("status: %+v", jobs[0])
		}
		j.whole(j.do(t.Context(), j.plan(Options{})))
		if j.again != regions {
			t.Errorf("%d regions are not read again, want %d", j.again, regions)
		}
		if jobs, err := status.ReadAll(j.o.State.Dir); err != nil || jobs[0].State != history.JobDone || len(jobs[0].Resources) > 0 {
			t.Errorf("status: %+v, %v", jobs[0], err)
		}
	}
	for what, change := range map[string]func(*exportJob){
		"a file is missing":        func(j *exportJob) { testcheck.Must(t, os.Remove(filepath.Join(j.to, "part-00001.jsonl"))) },
		"a file is shorter":        func(j *exportJob) { testcheck.Must(t, os.Truncate(filepath.Join(j.to, "part-00001.jsonl"), 3)) },
		"the directory is missing": func(j *exportJob) { testcheck.Must(t, os.RemoveAll(j.to)) },
	} {
		j := newExportJob(t)
		j.stopped(2)
		change(j)
		j.whole(j.do(t.Context(), j.plan(Options{})))
		if want := 1 - strings.Count(what, "directory"); j.again != want {
			t.Errorf("%s: %d regions are not read again, want %d", what, j.again, want)
		}
	}
	j := newExportJob(t)
	j.stopped(2)
	j.save("yy") // another snapshot of that name
	m, err := j.do(t.Context(), j.plan(Options{}))
	if err != nil || j.again != 0 || m.Digest == j.want.Digest || m.Digest.Rows != 40 {
		t.Errorf("another snapshot: %d regions are not read again, %+v, %v", j.again, m, err)
	}
}

// TestExportOfAnotherKind checks that an export with other options does not resume, and that a complete export is not overwritten.
func TestExportOfAnotherKind(t *testing.T) {
	j := newExportJob(t)
	j.stopped(2)
	before := listed(t, hdfsio.Local{}, j.to)
	csv := j.plan(Options{Format: CSV, Columns: []string{"f:a"}})
	if _, err := j.do(t.Context(), csv); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "begun with other columns, format or job") {
		t.Error(err)
	}
	if left := listed(t, hdfsio.Local{}, j.to); !slices.Equal(left, before) {
		t.Errorf("%v are left of %v", left, before)
	}
	other := *j
	other.o.State.Dir = t.TempDir()
	if _, err := other.do(t.Context(), csv); !errors.Is(err, exportdir.ErrNotEmpty) || !strings.Contains(err.Error(), "give its command again") {
		t.Error(err)
	}
	j.o.State.Restart = true
	if m, err := j.do(t.Context(), csv); err != nil || m.Format != CSV || slices.Contains(listed(t, hdfsio.Local{}, j.to), "part-00000.jsonl") {
		t.Errorf("%+v, %v, %v", m, err, listed(t, hdfsio.Local{}, j.to))
	}
	for _, restart := range []bool{false, true} {
		if j.o.State.Restart = restart; !restart {
			continue
		}
		if _, err := j.do(t.Context(), csv); !errors.Is(err, exportdir.ErrNotEmpty) || !strings.Contains(err.Error(), "complete export") {
			t.Errorf("restart %t: %v", restart, err)
		}
	}
	testcheck.Must(t, os.RemoveAll(j.to))
	j.o.State.Restart = false
	j.whole(j.do(t.Context(), j.plan(Options{})))
}

// ended exports as far as the end of the job: the directory still has the job's token.
func (j *exportJob) ended() {
	j.t.Helper()
	name := filepath.Join(j.to, exportdir.Writing, "claim")
	var token []byte
	j.o.Gate = gate(func() {
		if b, err := os.ReadFile(name); err == nil {
			token = b
		}
	})
	j.whole(j.do(j.t.Context(), j.plan(Options{})))
	j.o.Gate = nil
	testcheck.Must(j.t, os.MkdirAll(filepath.Dir(name), 0o700))
	writeOver(j.t, name, token)
}

// TestExportEndedOfAnotherKind checks that an export that was killed after its end is ended only by the same command: another one is refused, and
// one that discards it writes new files.
func TestExportEndedOfAnotherKind(t *testing.T) {
	j := newExportJob(t)
	j.ended()
	for _, o := range []Options{{Format: CSV, Columns: []string{"f:a"}}, {Columns: []string{"f:a"}}, {Choice: choice.Asked{RowPrefix: "3"}}} {
		if m, err := j.do(t.Context(), j.plan(o)); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "begun with other columns, format or job") {
			t.Errorf("%+v: %+v, %v", o, m, err)
		}
	}
	j.whole(j.do(t.Context(), j.plan(Options{})))
	testcheck.Must(t, os.RemoveAll(j.to))
	for _, o := range []Options{{Format: CSV, Columns: []string{"f:a"}}, {}} {
		j.ended()
		j.save("yy")
		j.o.State.Restart = true
		m, err := j.do(t.Context(), j.plan(o))
		if err != nil || m.Digest.Rows != 40 || m.Digest == j.want.Digest || slices.Contains(listed(t, hdfsio.Local{}, j.to), exportdir.Writing) {
			t.Errorf("%+v: %+v, %v", o, m, err)
		}
		j.o.State.Restart = false
		j.save("x")
		testcheck.Must(t, os.RemoveAll(j.to))
	}
}

// TestExportFails checks that after a permanent error nothing is left, and that the same command starts over.
func TestExportFails(t *testing.T) {
	j := newExportJob(t)
	j.table.Load(4, put("35", "f:b", "a\x10b")) // a dump cannot contain it
	j.table.Save()
	dump := j.plan(Options{Format: Dump, Columns: []string{"f:a", "f:b"}})
	if _, err := j.do(t.Context(), dump); fail.KindOf(err).Retry() || err == nil {
		t.Errorf("%v, %s", err, fail.KindOf(err))
	}
	if left := listed(t, hdfsio.Local{}, j.to); left != nil {
		t.Errorf("%v are left", left)
	}
}

// TestExportKilled kills the program at each record of an export, and checks that the same command finishes it and leaves nothing behind.
func TestExportKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the program, which -short leaves out")
	}
	race.Plain(t)
	j := newExportJob(t)
	conf := t.TempDir()
	testcheck.Must(t, os.WriteFile(filepath.Join(conf, "hbase-site.xml"), fmt.Appendf(nil, "<configuration><property><name>hbase.rootdir</name><value>file://%s</value></property></configuration>", j.table.Root), 0o600))
	program := func(stopAfter string, args ...string) (int, string) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, jobtest.Program(t), append(args, "--state="+j.o.State.Dir)...)
		cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+conf, "HBASE_CONF_DIR="+conf, "BULKLOAD_TEST_STOP_AFTER="+stopAfter)
		text, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(text)
	}
	export := []string{"export", "snapshot:s", "--to=" + j.to, "--format=jsonl", "--workers=1"}
	for _, at := range []string{"attempt", "exporting:1", "exporting", "exported:1", "exported:2", "exported:1", "done"} {
		if code, out := program(at, export...); code != -1 {
			t.Fatalf("killed at %s: exit code %d: %s", at, code, out)
		}
	}
	if code, out := program("", export...); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	j.whole(ReadManifest(t.Context(), hdfsio.Local{}, j.to))
	if code, out := program("", export...); code != fail.Config.ExitCode() || !strings.Contains(out, "complete export") {
		t.Errorf("exit code %d: %s", code, out)
	}
	testcheck.Must(t, os.RemoveAll(j.to))
	if code, out := program("exported:1", export...); code != -1 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	jobs, err := status.ReadAll(j.o.State.Dir)
	testcheck.Must(t, err)
	cleaning, err := checkpoint.Clean(t.Context(), j.env, checkpoint.CleanOptions{State: j.o.State.Dir, Job: jobs[0].Job, Remove: true})
	if left := listed(t, hdfsio.Local{}, j.to); left != nil {
		t.Errorf("%v are left by clean: %+v, %v", left, cleaning, err)
	}
}
