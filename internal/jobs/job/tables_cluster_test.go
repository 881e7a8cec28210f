package job

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// A tableInput is a loaded table that jobs read.
type tableInput struct {
	program string // its name
	servers *testcluster.Cluster
	env     *cluster.Env
	cluster *loader.Cluster
	admin   *testcluster.Admin
	old     string // the table
	table   loader.TableName
	spec    spec.Spec // of the job that loaded it
}

// newTableInput loads a table of a cluster.
func newTableInput(t *testing.T, servers *testcluster.Cluster) *tableInput {
	t.Helper()
	in := &tableInput{program: buildProgram(t), servers: servers}
	in.env = jobtest.ClusterEnv(t, in.servers)
	var err error
	in.cluster, err = in.env.Dial(t.Context())
	testcheck.Must(t, err)
	t.Cleanup(func() { in.cluster.Close() })
	in.old = jobtest.FreshTable(t, in.env, 4, nil)
	in.table, err = loader.ParseTableName(in.old)
	testcheck.Must(t, err)
	in.spec = jobtest.Spec(t, "check")
	in.spec.Table, in.spec.Key, in.spec.Inputs = in.old, "salt(id) + md5hex(id) + check_id", []string{jobtest.Export(t, "check.dump")}
	in.load(t)
	in.admin = in.servers.AdminT(t)
	return in
}

// load loads the table.
func (in *tableInput) load(t *testing.T) {
	t.Helper()
	if _, err := Run(t.Context(), in.env, jobtest.Resolve(t, in.spec), RunOptions{}); err != nil {
		t.Fatal(err)
	}
}

// reader returns a program whose input is the table or a snapshot of it.
func (in *tableInput) reader(t *testing.T, input string) *program {
	t.Helper()
	p := newProgramOn(t, in.servers, in.program, partition.SaltSplits(programRegions))
	p.input = input
	return p
}

// TestTableAsInput loads a table into another one under another key: through a snapshot of the job's own, which a later attempt reads again and which
// is deleted at the end, and through an existing snapshot of a table that was deleted.
func TestTableAsInput(t *testing.T) {
	t.Parallel()
	in := newTableInput(t, testcluster.Shared(t))
	t.Run("scan", in.scanGoesOnAsItBegan)
	t.Run("denied", func(t *testing.T) {
		// Other tests read HBase's directory at the same time.
		newTableInput(t, testcluster.Own(t, testcluster.Options{})).deniedFilesAreScanned(t)
	})
	t.Run("hbase", in.laterAttemptReadsOwnSnapshot)
	t.Run("snapshot", in.snapshotOutlivesTable)
}

// scanGoesOnAsItBegan checks that a later attempt has the parts of the first one, and scans them too.
func (in *tableInput) scanGoesOnAsItBegan(t *testing.T) {
	p := in.reader(t, "hbase:"+in.old)
	if code, _, says := p.run("plan", "--read-by=scan"); code != 128+9 {
		t.Fatalf("exit code %d: %s", code, says)
	}
	if n := p.count(string(history.EventReadSnapshot)); n != 1 {
		t.Errorf("%d records of the scan", n)
	}
	// The parts stay those of the first attempt, and the table is still scanned.
	if _, err := in.admin.Run(t.Context(), "split", in.old, "2~"); err != nil {
		t.Fatal(err)
	}
	if code, _, says := p.run(""); code != 2 || !strings.Contains(says, "began to read it by scans: give --read-by scan") {
		t.Errorf("by files: exit code %d: %s", code, says)
	}
	if code, _, says := p.run("", "--read-by=auto"); code != 0 {
		t.Fatalf("exit code %d: %s", code, says)
	}
	p.judge(programRegions)
	if n := p.count(string(history.EventReadSnapshot)); n != 2 {
		t.Errorf("%d records of the scan, want its beginning and that it is over", n)
	}
	if code, out, says := p.run("", "--read-by=scan"); code != 0 || !strings.Contains(out, `"already"`) {
		t.Errorf("once more: exit code %d: %s%s", code, out, says)
	}
}

