package rekey_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/job"
	"bulkload/internal/jobs/rekey"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/keygen"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
)

// newKey has more salts than the source table.
const newKey = "salt(check_id, 32) + md5hex(`f:check_id`) + id"

// world is the built program with two tables on the test cluster.
type world struct {
	t        *testing.T
	cluster  *testcluster.Cluster
	env      *cluster.Env
	admin    *testcluster.Admin
	path     string
	old, new string
	state    string
	spill    string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, c)
	w := &world{t: t, cluster: c, env: env, admin: c.AdminT(t), state: t.TempDir(), spill: t.TempDir(), new: "test:" + testcheck.Name(t)}
	w.path = jobtest.Program(t)
	w.old = jobtest.FreshTable(t, env, 10, func(f *loader.Family) { f.Versions = 3 })
	s := jobtest.Spec(t, "check")
	s.Table, s.Inputs = w.old, []string{jobtest.Export(t, "check.csv")}
	if _, err := job.Run(t.Context(), env, jobtest.Resolve(t, s), job.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		c, err := env.Dial(ctx)
		if err != nil {
			return // the cluster goes away with the tests
		}
		defer c.Close()
		name, err := loader.ParseTableName(w.new)
		if err == nil {
			err = c.DeleteTable(ctx, name)
		}
		if err != nil && !errors.Is(err, loader.ErrTableNotFound) {
			t.Error(err)
		}
	})
	return w
}

func (w *world) java(args ...string) string {
	w.t.Helper()
	out, err := w.admin.Run(w.t.Context(), args...)
	if err != nil {
		w.t.Fatalf("%q: %v", args, err)
	}
	return out
}

// outcome is the exit code and output of the program.
type outcome struct {
	code           int
	stdout, stderr string
}

// rekey runs the command rekey. The program is killed after an event of the journal, or after a time.
func (w *world) rekey(stopAfter string, kill time.Duration, flags ...string) outcome {
	w.t.Helper()
	return w.program(stopAfter, kill, append([]string{"rekey", "--output=json", "--from=" + w.old, "--state=" + w.state, "--memory=128MiB", "--workers=2", "--spill-dir=" + w.spill}, flags...)...)
}

// program runs the program with any command.
func (w *world) program(stopAfter string, kill time.Duration, args ...string) outcome {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 3*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := w.command(ctx, stopAfter, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	if kill > 0 {
		timer := time.AfterFunc(kill, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	err := cmd.Wait()
	if ctx.Err() != nil {
		w.t.Fatalf("no end within three minutes: %s", errs.String())
	}
	o := outcome{stdout: out.String(), stderr: errs.String()}
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		o.code = e.ExitCode()
		if s, ok := e.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			o.code = 128 + int(s.Signal())
		}
	} else if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// command returns the program with any command.
func (w *world) command(ctx context.Context, stopAfter string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.path, args...)
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+w.cluster.ConfDir(), "HBASE_CONF_DIR="+w.cluster.ConfDir(), "HADOOP_USER_NAME=tina", "BULKLOAD_TEST_STOP_AFTER="+stopAfter)
	cmd.Dir = w.state
	return cmd
}

// want returns the lines that HBase's own client should see in the new table: those of the old one under new keys.
func (w *world) want(lines string) (want []string, rows int) {
	w.t.Helper()
	return w.wantOf(lines, lines)
}

