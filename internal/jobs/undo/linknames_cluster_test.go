package undo_test

import (
	"errors"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/jobs/job"
	"bulkload/internal/jobs/undo"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

// newNightsLike returns nights of a table of the default namespace whose name begins with hex digits and a dot, whose links HBase takes for references.
func newNightsLike(t *testing.T, prefix string) *nights {
	t.Helper()
	c := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, c)
	conn, err := env.Dial(t.Context())
	testcheck.Must(t, err)
	defer conn.Close()
	name := loader.TableName{Namespace: "default", Qualifier: prefix + testcheck.Name(t)}
	jobtest.MakeTable(t, env, conn, loader.TableSpec{Name: name, SplitKeys: [][]byte{[]byte("k0150")},
		Families: []loader.Family{{Name: "f", Versions: 1, Compression: testcluster.Codec(), Encoding: "FAST_DIFF", Bloom: "ROW", Attributes: map[string]string{compactUnasked: "100"}}}})
	return &nights{t, c, env, name.String(), t.TempDir()}
}

// TestUndoBySnapshotOfLinks undoes loads of tables while HBase takes no snapshot of them, since they have links to archived files: a table is made or put into
// service, and compared by a scan, also after a kill. While it has links, another undo is refused, and nothing is changed.
func TestUndoBySnapshotOfLinks(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"2026.", "a.b-c_"} {
		t.Run(prefix, func(t *testing.T) {
			t.Parallel()
			n := newNightsLike(t, prefix)
			n.load(1, 0, 200)
			want := n.digest()
			second, before := n.loadAfter(2, 100, 300)
			n.compact()
			said := ""
			o := undo.Options{By: undo.BySnapshot, Into: n.table + "_before", Events: progress.Events{OnWarn: func(msg string, _ ...any) { said += msg + "\n" }}}
			if r, err := undo.Run(t.Context(), n.env, second, o); err != nil || n.digestOf(o.Into) != want {
				t.Fatalf("into a new table: %+v, %v", r, err)
			}
			n.admin("drop", o.Into)
			if said = ""; prefix == "a.b-c_" {
				n.killed(jobtest.Program(t), second, "restored", "--by", "snapshot")
			}
			o.Into = ""
			r, err := undo.Run(t.Context(), n.env, second, o)
			if err != nil || r.Verify != "full" || !strings.Contains(said, "major_compact") {
				t.Fatalf("in place: %+v, %q, %v", r, said, err)
			}
			if got := n.digest(); got != want {
				t.Fatalf("the table is %s, before the night %s", got, want)
			}
			third, _ := n.load(3, 100, 300)
			with := n.digest()
			_, err = undo.Run(t.Context(), n.env, third, undo.Options{By: undo.BySnapshot, Snapshot: before})
			if fail.KindOf(err) != fail.Check || !errors.Is(err, loader.ErrSnapshotLinks) || n.digest() != with {
				t.Errorf("while the table has links: %v", err)
			}
			_, err = job.Run(t.Context(), n.env, jobtest.Resolve(t, n.spec(4, 0, 9)), job.RunOptions{State: checkpoint.Options{Dir: n.state}, Snapshot: before + "4"})
			if fail.KindOf(err) != fail.Check || !errors.Is(err, loader.ErrSnapshotLinks) {
				t.Errorf("a run with a snapshot: %v", err)
			}
			n.compact()
			if _, err := undo.Run(t.Context(), n.env, third, undo.Options{By: undo.BySnapshot, Snapshot: before}); err != nil {
				t.Errorf("after a compaction: %v", err)
			}
			n.undoneBy(third, want, "after a compaction", before)
		})
	}
}
