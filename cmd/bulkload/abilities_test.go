package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/base/abilities"
	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/settings"
	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
)

type cellOf struct {
	row    abilities.Row
	column abilities.Column
}

// refusedRuns returns the command lines of runs and loads that the table refuses, in part or as a whole.
func refusedRuns(t *testing.T) map[cellOf][]string {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		testcheck.Must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		testcheck.Must(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	input := write("days/1/in.csv", "id,v\na,1\n")
	write("tables/t/f/0", "")
	state := "--state=" + filepath.Join(dir, "state")
	one := []string{"--key=id", "--columns=id,v", "--table=t"}
	several := []string{"--job=" + write("several.yaml", "table: t\nkey: id\ntables:\n  - {index: i, table: u, key: v + id}\n")}
	run := func(job []string, input string, more ...string) []string {
		return append(append([]string{"run", "--zookeeper=127.0.0.1:1", state, "--input=" + input}, job...), more...)
	}
	plan := func(job []string, input string, more ...string) []string {
		return append(append([]string{"plan", "--splits=m", "--input=" + input}, job...), more...)
	}
	const byDirectory, yarn, also = "--split-by=directory", "--engine=yarn", "--also=other"
	out := "--out=" + filepath.Join(dir, "plan")
	return map[cellOf][]string{
		{abilities.Tables, abilities.Shares}:    plan(several, input, out, "--duplicates=last"),
		{abilities.Tables, abilities.YARN}:      run(several, "hdfs://nn/x", yarn, "--duplicates=first"),
		{abilities.Replace, abilities.Several}:  run(several, input, "--replace"),
		{abilities.Replace, abilities.SplitBy}:  run(one, dir+"/days", byDirectory, "--replace"),
		{abilities.Into, abilities.Several}:     run(several, input, "--replace", "--into=new"),
		{abilities.Into, abilities.SplitBy}:     run(one, dir+"/days", byDirectory, "--replace", "--into=new"),
		{abilities.Input, abilities.Shares}:     plan(one, "hbase:s", out),
		{abilities.Input, abilities.YARN}:       run(one, "hbase:s", yarn, "--read-by=scan"),
		{abilities.Input, abilities.SplitBy}:    run(one, "hbase:s", byDirectory),
		{abilities.Run, abilities.Duplicates}:   run(one, "hdfs://nn/x", yarn, "--duplicates-file=d.jsonl"),
		{abilities.Input, abilities.Duplicates}: run(one, "hbase:s", "--duplicates-file=d.jsonl"),
		{abilities.Run, abilities.Part}:         run(one, input, "--start-row=m"),
		{abilities.Tables, abilities.Part}:      run(several, input, "--row-prefix=m"),
		{abilities.Replace, abilities.Part}:     run(one, input, "--replace", "--since=5"),
		{abilities.Into, abilities.Part}:        run(one, input, "--replace", "--into=new", "--only=f"),
		{abilities.Load, abilities.Several}:     {"load", "--zookeeper=127.0.0.1:1", state, "--table=t", filepath.Join(dir, "tables")},
		{abilities.Clusters, abilities.YARN}:    run(one, "hdfs://nn/x", yarn, also),
		{abilities.Clusters, abilities.SplitBy}: run(one, dir+"/days", byDirectory, also),
		{abilities.Clusters, abilities.Files}:   run(one, input, also, "--verify=files"),
		{abilities.Clusters, abilities.Part}:    run(one, "hbase:s", also),
		{abilities.Clusters, abilities.Host}:    run(one, input, also, "--state=hbase:states"),
		{abilities.Run, abilities.Filter}:       run(one, "hdfs://nn/x", yarn, "--filter=salted(v) > ''", "--salt-file="+write("salt", "0123456789abcdef")),
	}
}

// refusedFlag returns the command line of another command, with the flag of an ability that it lacks, or nil if no
// flag requests that.
func refusedFlag(c cellOf) []string {
	name, value := c.column.Setting()
	args, ok := map[abilities.Row][]string{abilities.Rekey: {"rekey", "--from=a", "--to=b", "--key=id"}, abilities.Undo: {"undo", "--job=j"},
		abilities.Load: {"load", "--table=t", "d"}, abilities.Export: {"export", "t", "--to=d", "--format=jsonl"}, abilities.Compare: {"compare", "t", "u"}}[c.row]
	if name == "" || !ok {
		return nil
	}
	return append(args, settings.Flag(name)+"="+value)
}

// TestRefusedAbilities checks that the program refuses what the table of abilities refuses, with that reason, before
// it contacts a cluster.
func TestRefusedAbilities(t *testing.T) {
	for _, name := range []string{"HADOOP_CONF_DIR", "HBASE_CONF_DIR", "OPENLINEAGE_URL", "BULKLOAD_METRICS_PUSH"} {
		t.Setenv(name, "")
	}
	runs := refusedRuns(t)
	var untried []string
	for _, r := range abilities.Rows() {
		for _, c := range abilities.Columns() {
			why, cell := abilities.Refusal(r, c), cellOf{r, c}
			if why == nil {
				continue
			}
			args := runs[cell]
			if delete(runs, cell); args == nil {
				args = refusedFlag(cell)
			}
			if args == nil {
				untried = append(untried, r.String()+": "+c.String())
				continue
			}
			_, err := execute(t.Context(), &globals{}, args)
			if want := settings.SpokenError(nil, why).Error(); err == nil || ending.CodeOf(t.Context(), err) != fail.Config.ExitCode() && ending.CodeOf(t.Context(), err) != fail.Input.ExitCode() || !strings.Contains(settings.SpokenError(nil, err).Error(), want) {
				t.Errorf("%s, %s: %q ends with %v, want %q", r, c, args, err, want)
			}
		}
	}
	for c := range runs {
		t.Errorf("%s, %s is tried, and the table does not refuse it", c.row, c.column)
	}
	if len(untried) > 13 {
		t.Errorf("of the refusals %d are not tried: %s", len(untried), strings.Join(untried, ", "))
	}
	t.Logf("no command asks for these: %s", strings.Join(untried, ", "))
}
