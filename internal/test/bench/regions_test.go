package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"bulkload/internal/model/manifest"
	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/testcluster"
)

// TestStatCPU parses lines of proc(5), with program names that look like further fields.
func TestStatCPU(t *testing.T) {
	for line, want := range map[string]float64{
		"7 (java) S 1 7 7 0 -1 4194560 9 9 9 9 150 25 0 0 20 0 40 0 1 2 3": 1.75,
		"7 (a) 1 (b) R 1 7 7 0 -1 0 9 9 9 9 10 0 0 0 20":                   0.1,
		"7 (java) S 1": 0,
		"":             0,
	} {
		if got := statCPU(line); got != want {
			t.Errorf("%q: %v s, not %v", line, got, want)
		}
	}
}

const (
	regionsRows = 200_000
	manyRegions = 1000
	fewRegions  = 10
	// regionsWarm is the number of builds into many regions before the measured ones on HDFS: after them the JVMs have compiled
	// the code for files.
	regionsWarm = 15
)

// regionsCase compares bulkload build of the same rows into many regions and into few, on local disk and on HDFS. Each run
// has its own directory, and all are removed at the end: ext4 does not reuse the inodes of files that were just deleted, and
// is slow to find others.
func (l *Lab) regionsCase(ctx context.Context) (Case, error) {
	cluster, err := l.running(ctx)
	if err != nil {
		return Case{}, err
	}
	program, err := l.program(ctx)
	if err != nil {
		return Case{}, err
	}
	input, err := l.file(ctx, data.Spec{Table: data.Check, Rows: regionsRows, Seed: l.Seed, Regions: manyRegions}, data.Dump)
	if err != nil {
		return Case{}, err
	}
	r := &regionsRun{lab: l, cluster: cluster, walls: map[string][]float64{}, local: l.path("regions"),
		remote: fmt.Sprintf("%s/regions-%d", workDir, time.Now().UnixNano())}
	if err := os.RemoveAll(r.local); err != nil {
		return Case{}, err
	}
	c := Case{Name: CaseRegions, Rounds: l.Rounds,
		Title: fmt.Sprintf("bulkload build of %s check rows into %s and into %d regions, on local disk and on HDFS", grouped(regionsRows), grouped(manyRegions), fewRegions),
		Notes: []string{fmt.Sprintf("%d builds into %s regions on HDFS go before what counts, so that NameNode and DataNode have compiled their code.", regionsWarm, grouped(manyRegions)),
			"CPU of the servers is in the details; the wall time is of all together on the same cores."}}
	r.argv = []string{program, "build", "--quiet", "--output=json", "--job=" + l.jobFile(data.Check), "--input=" + input, "--format=dump",
		"--empty=store", "--timestamp=1500000000000", "--memory=" + l.Memory, "--spill-dir=" + l.Dir}
	for _, remote := range []bool{false, true} {
		for _, regions := range []int{fewRegions, manyRegions} {
			c.Tools = append(c.Tools, r.tool(remote, regions, warmFiles(input)))
		}
	}
	c.after = r.end
	return c, nil
}

// regionsRun is the data that the tools of the case share.
type regionsRun struct {
	lab           *Lab
	cluster       *testcluster.Cluster
	argv          []string
	local, remote string // directories of HFiles
	runs          int
	walls         map[string][]float64 // by tool, of the measured rounds
}

func regionsTool(remote bool, regions int) string {
	where := "local"
	if remote {
		where = "HDFS"
	}
	return fmt.Sprintf("%s, %d", where, regions)
}

func (r *regionsRun) tool(remote bool, regions int, warm func(context.Context) error) Tool {
	name := regionsTool(remote, regions)
	return Tool{Name: name, Rows: regionsRows, Warm: warm, Run: func(ctx context.Context, round int) (Sample, error) {
		if round == 0 && remote && regions == manyRegions {
			for range regionsWarm {
				if _, err := r.build(ctx, remote, regions); err != nil {
					return Sample{}, err
				}
			}
		}
		s, err := r.build(ctx, remote, regions)
		if err == nil && round > 0 {
			r.walls[name] = append(r.walls[name], s.Wall.Seconds())
		}
		return s, err
	}}
}

// build runs once, into a new directory.
func (r *regionsRun) build(ctx context.Context, remote bool, regions int) (Sample, error) {
	r.runs++
	out := fmt.Sprintf("%s/%d", r.local, r.runs)
	if remote {
		out = fmt.Sprintf("hdfs://localhost:%d%s/%d", r.cluster.Ports().NameNode, r.remote, r.runs)
	}
	before := r.serverCPU()
	argv := append(r.argv[:len(r.argv):len(r.argv)], "--out="+out, "--splits="+splits(regions))
	stdout, usage, err := command{argv: argv, dir: r.lab.Root, env: clusterEnv(r.cluster)}.run(ctx)
	if err != nil {
		return Sample{}, err
	}
	m := &manifest.Manifest{}
	if err := json.Unmarshal(stdout, m); err != nil {
		return Sample{}, fmt.Errorf("output of bulkload build: %w", err)
	}
	if m.HFiles != regions {
		return Sample{}, fmt.Errorf("bulkload build wrote %d files into %d regions", m.HFiles, regions)
	}
	detail := map[string]float64{"read s": m.ReadTime.Seconds(), "write s": m.WriteTime.Seconds()}
	if remote {
		for name, cpu := range r.serverCPU() {
			detail[name] = cpu - before[name]
		}
	}
	return Sample{Usage: usage, Detail: detail}, nil
}

// serverCPU returns the processor time of the servers of HDFS, in seconds.
func (r *regionsRun) serverCPU() map[string]float64 {
	taken := map[string]float64{}
	for name, role := range map[string]testcluster.Role{"NameNode CPU s": testcluster.NameNode, "DataNode CPU s": testcluster.DataNode} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.cluster.Daemon(role).Pid()))
		if err == nil {
			taken[name] = statCPU(string(b))
		}
	}
	return taken
}

// statCPU returns the time of all threads in a line of /proc/PID/stat, which counts hundredths of a second; see
// proc(5).
func statCPU(line string) float64 {
	var user, sys float64
	if f := strings.Fields(line[strings.LastIndexByte(line, ')')+1:]); len(f) > 12 {
		fmt.Sscan(f[11]+" "+f[12], &user, &sys)
	}
	return (user + sys) / 100
}

// end returns notes on the cost of many regions, and removes all files.
func (r *regionsRun) end() []string {
	var notes []string
	for _, remote := range []bool{false, true} {
		few, many := summarize(r.walls[regionsTool(remote, fewRegions)]), summarize(r.walls[regionsTool(remote, manyRegions)])
		if many.Median > 0 {
			where, _, _ := strings.Cut(regionsTool(remote, manyRegions), ",")
			notes = append(notes, fmt.Sprintf("%s: %s regions run at %.2f × the rate of %d.", where, grouped(manyRegions), few.Median/many.Median, fewRegions))
		}
	}
	err := errors.Join(os.RemoveAll(r.local), r.lab.removeRemote(context.Background(), r.cluster, r.remote))
	if err != nil {
		r.lab.Log.Warn("what the case has written is still there", "error", err)
	}
	return notes
}