// deniedFilesAreScanned checks that the error advises scans if the user may not read HBase's files, and that read_by auto uses them.
func (in *tableInput) deniedFilesAreScanned(t *testing.T) {
	owner := jobtest.ClusterEnvAs(t, in.servers, "hbase")
	fsys, root, err := owner.Resolve(owner.Conf.Value("hbase.rootdir"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{root + "/data", root + "/archive"} {
		info, err := fsys.Stat(t.Context(), dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = fsys.Chmod(t.Context(), dir, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := fsys.Chmod(context.WithoutCancel(t.Context()), dir, info.Mode().Perm()); err != nil {
				t.Error(err)
			}
		})
	}
	p := in.reader(t, "hbase:"+in.old)
	if code, _, says := p.run(""); code != 3 || !strings.Contains(says, "or give --read-by scan") {
		t.Errorf("by files: exit code %d: %s", code, says)
	}
	p = in.reader(t, "hbase:"+in.old)
	if code, _, says := p.run("plan", "--read-by=auto", "--quiet=false"); code != 128+9 || !strings.Contains(says, "region servers scan it instead") {
		t.Fatalf("exit code %d: %s", code, says)
	}
	if code, _, says := p.run("", "--read-by=auto"); code != 0 {
		t.Fatalf("exit code %d: %s", code, says)
	}
	p.judge(programRegions)
	var snapshots int
	for _, r := range p.records() {
		if r.Event != string(history.EventReadSnapshot) {
			continue
		}
		read, err := history.Decode[history.ReadSnapshotRecord](r)
		if err != nil {
			t.Fatal(err)
		}
		if read.Snapshot == "" {
			continue
		}
		snapshots++
		if _, ok, err := in.cluster.SnapshotTime(t.Context(), in.table, read.Snapshot); ok || err != nil {
			t.Errorf("the snapshot that could not be read is still there: %t, %v", ok, err)
		}
	}
	if n := p.count(string(history.EventReadSnapshot)); n != 3 || snapshots != 1 {
		t.Errorf("%d records, %d snapshots, want one, the scan in its place and its end", n, snapshots)
	}
}

// laterAttemptReadsOwnSnapshot checks that a snapshot of the job's own is kept for a later attempt, and deleted when the job is done.
func (in *tableInput) laterAttemptReadsOwnSnapshot(t *testing.T) {
	p := in.reader(t, "hbase:"+in.old)
	if code, _, says := p.run("plan"); code != 128+9 {
		t.Fatalf("exit code %d: %s", code, says)
	}
	var taken history.ReadSnapshotRecord
	for _, r := range p.records() {
		if r.Event == string(history.EventReadSnapshot) {
			var err error
			if taken, err = history.Decode[history.ReadSnapshotRecord](r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, ok, err := in.cluster.SnapshotTime(t.Context(), in.table, taken.Snapshot); !ok || err != nil {
		t.Errorf("the snapshot %q of the first attempt: %t, %v", taken.Snapshot, ok, err)
	}
	// Later writes belong to another job.
	if _, err := in.admin.Run(t.Context(), "put", in.old, "0later", "f:check_id", "later"); err != nil {
		t.Fatal(err)
	}
	if code, _, says := p.run(""); code != 0 {
		t.Fatalf("exit code %d: %s", code, says)
	}
	p.judge(programRegions)
	if n := p.count(string(history.EventReadSnapshot)); n != 2 {
		t.Errorf("%d records of the snapshot, want that it is taken and that it is gone", n)
	}
	if _, ok, err := in.cluster.SnapshotTime(t.Context(), in.table, taken.Snapshot); ok || err != nil {
		t.Errorf("the snapshot is still there: %t, %v", ok, err)
	}
	if code, out, says := p.run(""); code != 0 || !strings.Contains(out, `"already"`) {
		t.Errorf("once more: exit code %d: %s%s", code, out, says)
	}
}

// snapshotOutlivesTable checks that an existing snapshot is read after its table was deleted.
func (in *tableInput) snapshotOutlivesTable(t *testing.T) {
	// The row that was put is not in the export.
	if _, err := in.admin.Run(t.Context(), "truncate", in.old); err != nil {
		t.Fatal(err)
	}
	in.spec.Timestamp = 1_700_000_000_000
	in.load(t)
	const taken = "table-as-input"
	if err := in.cluster.Snapshot(t.Context(), in.table, taken, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.cluster.DeleteSnapshot(context.WithoutCancel(t.Context()), in.table, taken); err != nil {
			t.Error(err)
		}
	})
	for _, do := range []string{"major-compact", "drop"} {
		if _, err := in.admin.Run(t.Context(), do, in.old); err != nil {
			t.Fatal(err)
		}
	}
	p := in.reader(t, "snapshot:"+taken)
	if code, _, says := p.run("sorted"); code != 128+9 {
		t.Fatalf("exit code %d: %s", code, says)
	}
	if code, _, says := p.run(""); code != 0 {
		t.Fatalf("exit code %d: %s", code, says)
	}
	p.judge(programRegions)
	p = in.reader(t, "snapshot:"+taken+"-other")
	if code, _, says := p.run(""); code == 0 || !strings.Contains(says, "list_snapshots") {
		t.Errorf("a snapshot that is not there: exit code %d: %s", code, says)
	}
}
