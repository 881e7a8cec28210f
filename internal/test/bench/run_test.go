package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"bulkload/internal/model/result"
	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
)

// Peers of the case run.
const (
	PeerImportTsv = "importtsv"
	PeerSpark     = "spark"
)

// runTable is the table of all tools of the case run, created again for each.
const runTable = "bulkload_bench"

// runCase measures the whole work up to visible rows. All tools read the same rows, flat because of TSV, each in its own
// form; ImportTsv gets ready row keys.
func (l *Lab) runCase(ctx context.Context) (Case, error) {
	spec := data.Spec{Table: data.Check, Rows: l.Rows, Seed: l.Seed, Regions: 10, Flat: true}
	cluster, err := l.running(ctx)
	if err != nil {
		return Case{}, err
	}
	r := &runner{lab: l, cluster: cluster, spec: spec, digests: map[string]string{}}
	c := Case{Name: CaseRun, Rounds: l.Rounds, Reference: "bulkload",
		Title: fmt.Sprintf("from a file of %s check rows to rows visible in a fresh HBase table of 10 regions", grouped(l.Rows)),
		Notes: []string{"CPU and memory are those of the client's processes, not of HDFS and HBase."}}
	ours, err := r.bulkload(ctx)
	if err != nil {
		return Case{}, err
	}
	c.Tools = append(c.Tools, r.checked(ours))
	for _, peer := range l.Peers {
		var t Tool
		switch peer {
		case PeerSpark:
			t, err = r.spark(ctx)
			note := fmt.Sprintf("spark: local[%d], a pair for each cell, repartitionAndSortWithinPartitions, HFileOutputFormat2; wall and CPU of it and of BulkLoadHFilesTool together.", runtime.NumCPU())
			if missing, ok := errors.AsType[*noSparkError](err); ok {
				c.Notes = append(c.Notes, "Without Spark: "+missing.Error())
				l.Log.Warn("Spark is left out", "why", missing)
				continue
			}
			c.Notes = append(c.Notes, note)
		case PeerPut:
			t, err = r.put(ctx)
			c.Notes = append(c.Notes, "put: the HFiles are finished before the clock starts; wall and CPU of hdfs dfs -put and of BulkLoadHFilesTool together.")
		default:
			t, err = r.importTsv(ctx)
			c.Notes = append(c.Notes, fmt.Sprintf("importtsv: the row key is in its input already, which is on HDFS; Hadoop's local runner with %d map and %d reduce tasks at a time; wall and CPU of ImportTsv and of BulkLoadHFilesTool together.", l.PeerTasks, l.PeerTasks))
		}
		if err != nil {
			return Case{}, err
		}
		c.Tools = append(c.Tools, r.checked(t))
	}
	c.after = r.compare
	return c, nil
}

// runner is the data that the tools of the case run share.
type runner struct {
	lab     *Lab
	cluster *testcluster.Cluster
	spec    data.Spec
	digests map[string]string // of the table by HBase's client, by tool
}

// checked gives each run of a tool a new table and checks its contents once.
func (r *runner) checked(t Tool) Tool {
	run := t.Run
	t.Run = func(ctx context.Context, round int) (Sample, error) {
		if err := freshTable(ctx, r.cluster, runTable, r.spec.Regions); err != nil {
			return Sample{}, err
		}
		s, err := run(ctx, round)
		if err != nil {
			return Sample{}, err
		}
		adm, err := r.cluster.Admin(ctx)
		if err != nil {
			return Sample{}, err
		}
		if r.digests[t.Name] == "" {
			if r.digests[t.Name], err = adm.Digest(ctx, runTable); err != nil {
				return Sample{}, err
			}
		}
		_, err = adm.Run(ctx, "drop", runTable)
		return s, err
	}
	return t
}

// compare reports whether all tables had the same contents.
func (r *runner) compare() []string {
	different := slices.Compact(slices.Sorted(maps.Values(r.digests)))
	if len(different) == 1 {
		return []string{fmt.Sprintf("All %d tools filled the table with the same: %s, by a scan of HBase's Java client.", len(r.digests), different[0])}
	}
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(r.digests)) {
		notes = append(notes, fmt.Sprintf("THE TABLES DIFFER: %s gave %s.", name, r.digests[name]))
	}
	return notes
}

