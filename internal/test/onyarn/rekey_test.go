package onyarn

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bulkload/internal/engine/status"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/newkeys"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// rekeys gives the rows of a table new keys: the files are those of one process, also after kills; rows with the same key and rows without
// a key are treated as in one process.
func (s *site) rekeys() {
	old := s.table(10)
	if s.cluster.Security().Kerberos {
		s.mayRead(old)
	}
	s.must("run", "--job", s.job("check"), "--table", old, "--input", jobtest.Export(s.T, "check.csv"))
	table, err := loader.ParseTableName(old)
	testcheck.Must(s.T, err)
	snap, state := table.Qualifier+"_rekeyed", s.TempDir()
	c, err := s.env.Dial(s.Context())
	testcheck.Must(s.T, err)
	defer c.Close()
	testcheck.Must(s.T, c.Snapshot(s.Context(), table, snap, 0))
	defer func() { testcheck.Must(s.T, c.DeleteSnapshot(s.Context(), table, snap)) }()
	of := func(to, key string, more ...string) []string {
		s.T.Cleanup(func() { s.drop(to) })
		return append([]string{"rekey", "--from", old, "--to", to, "--key", key, "--state", state}, more...)
	}
	onYARN := []string{"--engine", "yarn", "--maps", "3", "--reduces", "2"}

	into := old + "_keys"
	if s.cluster.Security().Kerberos { // its user may not create tables
		into = s.table(16)
	}
	alone := of(into, "salt(check_id, 16) + md5hex(check_id) + id", "--snapshot", snap)
	args := slices.Concat(alone, onYARN)
	if e := s.with("BULKLOAD_TEST_STOP_AFTER=submitted").do(args...); e.code != -1 {
		s.Fatalf("it ends with %d: %s", e.code, e.said)
	}
	if e := s.do(alone...); e.code != 2 || !strings.Contains(e.said, "submitted this job to YARN") {
		s.Errorf("another engine: %d: %s", e.code, e.said)
	}
	if e := s.with("BULKLOAD_TEST_STOP_AFTER=built").do(args...); e.code != -1 {
		s.Fatalf("it ends with %d: %s", e.code, e.said)
	}
	if e := s.must(args...); e.result["verification"] == nil && e.result["verify"] == nil {
		s.Errorf("%v", e.result)
	}
	s.holds(into, s.rekeyed(state, into, snap))
	if s.cluster.Security().Kerberos {
		return
	}

	twins := of(old+"_twins", "md5hex(check_id)")
	if e := s.do(slices.Concat(twins, onYARN)...); e.code != 4 || !strings.Contains(e.said, "two rows have the same key") || !strings.Contains(e.said, "of region") {
		s.Errorf("rows of one key: %d: %s", e.code, e.said)
	}
	few := of(old+"_yarn", "md5hex(remarks)", "--duplicates", "first", "--bad-records", "1%", "--splits", "8")
	if e := s.do(slices.Concat(few, onYARN)...); e.code != 4 || !strings.Contains(e.said, "are bad, more than the 1%") {
		s.Errorf("rows without a key: %d: %s", e.code, e.said)
	}
	left := []string{"--duplicates", "first", "--bad-records", "100%", "--splits", "8", "--reject-file"}
	var rejects [2][]byte
	for i, to := range []string{old + "_one", old + "_yarn"} {
		file := filepath.Join(s.TempDir(), "rejects")
		more := append(slices.Clone(left), file)
		if i == 1 {
			more = append(more, onYARN...)
		}
		s.must(of(to, "md5hex(remarks)", more...)...)
		b, err := os.ReadFile(file)
		testcheck.Must(s.T, err)
		lines := bytes.Split(b, []byte("\n"))
		slices.SortFunc(lines, bytes.Compare)
		rejects[i] = bytes.Join(lines, []byte("\n"))
	}
	if one, got := s.digest(old+"_one"), s.digest(old+"_yarn"); got != one || !bytes.Equal(rejects[0], rejects[1]) {
		s.Errorf("the table has %s, that of one process %s; %d bytes are rejected, %d by one process", got, one, len(rejects[1]), len(rejects[0]))
	}
	if own := s.ownSnapshots(table); len(own) > 0 {
		s.Errorf("snapshots are left: %q", own)
	}
}

// drop removes a table that a job has created, if it exists.
func (s *site) drop(name string) {
	table, err := loader.ParseTableName(name)
	testcheck.Must(s.T, err)
	ctx := context.WithoutCancel(s.Context())
	c, err := s.env.Dial(ctx)
	if err != nil {
		return // the cluster is removed after the tests
	}
	defer c.Close()
	_ = c.DeleteTable(ctx, table) // it may not exist
}

// rekeyed returns the files that one process builds for a completed job, from the same snapshot.
func (s *site) rekeyed(state, table, snap string) []string {
	s.Helper()
	jobs, err := status.ReadAll(state)
	testcheck.Must(s.T, err)
	i := slices.IndexFunc(jobs, func(j *status.State) bool { return j.Table == table })
	trace, err := status.ReadTrace(jobs[i].Dir)
	testcheck.Must(s.T, err)
	key, err := keygen.Parse(trace.Rekey.Key)
	testcheck.Must(s.T, err)
	var splits [][]byte
	for _, split := range trace.Plan.Splits {
		splits = append(splits, split)
	}
	ranges, err := partition.New(splits)
	testcheck.Must(s.T, err)
	src, err := tablesource.Open(s.Context(), s.env, tablesource.Ref{Snapshot: snap}, tablesource.Options{})
	testcheck.Must(s.T, err)
	p := &newkeys.Plan{Table: trace.Plan.Table, Key: key, Families: trace.Plan.Families, Ranges: ranges, Now: time.UnixMilli(trace.Rekey.Now)}
	dir := s.TempDir()
	_, err = newkeys.Build(s.Context(), src.Snapshot, p, build.Output{FS: hdfsio.Local{}, Dir: dir}, newkeys.Options{Options: build.Options{Workers: 2, SpillDir: s.TempDir()}}, nil)
	testcheck.Must(s.T, err)
	return s.built(dir)
}
