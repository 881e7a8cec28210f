package job

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/pipeline/preflight"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"

	"github.com/go-zookeeper/zk"
)

// TestPeersThatTakeALoad creates peers of every kind: by namespace, by table, by family, and with exclusions. It checks that the preflight names
// exactly the peers for which HBase then queues the load's files (hfile-refs: HBASE-23098, HBASE-25590). HBase also queues the files of a load that
// is not to be replicated: enabled peers drop them, and nothing stays queued.
func TestPeersThatTakeALoad(t *testing.T) {
	t.Parallel()
	c := testcluster.Own(t, testcluster.Guarded())
	env := jobtest.ClusterEnvAs(t, c, "hbase")
	table := jobtest.FreshTable(t, env, 10, func(f *loader.Family) { f.Attributes = map[string]string{"REPLICATION_SCOPE": "1"} })
	prefix := strings.ReplaceAll(testcheck.Name(t), "_", "") + "."
	takes := map[string]bool{}
	for peer, x := range map[string]struct {
		config string
		takes  bool
	}{
		"all": {"all", true}, "namespace": {"some test", true}, "othernamespace": {"some default", false},
		"table": {"some " + table, true}, "family": {"some " + table + "/f", true}, "otherfamily": {"some " + table + "/g", false},
		"none": {"some", false}, "notnamespace": {"all test", false}, "nottable": {"all " + table, false}, "notfamily": {"all " + table + "/g/f", false},
		"nototherfamily": {"all " + table + "/g", true}, "notothernamespace": {"all default", true}, "both": {"some default " + table + "/f", true},
	} {
		takes[prefix+peer] = x.takes
		a := c.AdminT(t)
		_, err := a.Run(t.Context(), append([]string{"add-peer", prefix + peer}, strings.Fields(x.config)...)...)
		testcheck.Must(t, err)
		t.Cleanup(func() { _, _ = a.Run(context.WithoutCancel(t.Context()), "remove-peer", prefix+peer) })
	}
	var want []string
	for _, peer := range slices.Sorted(maps.Keys(takes)) {
		if takes[peer] {
			want = append(want, peer)
		}
	}
	s := jobtest.Spec(t, "check")
	s.Table, s.Inputs = table, []string{jobtest.Export(t, "check.csv")}
	found := func() string {
		r, err := preflight.Run(t.Context(), env, jobtest.Resolve(t, s), preflight.Options{})
		testcheck.Must(t, err)
		i := slices.IndexFunc(r.Checks, func(c preflight.Check) bool { return c.Name == "replication" })
		if i < 0 {
			return ""
		}
		return r.Checks[i].Message.String()
	}
	named := func(message string) (peers []string) {
		for word := range strings.FieldsFuncSeq(message, func(r rune) bool { return strings.ContainsRune(" ,", r) }) {
			if strings.HasPrefix(word, prefix) {
				peers = append(peers, word)
			}
		}
		slices.Sort(peers)
		return peers
	}
	// A server reports every three seconds whether it replicates bulk loads.
	testcheck.Eventually(t, time.Minute, "the peers are named that get the files", func() (bool, any) {
		m := found()
		return slices.Equal(named(m), want) && strings.Contains(m, "get the files"), m
	})
	queued := func() []string {
		t.Helper()
		conn, _, err := zk.Connect([]string{c.ZooKeeper()}, time.Minute, zk.WithLogInfo(false))
		testcheck.Must(t, err)
		defer conn.Close()
		const refs = "/hbase/replication/hfile-refs"
		var peers []string
		all, _, err := conn.Children(refs)
		testcheck.Must(t, err)
		for _, peer := range all {
			files, _, err := conn.Children(path.Join(refs, peer))
			if err != nil && !errors.Is(err, zk.ErrNoNode) {
				t.Fatal(err)
			}
			if len(files) > 0 && strings.HasPrefix(peer, prefix) {
				peers = append(peers, peer)
			}
		}
		slices.Sort(peers)
		return peers
	}
	for _, s.Replicate = range []string{"yes", "no"} {
		_, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{State: checkpoint.Options{Dir: t.TempDir()}})
		testcheck.Must(t, err)
		if got := queued(); !slices.Equal(got, want) {
			t.Errorf("replicate %s: files are queued for %q; the check names %q", s.Replicate, got, want)
		}
	}
	if m := found(); !strings.Contains(m, "leave it out") || !slices.Equal(named(m), want) {
		t.Error(m)
	}
	for _, peer := range want {
		_, err := c.AdminT(t).Run(t.Context(), "enable-peer", peer)
		testcheck.Must(t, err)
	}
	testcheck.Eventually(t, 2*time.Minute, "nothing is queued for peers that are enabled", func() (bool, any) {
		got := queued()
		return len(got) == 0, got
	})
}
