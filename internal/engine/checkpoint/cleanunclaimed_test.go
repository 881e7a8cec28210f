package checkpoint

import (
	"context"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
)

// TestCleanNamesUnclaimed checks that a directory that HBase has made for a load, and that no journal names, is listed for users who may see it, with
// the command that removes it, and is kept.
func TestCleanNamesUnclaimed(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	table := jobtest.FreshTable(t, env, 1, nil)
	name, err := loader.ParseTableName(table)
	testcheck.Must(t, err)
	c, err := env.Dial(t.Context())
	testcheck.Must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	token, err := c.Prepare(t.Context(), name)
	testcheck.Must(t, err)
	l, err := env.Conf.Resolve(token)
	testcheck.Must(t, err)
	fsys := jobtest.UserFS(t, cluster, "hbase")
	t.Cleanup(func() { _ = fsys.RemoveAll(context.WithoutCancel(t.Context()), l.Path) })

	look := func(user, state string, older time.Duration) *Leftover {
		t.Helper()
		r, err := Clean(t.Context(), jobtest.ClusterEnvAs(t, cluster, user), CleanOptions{State: state, Staging: "/tmp/nobody-has-this", OlderThan: older, Remove: true})
		testcheck.Must(t, err)
		if _, err := fsys.Stat(t.Context(), l.Path); err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(r.Dirs, func(d Leftover) bool { return d.Path == l.String() }); i >= 0 {
			return &r.Dirs[i]
		}
		return nil
	}
	says := func(what string, left *Leftover, text string) {
		t.Helper()
		if left == nil || left.Remove || left.Status != history.JobUnknown || !strings.Contains(left.Because.String(), text) {
			t.Errorf("%s: %+v", what, left)
		}
	}
	says("a directory that is empty", look("hbase", t.TempDir(), 1), "hdfs dfs -rm -r "+l.Path+" as HBase's user")
	if left := look("hbase", t.TempDir(), time.Hour); left != nil {
		t.Errorf("one of today: %+v", left)
	}
	if left := look("tina", t.TempDir(), 1); left != nil {
		t.Errorf("seen by a user who may not list it: %+v", left)
	}
	file := path.Join(l.Path, "f", "0123")
	testcheck.Must(t, fsys.MkdirAll(t.Context(), path.Dir(file), 0o777))
	w, err := fsys.Create(t.Context(), file, hdfsio.CreateOptions{Perm: 0o666})
	testcheck.Must(t, err)
	_, err = w.Write([]byte("x"))
	testcheck.Must(t, err)
	testcheck.Must(t, w.Finish())
	says("one with a file", look("hbase", t.TempDir(), 1), "it holds files")

	state := t.TempDir()
	writeJournal(t, state, "ns_t-000000000001", 0, `"event":"plan","table":"`+table+`"`, `"event":"prepared","token":"`+token+`"`)
	if left := look("hbase", state, time.Hour); left == nil || left.Status == history.JobUnknown {
		t.Errorf("one of a journal: %+v", left)
	}
}
