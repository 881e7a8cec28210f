package job

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// quietOf returns the current attributes of a table that a quiet job changes; none: the table does not exist.
func (p *program) quietOf(table string) string {
	p.t.Helper()
	c, err := p.env.Dial(p.t.Context())
	testcheck.Must(p.t, err)
	defer c.Close()
	name, err := loader.ParseTableName(table)
	testcheck.Must(p.t, err)
	d, err := c.Describe(p.t.Context(), name)
	testcheck.Must(p.t, err)
	var all []string
	for _, key := range []string{"SPLIT_ENABLED", "MERGE_ENABLED", "NORMALIZATION_ENABLED"} {
		all = append(all, d.Attributes[key])
	}
	return strings.Join(all, ",")
}

const allOff = "false,false,false"

// quiet returns the tables that jobs keep quiet according to status.
func (p *program) quiet() (tables []string) {
	p.t.Helper()
	out, err := p.any(p.t.Context(), "", "status", "--output=json", "--state="+p.state).Output()
	testcheck.Must(p.t, err)
	var list struct{ Jobs []*status.State }
	testcheck.Must(p.t, json.Unmarshal(out, &list))
	for _, s := range list.Jobs {
		for _, r := range s.Resources {
			if r.Kind == history.ResourceQuiet {
				tables = append(tables, r.Table)
			}
		}
	}
	return tables
}

// said returns the output of an administrator's command.
func (p *program) said(args ...string) string {
	p.t.Helper()
	out, err := p.cluster.AdminT(p.t).Run(p.t.Context(), args...)
	testcheck.Must(p.t, err)
	return out
}

// TestQuietTable checks that HBase neither splits nor merges regions of a quiet table until the job has ended, and that the regions are not reopened
// for it.
func TestQuietTable(t *testing.T) {
	t.Parallel()
	race.Plain(t)
	p := newProgramAt(t, buildProgram(t), partition.SaltSplits(programRegions))
	first, second := `\x00`, `\x01`
	if code, _, stderr := p.run("built", "--quiet-table"); code != 128+9 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if got := p.quietOf(p.table); got != allOff {
		t.Errorf("a quiet table has %s", got)
	}
	for _, said := range []string{p.said("ask-split", p.table, `\x01\x05`), p.said("ask-merge", p.table, first, second)} {
		if !strings.HasPrefix(said, "4 regions: ") || !strings.Contains(said, "disabled") {
			t.Errorf("a quiet table has %s", said)
		}
	}
	if got := p.quiet(); !slices.Equal(got, []string{p.table}) {
		t.Errorf("status says that %q are quiet", got)
	}
	if code, _, stderr := p.run("", "--quiet-table"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	p.judge(programRegions)
	if got := p.quietOf(p.table); got != ",," {
		t.Errorf("after the job the table has %s", got)
	}
	if got := p.quiet(); len(got) > 0 {
		t.Errorf("status says that %q are quiet still", got)
	}
	if said := p.said("ask-split", p.table, `\x01\x05`); !strings.HasPrefix(said, "5 regions: done") {
		t.Errorf("after the job a split gives %s", said)
	}
}

// TestQuietFailed checks that a failed job restores its table, and so does one that no longer keeps it quiet.
func TestQuietFailed(t *testing.T) {
	t.Parallel()
	race.Plain(t)
	p := newProgramAt(t, buildProgram(t), partition.SaltSplits(programRegions))
	if code, _, stderr := p.run("", "--quiet-table", "--expect-records=1"); code == 0 || code > 128 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if got := p.quietOf(p.table); got != ",," {
		t.Errorf("after a failure the table has %s", got)
	}
	if code, _, stderr := p.run("sorted", "--quiet-table"); code != 128+9 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := p.run("", "--restart"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if got := p.quietOf(p.table); got != ",," {
		t.Errorf("after another run the table has %s", got)
	}
}

// TestQuietChanged kills a job after another client has changed the table: clean restores only the job's attributes.
func TestQuietChanged(t *testing.T) {
	t.Parallel()
	race.Plain(t)
	p := newProgramAt(t, buildProgram(t), partition.SaltSplits(programRegions))
	p.admin(t, "attribute", "NORMALIZATION_ENABLED=false")
	p.admin(t, "attribute", "SPLIT_ENABLED=true")
	if code, _, stderr := p.run("spill", "--quiet-table"); code != 128+9 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if got := p.quietOf(p.table); got != allOff {
		t.Errorf("a quiet table has %s", got)
	}
	p.admin(t, "attribute", "MERGE_ENABLED=true")
	p.admin(t, "attribute", "COMPACTION_ENABLED=false")
	p.clean()
	if got := p.quietOf(p.table); got != "true,true,false" {
		t.Errorf("after clean the table has %s", got)
	}
	if d := p.said("describe", p.table); !strings.Contains(d, "'COMPACTION_ENABLED' => 'false'") {
		t.Errorf("the change of another is gone: %s", d)
	}
}

// clean removes the program's job.
func (p *program) clean() {
	p.t.Helper()
	job := p.status().Job
	if out, err := p.any(p.t.Context(), "", "clean", "--yes", "--job="+job, "--state="+p.state).CombinedOutput(); err != nil || !strings.Contains(string(out), "removed") {
		p.t.Errorf("%v: %s", err, out)
	}
}

// TestQuietKinds kills a job of each kind that keeps its tables quiet, before and after HBase has changed them: status names the tables, and the same
// command restores them at its end, and so does clean.
func TestQuietKinds(t *testing.T) {
	t.Parallel()
	race.Plain(t)
	kinds := kindsOfRuns(t)
	for kind, of := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			k := of(t)
			k.flags = append(k.flags, "--quiet-table")
			tables := k.killedQuiet(t, "quiet", func(after string) (int, string, string) { return k.run(after, k.flags...) })
			if kind == "tables" && len(tables) < 2 {
				t.Errorf("%q are quiet", tables)
			}
			k.judge()
		})
	}
	t.Run("load", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t, buildProgram(t))
		dir := p.builtDir(false, programRegions)
		p.killedQuiet(t, "quiet", func(after string) (int, string, string) { return p.load(after, dir, "--quiet-table", "--verify=full") })
		p.judge(programRegions)
	})
}

// killedQuiet kills a job just before it changes its first table, and again while it loads, and then has it end. It returns the tables.
func (p *program) killedQuiet(t *testing.T, first string, run func(after string) (int, string, string)) (tables []string) {
	t.Helper()
	for _, after := range []string{first, "loading"} {
		if code, _, stderr := run(after); code != 128+9 {
			t.Fatalf("%s: exit code %d: %s", after, code, stderr)
		}
		if tables = p.quiet(); len(tables) == 0 {
			t.Errorf("after %s status names no quiet table", after)
		}
	}
	for _, table := range tables {
		if got := p.quietOf(table); got != allOff {
			t.Errorf("%s has %s", table, got)
		}
	}
	code, stdout, stderr := run("")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, table := range tables {
		if got := p.quietOf(table); got != ",," {
			t.Errorf("after the job %s has %s", table, got)
		}
	}
	if got := p.quiet(); len(got) > 0 || !json.Valid([]byte(stdout)) {
		t.Errorf("%q are quiet: %s", got, stdout)
	}
	return tables
}
