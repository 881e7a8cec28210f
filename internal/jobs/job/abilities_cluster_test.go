package job

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// A kindOfRun is a run other than into one existing table, with its own program.
type kindOfRun struct {
	*program
	flags []string
	judge func()
}

// kindsOfRuns returns runs of each kind: of several tables, of a replacing one, of one into a new table, and of one that reads a table.
func kindsOfRuns(t *testing.T) map[string]func(*testing.T) *kindOfRun {
	name := buildProgram(t)
	want := freshDigest(t, name)
	return map[string]func(*testing.T) *kindOfRun{
		"tables": func(t *testing.T) *kindOfRun {
			c := testcluster.Shared(t)
			env := jobtest.ClusterEnv(t, c)
			s := tablesJob(t, env)
			file := filepath.Join(t.TempDir(), "job.yaml")
			writeTablesJob(t, file, s)
			p := &program{t: t, path: name, cluster: c, env: env, table: s.Table, state: t.TempDir(), input: s.Inputs[0]}
			return &kindOfRun{p, []string{"--job=" + file, "--timestamp=1700000000000"}, func() { judgeTables(t, c, env, s) }}
		},
		"replace": func(t *testing.T) *kindOfRun {
			p := newReplaceProgram(t, name, want)
			return &kindOfRun{p.program, []string{"--replace"}, p.judge}
		},
		"into": func(t *testing.T) *kindOfRun {
			p := newFreshProgram(t, name, want)
			made := *p.program
			made.table = p.new.String()
			return &kindOfRun{p.program, []string{"--replace", "--into=" + made.table}, (&replaceProgram{program: &made, want: want}).judge}
		},
		"table": func(t *testing.T) *kindOfRun {
			in := newTableInput(t, testcluster.Shared(t))
			p := in.reader(t, "hbase:"+in.old)
			return &kindOfRun{p, nil, func() { p.judge(programRegions) }}
		},
	}
}

// TestKindsOfRunsOnAnotherHost kills a run of each kind on one host, and runs the same command on others, which have none of its files.
func TestKindsOfRunsOnAnotherHost(t *testing.T) {
	t.Parallel()
	race.Plain(t)
	after := map[string][]string{"tables": {"written:9", "loading:2"}, "replace": {"replaced", "loaded:1"}, "into": {"fresh:2", "loaded:3"}, "table": {"plan", "sorted"}}
	for kind, of := range kindsOfRuns(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			k := of(t)
			h := hostsOf(t, k.program)
			for _, event := range after[kind] {
				if code, _, stderr := h.on(event).run(event, k.flags...); code != 128+9 {
					t.Fatalf("%s: exit code %d: %s", event, code, stderr)
				}
				h.lose(event)
			}
			if code, _, stderr := h.on("last").run("", k.flags...); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			k.judge()
			if s := h.on("third").status(); s.State != history.JobDone {
				t.Errorf("a third host says %s", s.State)
			}
			if kind != "into" {
				return
			}
			if code, _, stderr := h.on("third").run("", append(k.flags, "--drop-old="+k.table, "--table="+k.flags[1][len("--into="):])...); code != 0 {
				t.Errorf("the old table is not dropped from a third host: exit code %d: %s", code, stderr)
			}
		})
	}
}

// TestKindsOfRunsVerified verifies a run of each kind in each mode.
func TestKindsOfRunsVerified(t *testing.T) {
	t.Parallel()
	race.Plain(t)
	for kind, of := range kindsOfRuns(t) {
		for _, mode := range []string{"sample", "files"} {
			t.Run(kind+" "+mode, func(t *testing.T) {
				t.Parallel()
				k := of(t)
				code, stdout, stderr := k.run("", append(k.flags, "--verify="+mode)...)
				if code != 0 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				var r result.Result
				testcheck.Must(t, json.Unmarshal([]byte(stdout), &r))
				for _, x := range append(r.Tables, result.Table{Verify: r.Verify}) {
					if v := x.Verify; v == nil || v.Mode != mode || v.Sampled == 0 || (v.Files != nil) != (mode == "files") {
						t.Errorf("%s is verified by %+v", x.Table, v)
					}
				}
				k.judge()
			})
		}
	}
}

