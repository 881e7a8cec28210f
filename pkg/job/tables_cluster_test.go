package job

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"bulkload/internal/jobtest"
	"bulkload/internal/testcluster"
	"bulkload/pkg/checkpoint"
	"bulkload/pkg/loader"
)

// TestTableAsInput loads a table into another one under another key: through a snapshot of the job's own, which a later attempt
// reads again and which is gone at the end, and through one that is there, when the table is not any more.
func TestTableAsInput(t *testing.T) {
	name := buildProgram(t)
	testCluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, testCluster)
	c, err := env.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	old := jobtest.FreshTable(t, env, 4, nil)
	table, err := loader.ParseTableName(old)
	if err != nil {
		t.Fatal(err)
	}
	s := jobtest.Spec(t, "check")
	s.Table, s.Key, s.Inputs = old, "salt(id) + md5hex(id) + check_id", []string{jobtest.Absolute(t, jobtest.Exports+"/check.dump")}
	if _, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{}); err != nil {
		t.Fatal(err)
	}
	admin := testCluster.AdminT(t)

	t.Run("scan", func(t *testing.T) {
		p := newProgram(t, name)
		p.input = "hbase:" + old
		if code, _, says := p.run("plan", "--read-by=scan"); code != 128+9 {
			t.Fatalf("exit code %d: %s", code, says)
		}
		if n := p.count(string(checkpoint.EventReadSnapshot)); n != 1 {
			t.Errorf("%d records of the scan", n)
		}
		// The parts stay those of the first attempt, and so does the way.
		if _, err := admin.Run(t.Context(), "split", old, "2~"); err != nil {
			t.Fatal(err)
		}
		if code, _, says := p.run(""); code != 2 || !strings.Contains(says, "begun to read it by scans: give --read-by scan") {
			t.Errorf("by files: exit code %d: %s", code, says)
		}
		if code, _, says := p.run("", "--read-by=auto"); code != 0 {
			t.Fatalf("exit code %d: %s", code, says)
		}
		p.judge(10)
		if n := p.count(string(checkpoint.EventReadSnapshot)); n != 2 {
			t.Errorf("%d records of the scan, want its beginning and that it is over", n)
		}
		if code, out, says := p.run("", "--read-by=scan"); code != 0 || !strings.Contains(out, `"already"`) {
			t.Errorf("once more: exit code %d: %s%s", code, out, says)
		}
	})

	t.Run("denied", func(t *testing.T) {
		owner := jobtest.ClusterEnvAs(t, testCluster, "hbase")
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
		p := newProgram(t, name)
		p.input = "hbase:" + old
		if code, _, says := p.run(""); code != 6 || !strings.Contains(says, "or give --read-by scan") {
			t.Errorf("by files: exit code %d: %s", code, says)
		}
		p = newProgram(t, name)
		p.input = "hbase:" + old
		if code, _, says := p.run("plan", "--read-by=auto", "--quiet=false"); code != 128+9 || !strings.Contains(says, "region servers scan it instead") {
			t.Fatalf("exit code %d: %s", code, says)
		}
		if code, _, says := p.run("", "--read-by=auto"); code != 0 {
			t.Fatalf("exit code %d: %s", code, says)
		}
		p.judge(10)
		var snapshots int
		for _, r := range p.records() {
			if r.Event != string(checkpoint.EventReadSnapshot) {
				continue
			}
			read, err := checkpoint.Decode[checkpoint.ReadSnapshotRecord](r)
			if err != nil {
				t.Fatal(err)
			}
			if read.Snapshot == "" {
				continue
			}
			snapshots++
			if _, ok, err := c.SnapshotTime(t.Context(), table, read.Snapshot); ok || err != nil {
				t.Errorf("the snapshot that could not be read is still there: %t, %v", ok, err)
			}
		}
		if n := p.count(string(checkpoint.EventReadSnapshot)); n != 3 || snapshots != 1 {
			t.Errorf("%d records, %d snapshots, want one, the scan in its place and its end", n, snapshots)
		}
	})

	t.Run("hbase", func(t *testing.T) {
		p := newProgram(t, name)
		p.input = "hbase:" + old
		if code, _, says := p.run("plan"); code != 128+9 {
			t.Fatalf("exit code %d: %s", code, says)
		}
		var taken checkpoint.ReadSnapshotRecord
		for _, r := range p.records() {
			if r.Event == string(checkpoint.EventReadSnapshot) {
				if taken, err = checkpoint.Decode[checkpoint.ReadSnapshotRecord](r); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, ok, err := c.SnapshotTime(t.Context(), table, taken.Snapshot); !ok || err != nil {
			t.Errorf("the snapshot %q of the first attempt: %t, %v", taken.Snapshot, ok, err)
		}
		// What is written after it is not of this job.
		if _, err := admin.Run(t.Context(), "put", old, "0later", "f:check_id", "later"); err != nil {
			t.Fatal(err)
		}
		if code, _, says := p.run(""); code != 0 {
			t.Fatalf("exit code %d: %s", code, says)
		}
		p.judge(10)
		if n := p.count(string(checkpoint.EventReadSnapshot)); n != 2 {
			t.Errorf("%d records of the snapshot, want that it is taken and that it is gone", n)
		}
		if _, ok, err := c.SnapshotTime(t.Context(), table, taken.Snapshot); ok || err != nil {
			t.Errorf("the snapshot is still there: %t, %v", ok, err)
		}
		if code, out, says := p.run(""); code != 0 || !strings.Contains(out, `"already"`) {
			t.Errorf("once more: exit code %d: %s%s", code, out, says)
		}
	})

	t.Run("snapshot", func(t *testing.T) {
		// The row that was put is not of the export.
		if _, err := admin.Run(t.Context(), "truncate", old); err != nil {
			t.Fatal(err)
		}
		s.Timestamp = 1_700_000_000_000
		if _, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{}); err != nil {
			t.Fatal(err)
		}
		const taken = "table-as-input"
		if err := c.Snapshot(t.Context(), table, taken, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.DeleteSnapshot(context.WithoutCancel(t.Context()), table, taken); err != nil {
				t.Error(err)
			}
		})
		for _, do := range []string{"major-compact", "drop"} {
			if _, err := admin.Run(t.Context(), do, old); err != nil {
				t.Fatal(err)
			}
		}
		p := newProgram(t, name)
		p.input = "snapshot:" + taken
		if code, _, says := p.run("sorted"); code != 128+9 {
			t.Fatalf("exit code %d: %s", code, says)
		}
		if code, _, says := p.run(""); code != 0 {
			t.Fatalf("exit code %d: %s", code, says)
		}
		p.judge(10)
		p = newProgram(t, name)
		p.input = "snapshot:" + taken + "-other"
		if code, _, says := p.run(""); code == 0 || !strings.Contains(says, "list_snapshots") {
			t.Errorf("a snapshot that is not there: exit code %d: %s", code, says)
		}
	})
}
