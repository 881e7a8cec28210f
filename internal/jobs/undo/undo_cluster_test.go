package undo_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	server "github.com/tsuna/gohbase/region"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/job"
	"bulkload/internal/jobs/undo"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

// nights is a table that is loaded night after night.
type nights struct {
	t       *testing.T
	cluster *testcluster.Cluster
	env     *cluster.Env
	table   string
	state   string
}

func newNights(t *testing.T, versions int, bloom string) *nights {
	t.Helper()
	c := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, c)
	table := jobtest.FreshTableAt(t, env, [][]byte{[]byte("k0150")}, func(f *loader.Family) { f.Versions, f.Bloom = versions, bloom })
	return &nights{t, c, env, table, t.TempDir()}
}

// spec returns the job of a night with rows k[from] to k[to-1]; every second value is the same each night.
func (n *nights) spec(night, from, to int) spec.Spec {
	n.t.Helper()
	var csv strings.Builder
	csv.WriteString("id,v,w\n")
	for i := from; i < to; i++ {
		v := strconv.Itoa(i)
		if i%2 == 1 {
			v = fmt.Sprintf("%d in night %d", i, night)
		}
		fmt.Fprintf(&csv, "k%04d,%s,%d\n", i, v, night)
	}
	in := filepath.Join(n.state, fmt.Sprintf("night%d-%d.csv", night, to))
	if err := os.WriteFile(in, []byte(csv.String()), 0o600); err != nil {
		n.t.Fatal(err)
	}
	return spec.Spec{Table: n.table, Inputs: []string{in}, Key: "id", Verify: "full"}
}

func (n *nights) run(s spec.Spec, o checkpoint.Options) (*result.Result, error) {
	o.Dir = n.state
	return job.Run(n.t.Context(), n.env, jobtest.Resolve(n.t, s), job.RunOptions{State: o})
}

// load loads a night and returns the directory of its job.
func (n *nights) load(night, from, to int) (dir string, s spec.Spec) {
	n.t.Helper()
	s = n.spec(night, from, to)
	r, err := n.run(s, checkpoint.Options{})
	if err != nil {
		n.t.Fatal(err)
	}
	return r.Job, s
}

// digest returns the digest of the table, read by the Java client.
func (n *nights) digest() string {
	n.t.Helper()
	d, err := n.cluster.AdminT(n.t).Digest(n.t.Context(), n.table)
	if err != nil {
		n.t.Fatal(err)
	}
	return d
}

func (n *nights) compact() {
	n.t.Helper()
	if _, err := n.cluster.AdminT(n.t).Run(n.t.Context(), "major-compact", n.table); err != nil {
		n.t.Fatal(err)
	}
}

// column reads one column of rows with Gets, which use Bloom filters of rows and columns.
func (n *nights) column(rows ...int) (values []string) {
	n.t.Helper()
	c, err := n.env.Dial(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	defer c.Close()
	name, err := loader.ParseTableName(n.table)
	if err != nil {
		n.t.Fatal(err)
	}
	regions, err := c.Regions(n.t.Context(), name)
	if err != nil {
		n.t.Fatal(err)
	}
	for _, row := range rows {
		key := fmt.Sprintf("k%04d", row)
		get, err := hrpc.NewGetStr(n.t.Context(), n.table, key, hrpc.Families(map[string][]string{"f": {"w"}}), hrpc.TimeRangeUint64(0, math.MaxInt64))
		if err != nil {
			n.t.Fatal(err)
		}
		r := regions[slices.IndexFunc(regions, func(r loader.Region) bool { return r.Contains([]byte(key)) })]
		client := server.NewClient(r.Server, server.RegionClient, 1, 0, "tina", time.Minute, nil, (&net.Dialer{}).DialContext)
		if err := client.Dial(n.t.Context()); err != nil {
			n.t.Fatal(err)
		}
		get.SetRegion(server.NewInfo(r.ID, []byte(name.Namespace), []byte(name.Qualifier), r.Name, r.Start, r.End))
		client.QueueRPC(get)
		answer := <-get.ResultChan()
		client.Close()
		if answer.Error != nil {
			n.t.Fatal(answer.Error)
		}
		value := "-"
		for _, cell := range answer.Msg.(*pb.GetResponse).GetResult().GetCell() {
			value = string(cell.GetValue())
		}
		values = append(values, value)
	}
	return values
}

// killed runs undo in a process that is killed after a record.
func (n *nights) killed(program, dir, after string, flags ...string) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append([]string{"undo", "--state", n.state, "--job", filepath.Base(dir)}, flags...)...)
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+n.cluster.ConfDir(), "HBASE_CONF_DIR="+n.cluster.ConfDir(), "HADOOP_USER_NAME=tina", "BULKLOAD_TEST_STOP_AFTER="+after)
	out, err := cmd.CombinedOutput()
	e, ok := errors.AsType[*exec.ExitError](err)
	if !ok || e.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		n.t.Fatalf("after %s: %v\n%s", after, err, out)
	}
	s, err := status.Read(dir)
	if err != nil || s.Undo != history.UndoRunning {
		n.t.Fatalf("after %s: status says %+v, %v", after, s, err)
	}
}

