package job

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/preflight"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// TestReadingChangeIsRefused checks that the settings for reading are part of the
// job, also of a finished one.
func TestReadingChangeIsRefused(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	bad := jobtest.ManyRecords(t, 300)
	f, err := os.OpenFile(bad, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("too\x01short\x10"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, input   string
		first, second []string
		says          string
	}{
		{"header", jobtest.Export(t, "check.csv"), []string{"--header=no", "--bad-records=1"}, []string{"--bad-records=1"}, "header was no, it is yes"},
		{"format", jobtest.Export(t, "check.csv"), []string{"--header=no", "--bad-records=1"}, []string{"--header=no", "--bad-records=1", "--format=dump", "--field-sep=,", `--record-sep=\n`}, "was csv, it is dump"},
		{"fewer bad records", bad, []string{"--bad-records=3"}, nil, "bad_records was 3, it is 0"},
		{"more bad records", bad, []string{"--bad-records=3"}, []string{"--bad-records=5"}, ""}, // same rows
	} {
		for _, stop := range []string{"written:3", ""} {
			t.Run(c.what+" after "+stop, func(t *testing.T) {
				t.Parallel()
				p := newProgram(t, name)
				p.input = c.input
				if code, _, stderr := p.run(stop, append(c.first, "--verify=off")...); code != 0 && code != 137 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				code, _, stderr := p.run("", append(c.second, "--verify=off")...)
				if c.says == "" {
					if code != 0 {
						t.Errorf("exit code %d: %s", code, stderr)
					}
					return
				}
				if code != 3 || !strings.Contains(stderr, c.says) || !strings.Contains(stderr, "--restart") || !strings.Contains(stderr, "--job-id") {
					t.Errorf("exit code %d: %s", code, stderr)
				}
				if code, _, stderr := p.run("", append(c.first, "--verify=off")...); code != 0 {
					t.Errorf("as it was: exit code %d: %s", code, stderr)
				}
			})
		}
	}
}

// TestSpellingsAreOneJob checks that any spelling of a job's table, inputs and key
// gives the same job, which is locked and done once.
func TestSpellingsAreOneJob(t *testing.T) {
	t.Parallel()
	p := newProgram(t, buildProgram(t))
	_, word, _ := strings.Cut(p.table, ":")
	table, err := loader.ParseTableName("one_" + word)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.env.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	jobtest.MakeTable(t, p.env, c, loader.TableSpec{Name: table, Families: []loader.Family{{Name: "f"}}})
	p.table = table.String()
	relative, err := filepath.Rel(p.state, p.input)
	if err != nil {
		t.Fatal(err)
	}
	key := "--key=salt(check_id, 10) + md5hex(check_id) + id"
	if code, _, stderr := p.run("", key); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	dirs, err := filepath.Glob(filepath.Join(p.state, "*-*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%q %v", dirs, err)
	}
	spellings := map[string]func(){
		"the namespace":   func() { p.table = "default:" + table.Qualifier },
		"a relative path": func() { p.input = relative },
		"dots":            func() { p.input = "./" + relative },
		"a URI":           func() { p.input = "file://" + jobtest.Export(t, "check.dump") },
		"the key":         func() { key = "--key=salt( check_id,10)+md5hex(check_id)+id" },
	}
	lock, err := journal.TryLock(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	for what, spell := range spellings {
		spell()
		if code, _, stderr := p.run("", key, "--skip-exit-code"); code != 75 {
			t.Errorf("%s, while it is running: exit code %d: %s", what, code, stderr)
		}
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	for what, spell := range spellings {
		spell()
		if code, _, stderr := p.run("", key, "--skip-exit-code"); code != 99 {
			t.Errorf("%s: exit code %d: %s", what, code, stderr)
		}
	}
}

// TestOneJobOnHDFS checks the same for directories on HDFS.
func TestOneJobOnHDFS(t *testing.T) {
	t.Parallel()
	p := newProgram(t, buildProgram(t))
	_, word, _ := strings.Cut(p.table, ":")
	dir := "/tmp/one-" + word
	put(t, p.env, p.input, dir+"/check.dump")
	authority := strings.TrimPrefix(p.env.Conf.Value("fs.defaultFS"), "hdfs://")
	for i, input := range []string{"hdfs://" + dir, "hdfs://" + dir + "/", "hdfs://" + authority + dir, "hdfs://" + dir + "/../one-" + word} {
		p.input = input
		want := 0
		if i > 0 {
			want = 99
		}
		if code, _, stderr := p.run("", "--skip-exit-code"); code != want {
			t.Errorf("%s: exit code %d: %s", input, code, stderr)
		}
	}
}

// TestRecreatedTableIsRefused checks that a table is refused that was recreated, or
// emptied, between two attempts, or after the job was done.
func TestRecreatedTableIsRefused(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	for what, change := range map[string]func(*testing.T, *program){
		"dropped": func(t *testing.T, p *program) {
			p.admin(t, "drop")
			p.admin(t, "create", "--splits", "1,2,3", "--compression", "SNAPPY", "--encoding", "FAST_DIFF")
		},
		"emptied": func(t *testing.T, p *program) { p.admin(t, "truncate") },
	} {
		for _, stop := range []string{"built", "loaded:3", ""} {
			t.Run(what+" after "+stop, func(t *testing.T) {
				t.Parallel()
				p := newProgram(t, name)
				if code, _, stderr := p.run(stop); code != 0 && code != 137 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				change(t, p)
				loaded := map[bool]string{true: "has loaded nothing yet", false: "what this job loaded is lost"}[stop == "built"]
				for _, mode := range []string{"off", "sample", "full"} {
					code, _, stderr := p.run("", "--verify="+mode)
					if want := map[bool]int{true: 8, false: 3}[stop == ""]; code != want || !strings.Contains(stderr, "recreated") || !strings.Contains(stderr, loaded) || !strings.Contains(stderr, "--restart") {
						t.Errorf("--verify %s: exit code %d: %s", mode, code, stderr)
					}
				}
				if code, _, stderr := p.run("", "--restart"); code != 0 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				p.dropTokens() // --restart forgets HBase's staging directory
				p.judge(programRegions)
			})
		}
	}
}

// dropTokens removes HBase's staging directories of killed loads of the table.
func (p *program) dropTokens() {
	p.t.Helper()
	fsys, _, err := jobtest.ClusterEnvAs(p.t, p.cluster, "hbase").Resolve("hdfs:///")
	if err != nil {
		p.t.Fatal(err)
	}
	const staging = "/hbase/staging"
	list, err := fsys.ReadDir(p.t.Context(), staging)
	if err != nil {
		p.t.Fatal(err)
	}
	_, name, _ := strings.Cut(p.table, ":")
	for _, d := range list {
		if strings.Contains(d.Name(), "_"+name+"__") {
			if err := fsys.RemoveAll(p.t.Context(), path.Join(staging, d.Name())); err != nil {
				p.t.Fatal(err)
			}
		}
	}
}

// TestSplitTableIsTheSame checks that a table whose regions were split, merged or
// out of service is still the same, whether its directory can be read or not.
func TestSplitTableIsTheSame(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	outOfService := func(t *testing.T, p *program) { p.admin(t, "disable"); p.admin(t, "enable") }
	allSplit := func(t *testing.T, p *program) {
		for _, at := range strings.Fields("1a 4a 6a 9a") {
			p.admin(t, "split", at)
		}
	}
	altered := func(t *testing.T, p *program) {
		p.admin(t, "family", "f", "COMPRESSION=GZ")
		p.admin(t, "family", "f", "BLOOMFILTER=ROWCOL")
	}
	salted := partition.SaltSplits(programRegions)
	few := [][]byte{[]byte("3"), []byte("5"), []byte("8")} // each split takes seconds
	for what, c := range map[string]struct {
		change func(*testing.T, *program)
		stops  []string
		splits [][]byte
		flags  []string
	}{
		"a split":                       {func(t *testing.T, p *program) { p.admin(t, "split", "2a") }, []string{"loaded:3"}, salted, nil},
		"a merge":                       {func(t *testing.T, p *program) { p.admin(t, "merge", "1", "2") }, []string{"built", ""}, salted, nil},
		"all split":                     {allSplit, []string{"loaded:3", ""}, few, []string{"--salt-buckets=10"}},
		"all split, and out of service": {func(t *testing.T, p *program) { allSplit(t, p); outOfService(t, p) }, []string{"built", ""}, few, []string{"--salt-buckets=10"}},
		"out of service":                {outOfService, []string{"loaded:3"}, salted, nil},
		"other settings of the family":  {altered, []string{"built", "loaded:3", ""}, salted, nil},
	} {
		for _, stop := range c.stops {
			t.Run(what+" after "+stop, func(t *testing.T) {
				t.Parallel()
				p := newProgramAt(t, name, c.splits)
				if code, _, stderr := p.run(stop, c.flags...); code != 0 && code != 137 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				c.change(t, p)
				if code, _, stderr := p.run("", c.flags...); code != 0 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				want := jobtest.SaltedDigestLine(t, "check", "skip", programRegions)
				if c.flags != nil {
					want = jobtest.DigestLine(t, "check", "skip")
				}
				if got, err := p.cluster.AdminT(t).Digest(t.Context(), p.table); err != nil || got != want {
					t.Errorf("the table has %s %v", got, err)
				}
			})
		}
	}
}

// TestTableRecreatedWhileLoading checks that files loaded into a table that was
// dropped do not count as loaded.
func TestTableRecreatedWhileLoading(t *testing.T) {
	t.Parallel()
	p := newProgram(t, buildProgram(t))
	s := jobtest.Spec(t, "check")
	s.Table, s.Inputs, s.Verify = p.table, []string{p.input}, "off"
	loaded := 0
	e := progress.Events{OnLoad: func(string, int) {
		if loaded++; loaded == programRegions {
			if _, err := p.cluster.AdminT(t).Run(t.Context(), "truncate", p.table); err != nil {
				t.Error(err)
			}
		}
	}}
	o := RunOptions{WorkOptions: build.WorkOptions{Events: e}, LoadConcurrency: 1, State: checkpoint.Options{Dir: p.state}}
	_, err := Run(t.Context(), p.env, jobtest.Resolve(t, s), o)
	if fail.KindOf(err) != fail.Verify || !strings.Contains(err.Error(), "recreated") {
		t.Errorf("error is %v", err)
	}
	if n := p.count("done"); n != 0 {
		t.Error("the journal says that the job is done")
	}
}

// TestFullVerificationOfADoneJob checks that running a finished job again verifies
// the current table.
func TestFullVerificationOfADoneJob(t *testing.T) {
	t.Parallel()
	p := newProgram(t, buildProgram(t))
	p.input = jobtest.ManyRecords(t, 3000)
	if code, _, stderr := p.run(""); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if code, stdout, stderr := p.run("", "--verify=full"); code != 0 || !strings.Contains(stdout, `"got":{"rows":3000`) {
		t.Errorf("exit code %d: %s %s", code, stdout, stderr)
	}
	sampled, stamp := map[string]bool{}, ""
	for _, r := range p.records() {
		if r.Event == "plan" {
			plan, err := history.Decode[history.PlanRecord](r)
			if err != nil {
				t.Fatal(err)
			}
			stamp = strconv.FormatInt(plan.Timestamp, 10)
		}
		if r.Event == "written" {
			w, err := history.Decode[build.WrittenRecord](r)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range w.Samples {
				sampled[string(s.Key)] = true
			}
		}
	}
	// Another value of a cell that is not in a sample, with the job's timestamp.
	c, err := p.env.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	table, err := loader.ParseTableName(p.table)
	if err != nil {
		t.Fatal(err)
	}
	var row string
	stop := errors.New("found")
	err = c.Scan(t.Context(), loader.ScanRequest{Table: table}, func(r loader.Row) error {
		if sampled[string(r.Key)] {
			return nil
		}
		row = string(r.Key)
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	p.admin(t, "put", row, "f:rule_no", "other", stamp)
	for mode, want := range map[string]int{"full": 8, "sample": 0, "off": 0} {
		if code, _, stderr := p.run("", "--verify="+mode); code != want {
			t.Errorf("--verify %s: exit code %d: %s", mode, code, stderr)
		}
	}
}

// TestModulusOfThePlanAfterAMerge checks that the modulus of the plan is used when
// the table's split points do not show it any more.
func TestModulusOfThePlanAfterAMerge(t *testing.T) {
	t.Parallel()
	p := newProgram(t, buildProgram(t))
	if code, _, stderr := p.run("built"); code != 137 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	p.admin(t, "merge", "1", "2")
	if code, _, stderr := p.run(""); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
}

// TestKeptStagingStays checks that a staging directory that a run has kept is not
// removed by the same command without the flag.
func TestKeptStagingStays(t *testing.T) {
	t.Parallel()
	p := newProgram(t, buildProgram(t))
	if code, _, stderr := p.run("", "--keep-staging"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := p.run("", "--skip-exit-code"); code != 99 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	dirs, err := filepath.Glob(filepath.Join(p.state, "*-*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%q %v", dirs, err)
	}
	h, err := readHistory(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	fsys, dir, err := p.env.Resolve(h.Plan.Staging)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.Stat(t.Context(), dir); err != nil {
		t.Errorf("the staging directory: %v", err)
	}
	if err := fsys.RemoveAll(t.Context(), dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

// TestTableNameCannotLeaveTheState checks that a name with ../ creates no
// directory.
func TestTableNameCannotLeaveTheState(t *testing.T) {
	t.Parallel()
	env := jobtest.Env(t)
	base := t.TempDir()
	s := jobtest.Spec(t, "check")
	s.Inputs = []string{jobtest.Export(t, "check.dump")}
	for _, table := range []string{"../../x", "a/../../x", "..", "a:../x", "a/b", "zookeeper", "zookeeper:t", "ns:zookeeper", "a:b:c", ":t", "t:", "-t", ".t"} {
		s.Table = table
		for what, do := range map[string]func(spec.Job) error{
			"run": func(j spec.Job) error {
				_, err := Run(t.Context(), env, j, RunOptions{State: checkpoint.Options{Dir: filepath.Join(base, "1/2")}})
				return err
			},
			"run of parts": func(j spec.Job) error {
				_, err := RunParts(t.Context(), env, j, RunOptions{State: checkpoint.Options{Dir: filepath.Join(base, "1/2")}})
				return err
			},
			"check": func(j spec.Job) error {
				_, err := preflight.Run(t.Context(), env, j, preflight.Options{Timeout: time.Minute})
				return err
			},
		} {
			j, err := s.ResolveTable()
			if err == nil {
				err = do(j)
			}
			if fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "table name") {
				t.Errorf("%s of %q: %v", what, table, err)
			}
		}
	}
	list, err := os.ReadDir(base)
	if err != nil || slices.ContainsFunc(list, func(d fs.DirEntry) bool { return d.Name() != "1" }) {
		t.Errorf("made: %v %v", list, err)
	}
}

// put copies a local file to its own directory on HDFS, which is removed at the end
// of the test.
func put(t *testing.T, env *cluster.Env, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	fsys, name, err := env.Resolve("hdfs://" + to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = fsys.RemoveAll(context.WithoutCancel(t.Context()), path.Dir(name))
	})
	if err := fsys.MkdirAll(t.Context(), path.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := fsys.Create(t.Context(), name, hdfsio.CreateOptions{Perm: 0o644})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := f.Finish(); err != nil {
		t.Fatal(err)
	}
}
