package job

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/partition"
)

// localityKey is a configuration key of HBase.
const localityKey = "hbase.bulkload.locality.sensitive.enabled"

// spread returns the options of a cluster with DataNodes and region servers on three addresses, and two kinds of disks. A block has one replica, so
// that its place is visible.
func spread() testcluster.Options {
	return testcluster.Options{Hosts: true, DataNodes: 3, RegionServers: 3, Storages: []string{"DISK", "SSD"}, HDFSSite: map[string]string{"dfs.replication": "1"}}
}

// local returns the share of a table's bytes on the hosts of their regions, as reported by region servers (percentFilesLocal), and the minimum of a
// region. Each of the three servers has regions.
func local(t *testing.T, p *program) (mean, least float64) {
	t.Helper()
	out, err := p.cluster.AdminT(t).Run(t.Context(), "locality", p.table)
	testcheck.Must(t, err)
	lines, servers := strings.Split(out, "\n"), map[string]bool{}
	least = 1
	for _, line := range lines {
		server, share, _ := strings.Cut(line, "\t")
		n, err := strconv.ParseFloat(share, 64)
		testcheck.Must(t, err)
		servers[server], mean, least = true, mean+n/float64(len(lines)), min(least, n)
	}
	if len(servers) != 3 {
		t.Errorf("regions are on %d servers:\n%s", len(servers), out)
	}
	return mean, least
}

// spreadProgram returns a table of 12 regions on the cluster of three hosts.
func spreadProgram(t *testing.T) *program {
	return newProgramOn(t, testcluster.Own(t, spread()), jobtest.Program(t), partition.SaltSplits(12))
}

// TestLocality checks that the files of a run, and those that a load copies and cuts, are on the hosts of the regions' servers; with HBase's switch
// off HDFS places them. A host whose DataNode is down is skipped.
func TestLocality(t *testing.T) {
	p := spreadProgram(t)
	digest := func() string {
		t.Helper()
		out, err := p.cluster.AdminT(t).Digest(t.Context(), p.table)
		testcheck.Must(t, err)
		return out
	}
	wantAll := func(what string) {
		t.Helper()
		mean, least := local(t, p)
		t.Logf("%s: %.0f %% local, least of a region %.0f %%", what, 100*mean, 100*least)
		if least < 1 {
			t.Errorf("%s: the least local region has %.0f %% of its bytes on its host", what, 100*least)
		}
	}
	again := func() {
		t.Helper()
		p.admin(t, "truncate")
		p.state = t.TempDir()
	}
	if code, _, stderr := p.run(""); code != 0 {
		t.Fatal(stderr)
	}
	wantAll("run")
	want := digest()

	again()
	t.Run("off", func(t *testing.T) {
		env := jobtest.ClusterEnv(t, p.cluster)
		env.Conf.Set(localityKey, "false", "test")
		s := jobtest.Spec(t, "check")
		s.Table, s.Inputs = p.table, []string{p.input}
		_, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{State: checkpoint.Options{Dir: t.TempDir()}})
		testcheck.Must(t, err)
		mean, least := local(t, p)
		t.Logf("off: %.0f %% local, least of a region %.0f %%", 100*mean, 100*least)
		if least == 1 {
			t.Error("files are local where they are not to be")
		}
	})

	again()
	t.Run("copied and cut", func(t *testing.T) {
		s, dir, all := jobtest.Spec(t, "check"), t.TempDir(), partition.SaltSplits(12)
		s.Inputs, s.Regions = []string{p.input}, 12
		_, err := build.Directory(t.Context(), p.env, jobtest.Resolve(t, s), jobtest.Family, [][]byte{all[3], all[7]}, dir, build.WorkOptions{})
		testcheck.Must(t, err)
		_, err = LoadDir(t.Context(), p.env, p.table, dir, LoadOptions{RunOptions: RunOptions{State: checkpoint.Options{Dir: t.TempDir()}}, Verify: "full"})
		testcheck.Must(t, err)
		wantAll("copied and cut")
	})

	again()
	t.Run("shares", func(t *testing.T) {
		p.shared(t, want)
		wantAll("shares")
	})

	again()
	gone := p.cluster.Daemon(testcluster.DataNode.Nth(3))
	testcheck.Must(t, gone.Kill(t.Context()))
	t.Cleanup(func() { testcheck.Must(t, gone.Restart(t.Context())) })
	if code, _, stderr := p.run(""); code != 0 {
		t.Fatal(stderr)
	}
	if mean, _ := local(t, p); mean == 1 {
		t.Error("files are on a host without a DataNode")
	}
	if got := digest(); got != want {
		t.Errorf("without a DataNode the table has %s, want %s", got, want)
	}
}

// shared builds the files in a share and a merge with the plan of the table, and loads them.
func (p *program) shared(t *testing.T, want string) {
	t.Helper()
	dir, files := t.TempDir(), "hdfs:///tmp/shared-"+testcheck.Name(t)
	for _, args := range [][]string{
		{"plan", "--quiet", "--job=" + jobtest.Absolute(t, "../../../examples/check.yaml"), "--table=" + p.table, "--input=" + p.input, "--out=" + dir + "/plan"},
		{"build", "--quiet", "--plan=" + dir + "/plan", "--share=1/1", "--out=" + dir + "/rows"},
		{"merge", "--quiet", "--plan=" + dir + "/plan", "--shares=" + dir + "/rows", "--share=1/1", "--out=" + files},
		{"load", "--quiet", "--table=" + p.table, "--state=" + dir, "--verify=full", files},
	} {
		if code, _, stderr := p.end(func(ctx context.Context) *exec.Cmd { return p.any(ctx, "", args...) }); code != 0 {
			t.Fatalf("%v: %s", args, stderr)
		}
	}
	got, err := p.cluster.AdminT(t).Digest(t.Context(), p.table)
	testcheck.Must(t, err)
	if got != want {
		t.Errorf("the table has %s, want %s", got, want)
	}
}