// wantOf is want of some of all lines: new keys are made from the newest cells of all.
func (w *world) wantOf(lines, some string) (want []string, rows int) {
	w.t.Helper()
	e, err := keygen.Parse(newKey)
	if err != nil {
		w.t.Fatal(err)
	}
	program, err := keygen.Compile(e, keygen.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	type row struct {
		fields map[string]string
		lines  []string
	}
	all := map[string]*row{}
	for _, line := range strings.Split(lines, "\n") {
		f := strings.SplitN(line, "\t", 4)
		if len(f) != 4 {
			w.t.Fatalf("%q", line)
		}
		r := all[f[0]]
		if r == nil {
			r = &row{fields: map[string]string{}}
			all[f[0]] = r
		}
		if _, ok := r.fields[f[1]]; !ok { // the newest comes first
			value, err := rowkey.Parse(f[3])
			if err != nil {
				w.t.Fatal(err)
			}
			r.fields[f[1]] = string(value)
		}
	}
	for _, line := range strings.Split(some, "\n") {
		row, cell, _ := strings.Cut(line, "\t")
		all[row].lines = append(all[row].lines, cell)
	}
	for _, r := range all {
		var fields [][]byte
		for _, c := range program.Columns() {
			fields = append(fields, []byte(r.fields["f:"+strings.TrimPrefix(c, "f:")]))
		}
		key, err := program.Append(nil, fields)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, line := range r.lines {
			want = append(want, rowkey.String(key)+"\t"+line)
		}
	}
	slices.Sort(want)
	return want, len(all)
}

// judge compares the new table with the expected lines.
func (w *world) judge(want []string) {
	w.t.Helper()
	got := strings.Split(w.java("versions", w.new), "\n")
	slices.Sort(got)
	if slices.Equal(got, want) {
		return
	}
	n := 0
	for n < min(len(got), len(want)) && got[n] == want[n] {
		n++
	}
	w.t.Fatalf("HBase's client sees %d cells, not %d; from line %d on:\n%q\nwant\n%q", len(got), len(want), n, got[n:min(n+3, len(got))], want[n:min(n+3, len(want))])
}

// result returns the object that the program has printed last.
func (o outcome) result(t *testing.T) (r struct {
	Manifest struct {
		Records  int64 `json:"records"`
		NoCells  int64 `json:"no_cells"`
		Snapshot string
	} `json:"manifest"`
	Rekey struct {
		Next     int64  `json:"next_since"`
		Snapshot string `json:"snapshot"`
	} `json:"rekey"`
	Status string `json:"status"`
	Error  string `json:"error"`
}) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(o.stdout), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		t.Fatalf("%v: %s\n%s", err, o.stdout, o.stderr)
	}
	return r
}