// loads returns the number of a table's loaded files in the region servers' logs, for replication peers ("replicated") and not for them ("local").
func (p *program) loads(table string) map[string]int {
	p.t.Helper()
	files := map[string]int{}
	for _, word := range strings.FieldsFunc(p.said("loads", table), func(r rune) bool { return strings.ContainsRune("{, }", r) }) {
		kind, n, _ := strings.Cut(word, "=")
		count, err := strconv.Atoi(n)
		testcheck.Must(p.t, err)
		files[kind] = count
	}
	return files
}

// TestKindsOfRunsReplicated runs each kind of run, and a load of a directory, not for replication peers. The judge is the flag of the loads in the
// region servers' logs, which replication reads.
func TestKindsOfRunsReplicated(t *testing.T) {
	t.Parallel()
	race.Plain(t)
	kinds := kindsOfRuns(t)
	kinds["run"] = func(t *testing.T) *kindOfRun { return &kindOfRun{program: newProgram(t, buildProgram(t))} }
	check := func(t *testing.T, p *program, run func(flags ...string) (int, string, string), replicate, logged string) {
		t.Parallel()
		before := p.loads(p.table)
		code, stdout, stderr := run("--replicate=" + replicate)
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		var r result.Result
		testcheck.Must(t, json.Unmarshal([]byte(stdout), &r))
		for _, x := range append(r.Tables, result.Table{Table: r.Table}) {
			got := p.loads(x.Table)
			if x.Table == p.table {
				for kind, n := range before {
					got[kind] -= n
				}
			}
			if n := got[logged]; n == 0 || got["replicated"]+got["local"] != n {
				t.Errorf("replicate %s: the loads of %s have %v files", replicate, x.Table, got)
			}
		}
	}
	t.Run("for peers", func(t *testing.T) {
		p := newProgram(t, buildProgram(t))
		check(t, p, func(flags ...string) (int, string, string) { return p.run("", flags...) }, "yes", "replicated")
	})
	for kind, of := range kinds {
		t.Run(kind, func(t *testing.T) {
			k := of(t)
			check(t, k.program, func(flags ...string) (int, string, string) { return k.run("", append(flags, k.flags...)...) }, "no", "local")
		})
	}
	t.Run("load", func(t *testing.T) {
		p := newProgram(t, buildProgram(t))
		dir := p.builtDir(false, programRegions)
		check(t, p, func(flags ...string) (int, string, string) { return p.load("", dir, append(flags, "--verify=full")...) }, "no", "local")
	})
}

// TestKindsOfWorkAskTheirGate checks that pauses and windows hold each kind of work, while it reads, writes and loads.
func TestKindsOfWorkAskTheirGate(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, l *replaceLab, s spec.Spec, o RunOptions) {
		t.Helper()
		jobtest.AsksGate(t, func(gate progress.Gate, e progress.Events) error {
			o.WorkOptions, o.State = build.WorkOptions{Gate: gate, Events: e}, checkpoint.Options{Dir: l.state}
			_, err := Run(t.Context(), l.env, jobtest.Resolve(t, s), o)
			return err
		}, "read", "write", "load")
	}
	t.Run("tables", func(t *testing.T) {
		env := jobtest.ClusterEnv(t, testcluster.Shared(t))
		run(t, &replaceLab{T: t, env: env, state: t.TempDir()}, tablesJob(t, env), RunOptions{})
	})
	t.Run("replace", func(t *testing.T) {
		l := newFreshLab(t)
		l.must(l.first())
		t.Cleanup(func() { l.remove(l.new) })
		run(t, l.replaceLab, replacing(l.second(), ""), RunOptions{Into: l.new.String()})
		run(t, l.replaceLab, replacing(l.second(), ""), RunOptions{})
	})
	t.Run("table", func(t *testing.T) {
		in := newTableInput(t, testcluster.Shared(t))
		s := in.spec
		s.Table, s.Inputs = jobtest.FreshTable(t, in.env, programRegions, nil), []string{"hbase:" + in.old}
		run(t, &replaceLab{T: t, env: in.env, state: t.TempDir()}, s, RunOptions{})
	})
	t.Run("load", func(t *testing.T) {
		p := newProgram(t, "")
		dir := p.builtDir(false, programRegions)
		jobtest.AsksGate(t, func(gate progress.Gate, e progress.Events) error {
			_, err := LoadDir(t.Context(), p.env, p.table, dir, LoadOptions{RunOptions: RunOptions{WorkOptions: build.WorkOptions{Gate: gate, Events: e}, State: checkpoint.Options{Dir: p.state}}, Verify: "full"})
			return err
		}, "upload", "load")
	})
}