// bulkload returns the tool that runs bulkload from a local dump.
func (r *runner) bulkload(ctx context.Context) (Tool, error) {
	l := r.lab
	program, err := l.program(ctx)
	if err != nil {
		return Tool{}, err
	}
	input, err := l.file(ctx, r.spec, data.Dump)
	if err != nil {
		return Tool{}, err
	}
	info, err := os.Stat(input)
	if err != nil {
		return Tool{}, err
	}
	spill := l.path("spill")
	argv := []string{program, "run", "--quiet", "--output=json", "--job=" + l.jobFile(r.spec.Table), "--table=" + runTable,
		"--input=" + input, "--format=dump", "--empty=store", "--verify=off", "--restart", "--state=" + l.path("state"), "--memory=" + l.Memory, "--spill-dir=" + spill}
	return Tool{Name: "bulkload", Rows: r.spec.Rows, Warm: warmFiles(input), Run: func(ctx context.Context, _ int) (Sample, error) {
		if err := os.MkdirAll(spill, 0o755); err != nil {
			return Sample{}, err
		}
		stdout, usage, err := command{argv: argv, dir: l.Root, env: clusterEnv(r.cluster)}.run(ctx)
		if err != nil {
			return Sample{}, err
		}
		result := &result.Result{}
		if err := json.Unmarshal(stdout, result); err != nil {
			return Sample{}, fmt.Errorf("output of bulkload run: %w", err)
		}
		detail := manifestDetail(result.Manifest, info.Size())
		detail["load s"] = result.LoadTime.Seconds()
		return Sample{Usage: usage, Detail: detail}, nil
	}}, nil
}

// importTsv returns the tool that runs HBase's MapReduce job, which writes HFiles, and then HBase's loader.
func (r *runner) importTsv(ctx context.Context) (Tool, error) {
	l := r.lab
	vm, err := java()
	if err != nil {
		return Tool{}, err
	}
	local, err := l.file(ctx, r.spec, data.TSV)
	if err != nil {
		return Tool{}, err
	}
	h, err := l.hdfs(r.cluster)
	if err != nil {
		return Tool{}, err
	}
	defer h.Close()
	input, err := put(ctx, h, local)
	if err != nil {
		return Tool{}, err
	}
	out := workDir + "/importtsv-out"
	columns := "HBASE_ROW_KEY"
	for _, name := range r.spec.Table.Columns() {
		columns += ",f:" + name
	}
	tasks := fmt.Sprint(l.PeerTasks)
	build := javaArgs(vm, clientPath(r.cluster), "org.apache.hadoop.hbase.mapreduce.ImportTsv",
		"-Dimporttsv.columns="+columns, "-Dimporttsv.bulk.output="+out, "-Dmapreduce.framework.name=local",
		"-Dhadoop.tmp.dir="+l.path("mapreduce"), "-Dmapreduce.cluster.local.dir="+l.path("mapreduce", "local"),
		"-Dmapreduce.local.map.tasks.maximum="+tasks, "-Dmapreduce.local.reduce.tasks.maximum="+tasks, runTable, input)
	warm := func(ctx context.Context) error { return r.readRemote(ctx, input) }
	return Tool{Name: PeerImportTsv, Rows: r.spec.Rows, Warm: warm, Run: func(ctx context.Context, _ int) (Sample, error) {
		return r.javaJob(ctx, build, out)
	}}, nil
}

// readRemote reads a file of HDFS, so that it is in the page cache of its DataNode.
func (r *runner) readRemote(ctx context.Context, name string) (err error) {
	h, err := r.lab.hdfs(r.cluster)
	if err != nil {
		return err
	}
	f, err := h.Open(ctx, name)
	if err != nil {
		return errors.Join(err, h.Close())
	}
	_, err = io.Copy(io.Discard, f)
	return errors.Join(err, f.Close(), h.Close())
}

// javaJob runs a program that writes HFiles into out on HDFS, and then HBase's loader.
func (r *runner) javaJob(ctx context.Context, build []string, out string) (s Sample, err error) {
	vm, err := java()
	if err != nil {
		return Sample{}, err
	}
	h, err := r.lab.hdfs(r.cluster)
	if err != nil {
		return Sample{}, err
	}
	defer h.Close()
	if err := r.clear(ctx, h, out); err != nil {
		return Sample{}, err
	}
	if err := h.MkdirAll(ctx, workDir, 0o777); err != nil {
		return Sample{}, err
	}
	env := clusterEnv(r.cluster)
	_, built, err := command{argv: build, dir: r.lab.Dir, env: env}.run(ctx)
	if err != nil {
		return Sample{}, err
	}
	load := javaArgs(vm, clientPath(r.cluster), "org.apache.hadoop.hbase.tool.BulkLoadHFilesTool", out, runTable)
	_, loaded, err := command{argv: load, dir: r.lab.Dir, env: env}.run(ctx)
	if err != nil {
		return Sample{}, err
	}
	return Sample{Usage: built.then(loaded), Detail: map[string]float64{"HFiles job s": built.Wall.Seconds(), "load s": loaded.Wall.Seconds()}},
		r.clear(ctx, h, out)
}

// clear removes the files of a Java job, on HDFS and locally.
func (r *runner) clear(ctx context.Context, h *hdfsio.HDFS, out string) error {
	if !strings.HasPrefix(out, workDir+"/") {
		return fmt.Errorf("%s is not in %s", out, workDir)
	}
	return errors.Join(h.RemoveAll(ctx, out), os.RemoveAll(r.lab.path("mapreduce")))
}