// records returns the records of all existing journals.
func (w *world) records() (all []journal.Record) {
	w.t.Helper()
	names, err := filepath.Glob(filepath.Join(w.state, "*", journal.FileName))
	if err != nil || len(names) == 0 {
		w.t.Fatalf("journals %q: %v", names, err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		testcheck.Must(w.t, err)
		records, err := journal.Read(bytes.NewReader(b))
		testcheck.Must(w.t, err)
		all = append(all, records...)
	}
	return all
}

// snapshots returns the snapshots of journals that still exist.
func (w *world) snapshots() (left []string) {
	w.t.Helper()
	c, err := w.env.Dial(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	table, err := loader.ParseTableName(w.old)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range w.records() {
		if r.Event != string(history.EventRekey) {
			continue
		}
		k, err := history.Decode[history.RekeyRecord](r)
		testcheck.Must(w.t, err)
		if k.Snapshot == "" {
			continue
		}
		if _, ok, err := c.SnapshotTime(w.t.Context(), table, k.Snapshot); ok || err != nil {
			left = append(left, fmt.Sprint(k.Snapshot, err))
		}
	}
	return left
}

// killedAtRandom kills jobs at random moments, the given number of times, and checks each after it has ended.
func (w *world) killedAtRandom(rng *rand.Rand, kills int, want []string) {
	w.t.Helper()
	first := w.new
	for n := 0; kills > 0; n++ {
		w.new = fmt.Sprintf("%s%d", first, n)
		for longest := 2 * time.Second; ; longest += longest / 8 {
			after := time.Duration(rng.Int64N(int64(longest)))
			o := w.rekey("", after, "--to="+w.new, "--key="+newKey)
			w.t.Logf("killed after %s: exit code %d", after, o.code)
			if o.code == 0 {
				break
			}
			if o.code != 137 {
				w.t.Fatalf("exit code %d\n%s", o.code, o.stderr)
			}
			kills--
		}
		w.judge(want)
		w.nothingLeft()
		w.java("drop", w.new)
	}
}

// nothingLeft checks that there are no spilled runs, staged files or snapshots.
func (w *world) nothingLeft() {
	w.t.Helper()
	if files, err := os.ReadDir(w.spill); err != nil || len(files) > 0 {
		w.t.Errorf("in the spill directory: %v, %v", files, err)
	}
	staged, err := jobtest.UserFS(w.t, w.cluster, "tina").ReadDir(w.t.Context(), "/tmp/bulkload-tina")
	for _, f := range staged {
		if strings.HasPrefix(f.Name(), strings.ReplaceAll(w.new, ":", "_")+"-") { // jobs that were to fail keep their files
			w.t.Errorf("staged on HDFS: %s", f.Name())
		}
	}
	if err != nil {
		w.t.Error(err)
	}
	prepared, err := jobtest.UserFS(w.t, w.cluster, "hbase").ReadDir(w.t.Context(), "/hbase/staging")
	for _, d := range prepared {
		if strings.Contains(d.Name(), "__"+strings.ReplaceAll(w.new, ":", "_")+"__") {
			w.t.Errorf("HBase keeps %s", d.Name())
		}
	}
	if err != nil {
		w.t.Error(err)
	}
	if left := w.snapshots(); len(left) > 0 {
		w.t.Errorf("snapshots %q", left)
	}
}

// TestRekey gives new keys to the rows of the check sample, ten salts, keys of 32, with overwritten and deleted cells. It is killed after steps and
// at random moments, and the result is checked with HBase's own client. make test-faults has more of these.
func TestRekey(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the program on a cluster, which -short leaves out")
	}
	w := newRekeying(t)
	w.killed(t)
	w.firstPass(t)
	since := w.secondPass(t)
	w.deletedMeanwhile(t, since)
	other := w.new
	w.new += "b"
	defer func() { w.new = other }()
	w.twoRowsOfOneKey(t)
	w.columnsOfOldKeys(t, other)
	w.new += "c"
	w.chosen(t, since)
}

// A rekeying is a world whose old table others have changed, with the expected contents of the new one.
type rekeying struct {
	*world
	keys     []string // keys of the old table, as loaded
	digest   string   // of the changed old table
	expected []string // lines of the new table
	rows     int
	to       []string // flags of the job
	rng      *rand.Rand
	whole    bool // all kinds of faults, or only some
}

// newRekeying loads the old table and has others change it.
func newRekeying(t *testing.T) *rekeying {
	t.Helper()
	w := &rekeying{world: newWorld(t), whole: os.Getenv("BULKLOAD_FAULTS") != ""}
	w.change(t)
	w.digest = w.java("digest", w.old)
	w.expected, w.rows = w.want(w.java("versions", w.old))
	w.to = []string{"--to=" + w.new, "--key=" + newKey}
	w.rng = testcheck.Rand(t)
	return w
}

// change writes into the old table as others would: files have versions and markers, and the memstore has cells.
func (w *rekeying) change(t *testing.T) {
	t.Helper()
	before := strings.Split(w.java("scan", w.old), "\n")
	var keys []string
	for _, line := range before {
		key, _, _ := strings.Cut(line, "\t")
		if n := len(keys); n == 0 || keys[n-1] != key {
			keys = append(keys, key)
		}
	}
	if len(keys) < 100 {
		t.Fatalf("%d rows", len(keys))
	}
	for i, key := range keys[:60] {
		switch i % 4 {
		case 0: // the second one is in the memstore when the snapshot is taken
			w.java("put", w.old, key, "f:remarks", "overwritten once")
			w.java("put", w.old, key, "f:remarks", "and once more \\ \x01")
		case 1:
			w.java("put", w.old, key, "f:rule_no", "older", "1500000000000")
		case 2:
			w.java("delete", w.old, key)
		case 3:
			w.java("delete", w.old, key, "f:rule_no")
		}
	}
	w.java("flush", w.old)
	w.java("put", w.old, keys[80], "f:remarks", "of the memstore")
	w.java("delete", w.old, keys[81], "f:rule_type")
	w.keys = keys
}

// killed kills the job once after each of its steps.
func (w *rekeying) killed(t *testing.T) {
	kill := func(event history.Event, after time.Duration) {
		t.Helper()
		o := w.rekey(string(event), after, w.to...)
		t.Logf("killed after %s, %s: exit code %d", event, after, o.code)
		if o.code != 137 {
			t.Fatalf("exit code %d\n%s", o.code, o.stderr)
		}
	}
	kill(history.EventRekey, 0)
	kill(history.EventWritten+":2", 0)
	kill(history.EventBuilt, time.Duration(300+w.rng.IntN(1500))*time.Millisecond)
	if w.whole {
		for _, event := range []history.Event{history.EventAttempt, history.EventLoading, history.EventPrepared, history.EventSending} {
			kill(event, 0)
		}
	}
	kill(history.EventLoaded, 0)
	for _, event := range []history.Event{history.EventCleaned, history.EventVerified} {
		o := w.rekey(string(event), 0, w.to...) // sent files may be resolved without this step
		t.Logf("killed after %s: exit code %d", event, o.code)
		if o.code != 137 && o.code != 0 {
			t.Fatalf("exit code %d\n%s", o.code, o.stderr)
		}
	}
	written := map[int]int{}
	for _, r := range w.records() {
		if r.Event == string(history.EventWritten) {
			region, err := history.Decode[build.WrittenRecord](r)
			testcheck.Must(t, err)
			written[region.InSort()]++
		}
	}
	for region, n := range written {
		if n != 1 {
			t.Errorf("region %d was written %d times", region, n)
		}
	}
	if len(written) < 3 {
		t.Errorf("regions that were written: %v", written)
	}
}

// firstPass checks that the killed job is resumed to its end, and that the old table is unchanged.
func (w *rekeying) firstPass(t *testing.T) {
	first := w.rekey("", 0, w.to...)
	if first.code != 0 {
		t.Fatalf("exit code %d\n%s", first.code, first.stderr)
	}
	r := first.result(t)
	if r.Manifest.Records != int64(w.rows) || r.Rekey.Next == 0 {
		t.Errorf("%+v, %d rows", r, w.rows)
	}
	w.judge(w.expected)
	if now := w.java("digest", w.old); now != w.digest {
		t.Errorf("the old table was %s, is %s", w.digest, now)
	}
	if n := strings.Count(w.java("regions", w.new), "\n") + 1; n != 32 {
		t.Errorf("%d regions", n)
	}
	w.nothingLeft()
	if again := w.rekey("", 0, append(w.to, "--skip-exit-code", "--output=text")...); again.code != 99 || strings.Contains(again.stdout, " in 0s") {
		t.Errorf("a job that is done: exit code %d\n%s%s", again.code, again.stdout, again.stderr)
	}
}

// secondPass checks that a second pass copies exactly the later writes. It returns its Since.
func (w *rekeying) secondPass(t *testing.T) (since int64) {
	since = time.Now().UnixMilli()
	for i, key := range w.keys[100:130] {
		w.java("put", w.old, key, "f:remarks", fmt.Sprint("written later ", i))
	}
	for _, c := range []string{"check_id", "id", "remarks"} {
		w.java("put", w.old, "9new", "f:"+c, "new "+c)
	}
	second := w.rekey("", 0, append(w.to, fmt.Sprintf("--since=%d", since))...)
	if second.code != 0 {
		t.Fatalf("exit code %d\n%s", second.code, second.stderr)
	}
	if r := second.result(t); r.Manifest.Records != int64(w.rows)+1 || r.Manifest.NoCells != int64(w.rows)-30 {
		t.Errorf("%+v, %d rows", r, w.rows)
	}
	want, _ := w.want(w.java("versions", w.old))
	w.judge(want)
	w.java("major-compact", w.new)
	w.judge(want)
	w.nothingLeft()
	return since
}

// deletedMeanwhile checks that a row deleted meanwhile is kept in the new table, and that verification detects it.
func (w *rekeying) deletedMeanwhile(t *testing.T, since int64) {
	w.java("delete", w.old, "9new")
	if o := w.rekey("", 0, append(w.to, fmt.Sprintf("--since=%d", since), "--job-id=third")...); o.code != 8 || !strings.Contains(o.stderr, "deletes and changed keys also cause this") {
		t.Errorf("exit code %d\n%s", o.code, o.stderr)
	}
}

// twoRowsOfOneKey checks that neither the table nor the message contains a row.
func (w *rekeying) twoRowsOfOneKey(t *testing.T) {
	for _, show := range []bool{false, true} {
		o := w.rekey("", 0, "--to="+w.new, "--key=salt(check_id, 32) + md5hex(check_id)", fmt.Sprintf("--show-data=%t", show))
		if o.code != 4 || !strings.Contains(o.stderr, "two rows have the same key") || strings.Contains(o.stderr, "[data:") != show {
			t.Errorf("exit code %d\n%s", o.code, o.stderr)
		}
	}
	if w.java("count", w.new) != "0" {
		t.Error("a table has rows of a job that failed")
	}
}

// columnsOfOldKeys checks the columns of the old keys, with the spec that made them and with a wrong one. A table with rows is refused.
func (w *rekeying) columnsOfOldKeys(t *testing.T, other string) {
	if o := w.rekey("", 0, "--to="+w.new, "--old-key=salt(check_id, 11) + md5hex(check_id) + id", "--key=id"); o.code != 4 || !strings.Contains(o.stderr, "a row has no new key: its old key ") {
		t.Errorf("exit code %d\n%s", o.code, o.stderr)
	}
	w.java("drop", w.new)
	byOld := w.rekey("", 0, "--to="+w.new, "--old-key=salt(check_id, 10) + md5hex(check_id) + id", "--key="+newKey)
	if byOld.code != 0 {
		t.Fatalf("exit code %d\n%s", byOld.code, byOld.stderr)
	}
	want, _ := w.want(w.java("versions", w.old))
	w.judge(want)
	w.java("truncate", w.new)
	if w.whole {
		want, _ = w.want(w.java("versions", w.old))
		w.killedAtRandom(w.rng, 20, want)
	}
	if o := w.rekey("", 0, "--to="+other, "--key=id"); o.code != 3 || !strings.Contains(o.stderr, "rows with new keys go into an empty table") {
		t.Errorf("a table with rows: exit code %d\n%s", o.code, o.stderr)
	}
	w.java("drop", w.new)
	if left := w.snapshots(); len(left) > 0 {
		t.Errorf("snapshots %q", left)
	}
}

// TestRekeyAsksItsGate checks that pauses and windows hold this job too.
func TestRekeyAsksItsGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	from, err := loader.ParseTableName(w.old)
	testcheck.Must(t, err)
	to, err := loader.ParseTableName(w.new)
	testcheck.Must(t, err)
	jobtest.AsksGate(t, func(gate progress.Gate, e progress.Events) error {
		_, err := rekey.Run(t.Context(), w.env, rekey.Request{From: from, To: to, Key: newKey}, rekey.RunOptions{RunOptions: job.RunOptions{WorkOptions: build.WorkOptions{Gate: gate, Events: e}, State: checkpoint.Options{Dir: w.state}}})
		return err
	}, "read", "write", "load")
}

