package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/testcheck"
)

// give runs the program with these arguments to its end.
func give(t *testing.T, l *Lab, args ...string) *process {
	t.Helper()
	p, err := launch(append([]string{l.Program}, args...), l.environment(), l.root)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("bulkload %s: exit code %d %s", args[0], p.exit, p.lastError())
	return p
}

// adm runs a command of the Java client.
func adm(t *testing.T, l *Lab, args ...string) string {
	t.Helper()
	out, err := l.admin(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// frozenAt starts the program of a round, which suspends itself after the first record of an event until SIGCONT.
func frozenAt(t *testing.T, l *Lab, r *round, event string) *process {
	t.Helper()
	p, err := launch(r.argv, l.environment("BULKLOAD_TEST_STOP_AFTER="+event+":1:freeze"), l.root)
	testcheck.Must(t, err)
	t.Cleanup(func() { p.signal(syscall.SIGKILL) })
	if !at(event).wait(p, r.state) {
		t.Fatalf("it ended before %s: %s", event, p.lastError())
	}
	// It freezes itself: a signal from here could arrive before, and SIGCONT would then let it run into its own.
	testcheck.Eventually(t, time.Minute, "the program stands still", func() (bool, any) {
		if !p.running() {
			t.Fatalf("it ended behind %s: %s", event, p.lastError())
		}
		still, err := p.still()
		testcheck.Must(t, err)
		return still, nil
	})
	return p
}

// begin prepares a round without running anything.
func begin(t *testing.T, l *Lab, j Job) *round {
	t.Helper()
	r := l.round(uint64(time.Now().UnixNano()), j, Fault{Kind: None})
	testcheck.Must(t, r.prepare(t.Context()))
	t.Cleanup(func() {
		if !t.Failed() {
			l.admin(context.WithoutCancel(t.Context()), "drop", r.table)
		}
	})
	return r
}

// built is begin with the job's HFiles in a directory on HDFS, built for a table with other split points.
func built(t *testing.T, l *Lab, j Job, at []string) (r *round, dir string) {
	t.Helper()
	r = begin(t, l, j)
	dir = "hdfs://" + r.stage + "/hfiles"
	args := []string{"build", "--out=" + dir, "--splits=" + strings.Join(at, ",")}
	for _, a := range r.argv[2:] {
		for _, keep := range []string{"--job=", "--input=", "--format=", "--salt-buckets=", "--memory=", "--empty=", "--spill-dir="} {
			if strings.HasPrefix(a, keep) {
				args = append(args, a)
			}
		}
	}
	if p := give(t, l, args...); p.exit != 0 {
		t.Fatal(p.lastError())
	}
	fsys, p, err := l.env.Resolve(dir)
	testcheck.Must(t, err)
	// The directory's owner lets HBase write in it, as documented for direct loads.
	testcheck.Must(t, fsys.Chmod(t.Context(), p, 0o777))
	return r, dir
}

// held fails the test unless the table and all locations are in the expected state.
func held(t *testing.T, r *round) {
	t.Helper()
	o := &Outcome{}
	testcheck.Must(t, r.judge(t.Context(), o))
	for _, p := range o.Problems {
		t.Error(p)
	}
}

// stageFiles returns the files of a round's directory on HDFS.
func stageFiles(t *testing.T, r *round) []string {
	t.Helper()
	fsys, p, err := r.lab.env.Resolve("hdfs://" + r.stage)
	testcheck.Must(t, err)
	files, err := filesBelow(t.Context(), fsys, p)
	testcheck.Must(t, err)
	return files
}

// TestRow02ListedFileMissing removes one file of a built directory: nothing is loaded.
func TestRow02ListedFileMissing(t *testing.T) {
	l := whole(t)
	r, dir := built(t, l, Job{Spec: data.Spec{Rows: 500, Seed: 2, Regions: 3}, Form: data.CSV, Memory: "64MiB"}, splits(3))
	before := stageFiles(t, r)
	fsys, p, err := l.env.Resolve(dir)
	testcheck.Must(t, err)
	list, err := fsys.ReadDir(t.Context(), p+"/f")
	testcheck.Must(t, err)
	testcheck.Must(t, fsys.Rename(t.Context(), p+"/f/"+list[0].Name(), r.stage+"/away"))
	got := give(t, l, "load", "--state="+r.state, "--table="+r.table, dir)
	if got.exit != 5 || !strings.Contains(got.lastError(), list[0].Name()) {
		t.Errorf("exit code %d: %s", got.exit, got.lastError())
	}
	if n := adm(t, l, "count", r.table); n != "0" {
		t.Errorf("%s rows are in the table", n)
	}
	if after := stageFiles(t, r); len(after) != len(before) {
		t.Errorf("files are %v, were %v", after, before)
	}
}

// TestRow05Straddling loads files of one range into tables of 2 and of 20 regions, and checks that no split file is
// left. (Rows 4, 5 and 17.)
func TestRow05Straddling(t *testing.T) {
	l := whole(t)
	for _, regions := range []int{2, 20} {
		t.Run(strconv.Itoa(regions), func(t *testing.T) {
			r, dir := built(t, l, Job{Spec: data.Spec{Rows: 3000, Seed: 5, Regions: regions}, Form: data.CSV, Memory: "64MiB"}, nil)
			got := give(t, l, "load", "--state="+r.state, "--table="+r.table, "--verify=off", dir)
			if got.exit != 0 {
				t.Fatal(got.lastError())
			}
			for _, f := range stageFiles(t, r) {
				if strings.Contains(f, "/f/") || strings.Contains(f, "_writing") {
					t.Errorf("left: %s", f)
				}
			}
			fsys, p, err := l.env.Resolve("hdfs://" + r.stage)
			testcheck.Must(t, err)
			testcheck.Must(t, fsys.RemoveAll(t.Context(), p))
			held(t, r)
		})
	}
}

// TestRow09UnknownFamily uses a family that the table does not have.
func TestRow09UnknownFamily(t *testing.T) {
	l := whole(t)
	r := begin(t, l, Job{Spec: data.Spec{Rows: 200, Seed: 9, Regions: 2}, Form: data.CSV, Memory: "64MiB"})
	l.proxies.Arm(AnswerDelay, 0, 0)
	got := give(t, l, append(r.argv[1:], "--family=g")...)
	if calls, _ := l.proxies.Disarm(); got.exit != 3 || calls != 0 || !strings.Contains(got.lastError(), "g") {
		t.Errorf("exit code %d after %d loading calls: %s", got.exit, calls, got.lastError())
	}
}

// TestRow10Junk puts a file that is not an HFile next to those of a build.
func TestRow10Junk(t *testing.T) {
	l := whole(t)
	r, dir := built(t, l, Job{Spec: data.Spec{Rows: 300, Seed: 10, Regions: 2}, Form: data.CSV, Memory: "64MiB"}, splits(2))
	fsys, p, err := l.env.Resolve(dir)
	testcheck.Must(t, err)
	testcheck.Must(t, fsys.Rename(t.Context(), p+"/_bulkload.json", p+"/f/notes.txt"))
	got := give(t, l, "load", "--state="+r.state, "--table="+r.table, dir)
	if got.exit == 0 || !strings.Contains(got.lastError(), "notes.txt") {
		t.Errorf("exit code %d: %s", got.exit, got.lastError())
	}
	if n := adm(t, l, "count", r.table); n != "0" {
		t.Errorf("%s rows are in the table", n)
	}
}

// TestRow11ManyFiles loads 40 files into a region that may get 16.
func TestRow11ManyFiles(t *testing.T) {
	l := whole(t)
	var at []string
	for i := 1; i < 40; i++ {
		at = append(at, fmt.Sprintf("0%02x", i*6))
	}
	r, dir := built(t, l, Job{Spec: data.Spec{Rows: 4000, Seed: 11, Regions: 1}, Form: data.CSV, Memory: "64MiB"}, at)
	if n := len(stageFiles(t, r)); n < 33 {
		t.Fatalf("%d files are too few for the test", n)
	}
	if got := give(t, l, "load", "--state="+r.state, "--table="+r.table, "--verify=off", "--max-files=16", dir); got.exit != 0 {
		t.Fatal(got.lastError())
	}
	files, err := l.storeFiles(t.Context(), r.table)
	testcheck.Must(t, err)
	if len(files) > 16 {
		t.Errorf("%d files are in the region", len(files))
	}
	fsys, p, err := l.env.Resolve("hdfs://" + r.stage)
	testcheck.Must(t, err)
	testcheck.Must(t, fsys.RemoveAll(t.Context(), p))
	held(t, r)
}

// TestRow12NoTable runs a job for a table that does not exist.
func TestRow12NoTable(t *testing.T) {
	l := whole(t)
	r := begin(t, l, Job{Spec: data.Spec{Rows: 200, Seed: 12, Regions: 2}, Form: data.CSV, Memory: "64MiB"})
	adm(t, l, "drop", r.table)
	got := give(t, l, r.argv[1:]...)
	if got.exit != 3 || !strings.Contains(got.lastError(), r.table) || len(stageFiles(t, r)) > 0 {
		t.Errorf("exit code %d: %s, files %v", got.exit, got.lastError(), stageFiles(t, r))
	}
}

// TestRow22NewerCells puts cells with later and with earlier timestamps than the job's under its rows.
func TestRow22NewerCells(t *testing.T) {
	l := whole(t)
	r := begin(t, l, Job{Spec: data.Spec{Rows: 300, Seed: 22, Regions: 2}, Form: data.CSV, Memory: "64MiB", Verify: "off"})
	newer, older := r.loaded[3].key, r.loaded[5].key
	adm(t, l, "put", r.table, newer, "f:id", "newer", "3000000000000")
	adm(t, l, "put", r.table, older, "f:id", "older", "1000")
	adm(t, l, "flush", r.table)
	want := &r.contents[0]
	want.cells += 2
	for i, c := range r.loaded[3].cells {
		if c.qualifier == "id" {
			was := r.loaded[3].cells[i].value
			r.loaded[3].cells[i].value = "newer"
			want.digest = digest(r.loaded, family)
			r.loaded[3].cells[i].value = was
		}
	}
	if got := give(t, l, r.argv[1:]...); got.exit != 0 {
		t.Fatal(got.lastError())
	}
	held(t, r)
}

// TestQuickRow25TwoAtOnce suspends one run of a job: a second run of it gives up and names the first, and another job
// loads into the same table meanwhile.
func TestQuickRow25TwoAtOnce(t *testing.T) {
	l := sharedLab(t)
	j := fewRows()
	r := begin(t, l, j)
	first := frozenAt(t, l, r, "written")
	second := give(t, l, r.argv[1:]...)
	if second.exit != 75 || !strings.Contains(second.lastError(), strconv.Itoa(first.pid)) {
		t.Errorf("the second run exits %d, and does not name process %d: %s", second.exit, first.pid, second.lastError())
	}
	other := l.round(uint64(time.Now().UnixNano()), Job{Spec: data.Spec{Rows: 700, Seed: 25, Regions: j.Spec.Regions}, Form: data.Dump, Memory: "64MiB"}, Fault{Kind: None})
	other.table, other.exists = r.table, true
	testcheck.Must(t, other.prepare(t.Context()))
	if got := give(t, l, other.argv[1:]...); got.exit != 0 {
		t.Error(got.lastError())
	}
	first.signal(syscall.SIGCONT)
	testcheck.Must(t, first.wait(t.Context()))
	if first.exit != 0 {
		t.Fatal(first.lastError())
	}
	all := append(append([]row(nil), r.loaded...), other.loaded...)
	for i := 0; i < j.Before; i += 2 {
		all = append(all, row{fmt.Sprintf("%d-before-%03d", i%10, i), []cell{{"id", "before " + strconv.Itoa(i)}}})
	}
	sortRows(all)
	r.contents[0].digest = digest(all, family)
	r.contents[0].cells += countCells(other.loaded)
	held(t, r)
}

// TestQuickChangedInput changes the input of a job that was killed: its existing data is not mixed with the new
// input.
func TestQuickChangedInput(t *testing.T) {
	l := sharedLab(t)
	r := begin(t, l, fewRows())
	p, err := launch(r.argv, l.environment("BULKLOAD_TEST_STOP_AFTER=built:1"), l.root)
	testcheck.Must(t, err)
	testcheck.Must(t, p.wait(t.Context()))
	if p.exit != 128+int(syscall.SIGKILL) {
		t.Fatalf("exit code %d", p.exit)
	}
	inputs, err := filepath.Glob(filepath.Join(filepath.Dir(r.state), "*.csv"))
	testcheck.Must(t, err)
	later := time.Now().Add(time.Minute)
	testcheck.Must(t, os.Chtimes(inputs[0], later, later))
	if got := give(t, l, r.argv[1:]...); got.exit != 5 || !strings.Contains(got.lastError(), filepath.Base(inputs[0])) || !strings.Contains(got.lastError(), "--restart") {
		t.Errorf("exit code %d: %s", got.exit, got.lastError())
	}
	if got := give(t, l, append(r.argv[1:], "--restart")...); got.exit != 0 {
		t.Fatal(got.lastError())
	}
	held(t, r)
}

// TestRow28Zombie stops a region server during its loads for so long that it is declared dead and the other one opens
// its regions. When it resumes it still renames files into regions that are no longer its own: such a file is in the
// region's directory, but unknown to the region's current server. The rows must be there in the end nevertheless.
func TestRow28Zombie(t *testing.T) {
	l := whole(t)
	for i, stage := range []string{"secure", "direct"} {
		for server := range regionServers {
			t.Run(fmt.Sprintf("%s %d", stage, server), func(t *testing.T) {
				j := Job{Spec: data.Spec{Rows: 3000, Seed: 28, Regions: 12}, Form: data.Dump, Memory: "64MiB", Verify: "full", Stage: stage}
				survive(t, l, uint64(280+2*i+server), j, Fault{Kind: RSZombie, When: at("sending"), For: 16 * time.Second, Server: server})
			})
		}
	}
}

// TestRow31TableStaysDisabled disables a table during a run and keeps it disabled: the run ends by itself, and the
// same command succeeds when the table is enabled.
func TestRow31TableStaysDisabled(t *testing.T) {
	l := whole(t)
	r := begin(t, l, fewRows())
	p := frozenAt(t, l, r, "built")
	adm(t, l, "disable", r.table)
	p.signal(syscall.SIGCONT)
	testcheck.Must(t, p.wait(t.Context()))
	if p.exit == 0 || !strings.Contains(p.lastError(), "enable") {
		t.Errorf("exit code %d: %s", p.exit, p.lastError())
	}
	adm(t, l, "enable", r.table)
	if got := give(t, l, r.argv[1:]...); got.exit != 0 {
		t.Fatal(got.lastError())
	}
	held(t, r)
}

// TestRow34Chain loads five jobs in sequence into one table whose regions split and move meanwhile; after each the
// table has the rows of all.
func TestRow34Chain(t *testing.T) {
	l := whole(t)
	var table string
	var prior []row
	var cells int64
	for i, f := range []Fault{
		{Kind: Split, When: at("built"), Frozen: true, Pick: 500},
		{Kind: Move, When: at("sending"), Pick: 100},
		{Kind: Split, When: at("plan"), Pick: 900},
		{Kind: RSKill, When: at("sending"), For: time.Second},
		{Kind: Split, When: at("prepared"), Frozen: true, Pick: 1300},
	} {
		j := Job{Spec: data.Spec{Rows: 1500, Seed: uint64(340 + i), Regions: 4}, Form: data.Dump, Memory: "64MiB", Verify: "full"}
		r := l.round(uint64(340+i), j, f)
		if i == 0 {
			table = r.table
		} else {
			r.table, r.exists = table, true
		}
		r.prior, r.before = prior, cells
		o := r.whole(t.Context(), uint64(340+i))
		report(t, l, o)
		if t.Failed() {
			return
		}
		prior = append(append([]row(nil), prior...), r.loaded...)
		cells += countCells(r.loaded)
	}
	adm(t, l, "drop", table)
}

// TestRow36Ways loads by every way into tables of both store-file trackers.
func TestRow36Ways(t *testing.T) {
	l := whole(t)
	for i, c := range []struct{ stage, tracker string }{{"secure", ""}, {"direct", ""}, {"auto", ""}, {"auto", "FILE"}, {"direct", "FILE"}} {
		t.Run(c.stage+" "+c.tracker, func(t *testing.T) {
			j := fewRows()
			j.Stage, j.Tracker = c.stage, c.tracker
			survive(t, l, uint64(360+i), j, Fault{Kind: None})
			survive(t, l, uint64(370+i), j, Fault{Kind: string(AnswerCut), Calls: 1})
			survive(t, l, uint64(380+i), j, Fault{Kind: KillAt, When: at("sending"), Nth: 1})
		})
	}
	r := begin(t, l, Job{Spec: data.Spec{Rows: 200, Seed: 36, Regions: 2}, Form: data.CSV, Memory: "64MiB", Stage: "secure", Tracker: "FILE"})
	if got := give(t, l, r.argv[1:]...); got.exit == 0 || !strings.Contains(got.lastError(), "--load-mode direct") {
		t.Errorf("token staging with the tracker FILE: exit code %d: %s", got.exit, got.lastError())
	}
}

// TestSeeds runs random rounds of every kind of fault.
func TestSeeds(t *testing.T) {
	l := whole(t)
	for k, kind := range Kinds() {
		for i := range uint64(2) {
			t.Run(fmt.Sprintf("%s %d", kind, i), func(t *testing.T) {
				report(t, l, l.Round(t.Context(), uint64(10_000+100*k)+i, kind))
			})
		}
	}
}
