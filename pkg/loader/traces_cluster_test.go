package loader

import (
	"io"
	"log"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"

	"github.com/go-zookeeper/zk"
	"google.golang.org/protobuf/encoding/protowire"
)

// TestClusterID reads the id from ZooKeeper, or from the master if ZooKeeper has none. A different id identifies
// another cluster at the same address.
func TestClusterID(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	id, err := b.ID(t.Context())
	testcheck.Must(t, err)
	if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(id) {
		t.Errorf("the id is %q", id)
	}
	for name, c := range map[string]struct {
		copied []string
		other  string
		want   string
	}{
		"without the znode": {[]string{"meta-region-server", "master"}, "", id},
		"with another":      {[]string{"meta-region-server", "master"}, "00000000-1111-2222-3333-444444444444", "00000000-1111-2222-3333-444444444444"},
	} {
		cfg := b.cfg
		cfg.Root = copyZnodes(t, cfg.Quorum, cfg.Root, c.copied, c.other)
		other, err := Dial(t.Context(), cfg, nil)
		testcheck.Must(t, err)
		defer other.Close()
		if got, err := other.ID(t.Context()); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// copyZnodes creates a second root of the same cluster, with another id if it is not empty.
func copyZnodes(t testing.TB, quorum, root string, names []string, id string) string {
	t.Helper()
	conn, _, err := zk.Connect(strings.Split(quorum, ","), 10*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
	testcheck.Must(t, err)
	defer conn.Close()
	to := "/bulkload-test-" + testcheck.Name(t)
	put := func(name string, data []byte) {
		_, err := conn.Create(name, data, 0, zk.WorldACL(zk.PermAll))
		testcheck.Must(t, err)
		t.Cleanup(func() {
			conn, _, err := zk.Connect(strings.Split(quorum, ","), 10*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
			testcheck.Must(t, err)
			defer conn.Close()
			testcheck.Must(t, conn.Delete(name, -1))
		})
	}
	put(to, nil)
	for _, name := range names {
		data, _, err := conn.Get(root + "/" + name)
		testcheck.Must(t, err)
		put(to+"/"+name, data)
	}
	if id != "" {
		payload := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), id)
		put(to+"/hbaseid", append([]byte{0xFF, 0, 0, 0, 0, 'P', 'B', 'U', 'F'}, payload...))
	}
	return to
}

// TestRegionTraces checks that hbase:meta lists regions that were split or
// merged, and none of a deleted table.
func TestRegionTraces(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	admin := b.cluster.AdminT(t)
	table := b.table(t, "b", "d")
	names := func() (list []string) {
		regions, err := b.Regions(t.Context(), table)
		testcheck.Must(t, err)
		for _, r := range regions {
			list = append(list, r.Encoded)
		}
		return list
	}
	at := func() int64 {
		d, err := b.Describe(t.Context(), table)
		testcheck.Must(t, err)
		return d.StateTime
	}
	before, state := names(), at()
	for _, args := range [][]string{{"split", table.String(), "c"}, {"merge", table.String(), "a", "b"}} {
		_, err := admin.Run(t.Context(), args...)
		testcheck.Must(t, err)
	}
	traces, err := b.RegionTraces(t.Context(), table)
	testcheck.Must(t, err)
	for _, name := range slices.Concat(before, names()) {
		if !traces[name] {
			t.Errorf("region %s is not among %v", name, traces)
		}
	}
	if at() != state {
		t.Error("a split or a merge changed the table's state")
	}
	_, err = admin.Run(t.Context(), "truncate", table.String())
	testcheck.Must(t, err)
	if traces, err = b.RegionTraces(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	for _, name := range before {
		if traces[name] {
			t.Errorf("region %s is still known", name)
		}
	}
	if at() == state {
		t.Error("the table was emptied and has the state of before")
	}
}
