package onyarn

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

// tableInput fills tables with the rows of another one under keys made of its values, which rows of several regions share: through an existing
// snapshot, and through the job's own, whose command is killed. One process that reads the snapshot is the judge, also of shares.
func (s *site) tableInput() {
	const maps, regions = "3", 4
	old := s.table(10)
	if s.cluster.Security().Kerberos {
		s.mayRead(old)
	}
	s.must("run", "--job", s.job("check"), "--table", old, "--input", jobtest.Export(s.T, "check.csv"))
	table, err := loader.ParseTableName(old)
	testcheck.Must(s.T, err)
	snap := table.Qualifier + "_kept"
	c, err := s.env.Dial(s.Context())
	testcheck.Must(s.T, err)
	defer c.Close()
	testcheck.Must(s.T, c.Snapshot(s.Context(), table, snap, 0))
	defer func() { testcheck.Must(s.T, c.DeleteSnapshot(s.Context(), table, snap)) }()

	asked := []string{"--key", fmt.Sprintf("salt(rule_no, %d) + rule_no", regions), "--columns", "rule_no,id,hit_ind,$timestamp", "--duplicates", "last", "--timestamp", timestamp}
	of := func(command, input string, more ...string) []string {
		return slices.Concat([]string{command, "--input", input}, asked, more)
	}
	dir := s.TempDir()
	alone, plan, rows, merged := filepath.Join(dir, "alone"), filepath.Join(dir, "plan"), filepath.Join(dir, "rows"), filepath.Join(dir, "merged")
	s.must(of("build", "snapshot:"+snap, "--splits", splitsOf(regions), "--out", alone)...)
	want := s.built(alone)

	s.must(of("plan", "snapshot:"+snap, "--splits", splitsOf(regions), "--out", plan)...)
	for _, share := range []string{"2/2", "1/2"} {
		s.must("build", "--plan", plan, "--share", share, "--out", rows)
	}
	s.must("merge", "--plan", plan, "--shares", rows, "--out", merged)
	if got := s.built(merged); !slices.Equal(got, want) {
		s.Errorf("shares have built %q, one process %q", got, want)
	}

	onYARN := []string{"--engine", "yarn", "--maps", maps, "--reduces", "2", "--verify", "full"}
	into := s.table(regions)
	if s.cluster.Security().Kerberos {
		defer func() {
			if s.audited(byToken, "open", "src=/hbase/data/") == 0 {
				s.Error("no file of the snapshot is opened by token")
			}
		}()
	}
	s.must(of("run", "snapshot:"+snap, append(onYARN, "--table", into)...)...)
	s.holds(into, want)

	into = s.table(regions)
	args := of("run", "hbase:"+old, append(onYARN, "--table", into)...)
	for _, event := range []string{"submitted", "built"} {
		if e := s.with("BULKLOAD_TEST_STOP_AFTER=" + event).do(args...); e.code != -1 {
			s.Fatalf("%s: it ends with %d: %s", event, e.code, e.said)
		}
	}
	s.must(args...)
	s.holds(into, want)
	if left := s.ownSnapshots(table); len(left) > 0 {
		s.Errorf("snapshots are left: %q", left)
	}
}

// mayRead grants the user the rights to take snapshots of a table, and to read their files.
func (s *site) mayRead(table string) {
	s.Helper()
	_, err := s.cluster.AdminT(s.T).Run(s.Context(), "grant", table, testcluster.Loader, "RWCA")
	testcheck.Must(s.T, err)
	for _, dir := range []string{"data", "archive"} {
		fsys, name, err := s.super.Resolve("hdfs:///hbase/" + dir)
		testcheck.Must(s.T, err)
		if err := fsys.Chmod(s.Context(), name, 0o755); !errors.Is(err, fs.ErrNotExist) {
			testcheck.Must(s.T, err)
		}
	}
}

// ownSnapshots returns the snapshots of a table that jobs have taken and not deleted.
func (s *site) ownSnapshots(table loader.TableName) (own []string) {
	s.Helper()
	fsys, root, err := s.super.Resolve("hdfs:///hbase/.hbase-snapshot")
	testcheck.Must(s.T, err)
	all, err := fsys.ReadDir(s.Context(), root)
	testcheck.Must(s.T, err)
	for _, e := range all {
		if strings.HasPrefix(e.Name(), "bulkload-"+table.Qualifier+"-") {
			own = append(own, e.Name())
		}
	}
	return own
}
