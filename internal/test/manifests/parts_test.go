package manifests

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
)

// A phases runs the phases of the chart's parts by the real program, on local files.
type phases struct {
	t                  *testing.T
	root, dir, program string
}

// newPhases builds the program, and writes a configuration of a cluster that does not answer.
func newPhases(t *testing.T) *phases {
	t.Helper()
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	p := &phases{t: t, root: top, dir: t.TempDir()}
	p.program = filepath.Join(p.dir, "bulkload")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", p.program, "./cmd/bulkload")
	build.Dir = top
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const site = `<configuration><property><name>hbase.zookeeper.quorum</name><value>127.0.0.1:1</value></property></configuration>`
	if err := os.WriteFile(filepath.Join(p.dir, "hbase-site.xml"), []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// run renders the Job of a phase and runs the command of each of its pods, which must end with the code.
func (p *phases) run(phase string, code int, more ...string) {
	p.t.Helper()
	const values = `
hadoop: {configMap: hadoop-conf}
timeZone: Asia/Shanghai
jobs: {check: "table: check\n"}
parts: {phase: PHASE, name: check-20261120, job: check, input: 'hdfs:///user/tina/check/20261120', count: 2}
`
	spec := find[*batch.Job](p.t, chartObjects(p.t, strings.Replace(values, "PHASE", phase, 1)))[0].Spec
	for n := range int(*spec.Completions) {
		local := strings.NewReplacer("$(SHARE)", strconv.Itoa(n), "/etc/bulkload", filepath.Join(p.root, "examples"), "hdfs:///user/tina/check/20261120",
			filepath.Join(p.root, "testdata", "exports", "check.csv"), "hdfs:///tmp", p.dir, "/shared", p.dir, "=/spill", "="+p.dir)
		var args []string
		for _, a := range spec.Template.Spec.Containers[0].Args {
			args = append(args, local.Replace(a))
		}
		cmd := exec.CommandContext(p.t.Context(), p.program, append(args, more...)...)
		cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "HADOOP_CONF_DIR="+p.dir, "HBASE_CONF_DIR="+p.dir)
		out, err := cmd.CombinedOutput()
		got := 0
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			got = e.ExitCode()
		} else if err != nil {
			p.t.Fatal(err)
		}
		if got != code {
			p.t.Fatalf("%s: %q ends with %d, want %d: %s", phase, args, got, code, out)
		}
	}
}

// TestChartPartsRun checks that the program takes the command of each phase: plan, shares and merge make HFiles of local files, and load takes
// these as far as a cluster is needed, which is not there.
func TestChartPartsRun(t *testing.T) {
	p := newPhases(t)
	p.run("plan", 0, "--splits", "salt:10", "--split-size", "40KiB") // without a table to query
	p.run("shares", 0)
	p.run("merge", 0)
	if _, err := os.Stat(filepath.Join(p.dir, "check-20261120.hfiles", "_bulkload.json")); err != nil {
		t.Error(err)
	}
	p.run("load", 7)
}

// TestChartPartsTable checks that the table of the load is the job file's, unless the values name another, which plan and load then get, and that
// their dates are of the chart's time zone.
func TestChartPartsTable(t *testing.T) {
	const values = "hadoop: {configMap: hadoop-conf}\ntimeZone: Asia/Shanghai\njobs: {check: \"JOB\\n\"}\nparts: {phase: PHASE, name: a, job: check, input: x, table: 'TABLE'}\n"
	for _, c := range []struct{ job, table, phase, want string }{
		{"table: check", "", "plan", ""}, // which reads the job file
		{"table: check", "", "load", "check"},
		{"table: check", "ops:check", "plan", "ops:check"},
		{"table: check", "ops:check", "load", "ops:check"},
		{"family: f", "check", "load", "check"},
	} {
		text := strings.NewReplacer("JOB", c.job, "TABLE", c.table, "PHASE", c.phase).Replace(values)
		args := find[*batch.Job](t, chartObjects(t, text))[0].Spec.Template.Spec.Containers[0].Args
		if got := arg(args, "--table"); got != c.want || arg(args, "--time-zone") != "Asia/Shanghai" {
			t.Errorf("%+v: %q", c, args)
		}
	}
}