// TestRestartOfLoadedTable checks that the journal of a job that has loaded files is not discarded while the new table has rows, which a job that starts
// over refuses.
func TestRestartOfLoadedTable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	flags := []string{"--to=" + w.new, "--key=" + newKey, "--splits=08,10"}
	if o := w.rekey("loaded:1", 0, flags...); o.code != 137 {
		t.Fatalf("it is not killed while it loads: %+v", o)
	}
	if o := w.rekey("", 0, append(flags, "--restart")...); o.code != 3 || !strings.Contains(o.stderr, "rows with new keys go into an empty table") {
		t.Errorf("with a restart: exit code %d\n%s", o.code, o.stderr)
	}
	if o := w.rekey("", 0, flags...); o.code != 0 {
		t.Fatalf("resumed: exit code %d\n%s", o.code, o.stderr)
	}
	want, _ := w.want(w.java("versions", w.old))
	w.judge(want)
	w.java("drop", w.new)
	if o := w.rekey("", 0, append(flags, "--restart")...); o.code != 0 {
		t.Fatalf("after the new table was dropped: exit code %d\n%s", o.code, o.stderr)
	}
	w.judge(want)
}

// TestCleanDropsSnapshot checks that clean of a killed job deletes the snapshot that the job has taken.
func TestCleanDropsSnapshot(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the program on a cluster, which -short leaves out")
	}
	w := newWorld(t)
	if o := w.rekey("rekey:2", 0, "--to="+w.new, "--key="+newKey, "--splits=08,10"); o.code != 137 {
		t.Fatalf("it is not killed before it makes the table: %+v", o)
	}
	jobs, err := status.ReadAll(w.state)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	trace, err := status.ReadTrace(jobs[0].Dir)
	testcheck.Must(t, err)
	own := trace.OwnSnapshots[history.PlaceRekeyed]
	if len(w.snapshots()) == 0 {
		t.Fatalf("the job has not taken snapshot %q", own.Snapshot)
	}
	if _, err := checkpoint.Clean(t.Context(), w.env, checkpoint.CleanOptions{State: w.state, Job: jobs[0].Job, Remove: true}); err != nil {
		t.Fatal(err)
	}
	c, err := w.env.Dial(t.Context())
	testcheck.Must(t, err)
	defer c.Close()
	table, err := loader.ParseTableName(w.old)
	testcheck.Must(t, err)
	if _, there, err := c.SnapshotTime(t.Context(), table, own.Snapshot); there || err != nil {
		t.Errorf("snapshot %q is there: %t, %v", own.Snapshot, there, err)
	}
	if _, err := os.Stat(jobs[0].Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the job's directory: %v", err)
	}
}

// TestRekeyMergedMeanwhile merges regions of the new table, while it is empty, after a kill between its creation and the plan.
func TestRekeyMergedMeanwhile(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the program on a cluster, which -short leaves out")
	}
	w := newWorld(t)
	want, _ := w.want(w.java("versions", w.old))
	flags := []string{"--to=" + w.new, "--key=" + newKey, "--splits=08,10"}
	if o := w.rekey("rekey:2", 0, flags...); o.code != 137 {
		t.Fatalf("it is not killed before it makes the table: %+v", o)
	}
	w.java("create", w.new, "--splits", "08", "--versions", "3")
	if o := w.rekey("", 0, flags...); o.code != 0 {
		t.Fatalf("the same command gives %d: %s", o.code, o.stderr)
	}
	w.judge(want)
	if left := w.snapshots(); len(left) > 0 {
		t.Errorf("snapshots are left: %q", left)
	}
	other := append(slices.Clone(flags[:2]), "--splits=08,12", "--job-id=other")
	if o := w.rekey("", 0, other...); o.code != 3 || !strings.Contains(o.stderr, "no region begins at 12") || strings.Contains(o.stderr, "the snapshot stays") {
		t.Errorf("a table of others without these split points: %d: %s", o.code, o.stderr)
	}
}