// TestUndo undoes one night of three, and checks with the Java client that the table is like one that never had it. The undo is killed three times.
// The timestamp cannot be used again.
func TestUndo(t *testing.T) {
	t.Parallel()
	n := newNights(t, 2, "ROWCOL")
	bin := jobtest.Program(t)
	n.load(1, 0, 200)
	second, secondSpec := n.load(2, 100, 300)
	third, _ := n.load(3, 250, 350)
	other := newNights(t, 2, "ROW")
	other.load(1, 0, 200)
	other.load(3, 250, 350)
	want := other.digest()
	before := n.digest()

	diff, err := undo.Diff(t.Context(), n.env, second, undo.DiffOptions{Keys: 3})
	if err != nil {
		t.Fatal(err)
	}
	if diff.RowsAdded != 100 || diff.RowsOverwritten != 100 || diff.CellsOverwritten != 300 || diff.CellsUnchanged != 150 || diff.CellsAdded != 300 || len(diff.Regions) != 2 ||
		diff.Regions[0].Rows != 50 || diff.Regions[0].Keys[0] != (result.Key{Row: "k0100", Overwritten: true}) {
		t.Errorf("diff says %+v", diff)
	}
	dry, err := undo.Run(t.Context(), n.env, second, undo.Options{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	if s := dry.Survey; s.CellsSeen != 450 || s.RowsRestored != 100 || s.CellsRestored != 300 || s.RowsGone != 50 || s.Load.Rows != 200 || n.digest() != before {
		t.Errorf("predicted is %+v", s)
	}
	if s, err := status.Read(second); err != nil || s.Undo != "" {
		t.Errorf("a dry run leaves %+v, %v", s, err)
	}

	for _, after := range []string{"undoing", "markers", "sending"} {
		n.killed(bin, second, after)
		if _, err := n.run(secondSpec, checkpoint.Options{Restart: true}); fail.KindOf(err) != fail.Check {
			t.Errorf("a job whose undo is under way runs: %v", err)
		}
	}
	r, err := undo.Run(t.Context(), n.env, second, undo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Markers != 200 || r.Files != 2 || r.Verify != "full" || r.Snapshot != "" || r.Timestamp != diff.Timestamp {
		t.Errorf("undone is %+v", r)
	}
	if got := n.digest(); got != want {
		t.Errorf("the table is %s, without the night %s", got, want)
	}
	rows := []int{50, 100, 199, 200, 249, 250, 349}
	if got, want := fmt.Sprint(n.column(rows...)), fmt.Sprint(other.column(rows...)); got != want {
		t.Errorf("single columns are %s, want %s", got, want)
	}
	n.leftNothing()
	again, err := undo.Run(t.Context(), n.env, second, undo.Options{})
	if err != nil || !again.Already || again.Markers != 200 {
		t.Errorf("once more: %+v, %v", again, err)
	}
	if s, err := status.Read(second); err != nil || s.Undo != history.UndoDone || s.Undone == nil || s.State != history.JobDone {
		t.Errorf("status says %+v, %v", s, err)
	}

	// The timestamp cannot be used again, by this job and by others.
	if _, err := n.run(secondSpec, checkpoint.Options{}); fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "was undone at") {
		t.Errorf("the same job runs: %v", err)
	}
	reuse := n.spec(4, 400, 410)
	reuse.Timestamp = r.Timestamp
	if _, err := n.run(reuse, checkpoint.Options{}); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "was undone") {
		t.Errorf("a job of the timestamp runs: %v", err)
	}

	// A compaction has rewritten the third night: two of three versions are not enough to be sure.
	n.compact()
	if got := n.digest(); got != want {
		t.Errorf("compacted, the table is %s, want %s", got, want)
	}
	refused, err := undo.Run(t.Context(), n.env, third, undo.Options{})
	if fail.KindOf(err) != fail.Check || len(refused.Refused) != 1 || !strings.Contains(refused.Refused[0], "1 other timestamps were undone") {
		t.Errorf("an undo of two is not refused: %+v, %v", refused, err)
	}
	n.leftNothing()

	// The night is loaded again, with another timestamp, and is kept.
	if _, err := n.run(secondSpec, checkpoint.Options{Restart: true}); err != nil {
		t.Fatal(err)
	}
	if got := n.column(100, 249, 299); fmt.Sprint(got) != "[2 2 2]" {
		t.Errorf("loaded again, rows have %s", got)
	}
}

// leftNothing checks that no snapshot or file of the table is left.
func (n *nights) leftNothing() {
	n.t.Helper()
	for _, dir := range []string{"/hbase/.hbase-snapshot", "/tmp/bulkload-tina", "/hbase/staging"} {
		if left := n.left(dir); len(left) > 0 {
			n.t.Errorf("left behind in %s: %s", dir, left)
		}
	}
}

// left returns the entries of a directory that are named after the table.
func (n *nights) left(dir string) (names []string) {
	n.t.Helper()
	list, err := jobtest.UserFS(n.t, testcluster.Shared(n.t), "hbase").ReadDir(n.t.Context(), dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.t.Fatal(err)
	}
	for _, x := range list {
		if strings.Contains(x.Name(), n.name()) {
			names = append(names, x.Name())
		}
	}
	return names
}

// TestUndoOneVersion undoes a night of a table that keeps one version while its files are as they were loaded, and checks the refusal after a
// compaction has rewritten them.
func TestUndoOneVersion(t *testing.T) {
	t.Parallel()
	n := newNights(t, 1, "ROW")
	n.load(1, 0, 200)
	want := n.digest()
	second, _ := n.load(2, 100, 300)
	with := n.digest()
	if with == want {
		t.Fatal("the second night changes nothing")
	}
	dry, err := undo.Run(t.Context(), n.env, second, undo.Options{DryRun: true})
	if err != nil || dry.Survey.RowsRestored != 100 || dry.Survey.RowsGone != 100 || dry.Survey.Families[0].Compacted != 0 {
		t.Fatalf("predicted is %+v, %v", dry, err)
	}
	if _, err := undo.Run(t.Context(), n.env, second, undo.Options{InsertOnly: true}); fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "100 rows were there before") {
		t.Errorf("rows that were there are taken for new: %v", err)
	}
	if _, err := undo.Run(t.Context(), n.env, second, undo.Options{Verify: "range"}); err != nil {
		t.Fatal(err)
	}
	if got := n.digest(); got != want {
		t.Errorf("the table is %s, want %s", got, want)
	}
	n.compact()
	if got := n.digest(); got != want {
		t.Errorf("compacted, the table is %s, want %s", got, want)
	}

	other := newNights(t, 1, "ROW")
	other.load(1, 0, 200)
	second, _ = other.load(2, 100, 300)
	other.compact()
	with = other.digest()
	for _, dry := range []bool{true, false} {
		r, err := undo.Run(t.Context(), other.env, second, undo.Options{DryRun: dry})
		if fail.KindOf(err) != fail.Check || len(r.Refused) != 1 || !strings.Contains(r.Refused[0], "keeps one version, and a compaction rewrote 600 of the load's 600 cells") {
			t.Errorf("an undo that loses rows is not refused: %+v, %v", r, err)
		}
	}
	if got := other.digest(); got != with {
		t.Errorf("a refused undo has changed the table from %s to %s", with, got)
	}
	if s, err := status.Read(second); err != nil || s.Undo != "" {
		t.Errorf("status of a refused undo: %+v, %v", s, err)
	}
	other.leftNothing()
}
