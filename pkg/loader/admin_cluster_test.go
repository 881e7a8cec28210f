package loader

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/hadoop/registry"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"

	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTables(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	name := TableName{"loader_test", "described"}
	admin := testcluster.Shared(t).AdminT(t)
	_, err := admin.Run(t.Context(), "drop", name.String())
	testcheck.Must(t, err)
	spec := TableSpec{
		Name: name, CreateNamespace: true,
		Families: []Family{
			{Name: "z"},
			{Name: "f", Compression: testcluster.Codec(), Encoding: "FAST_DIFF", Bloom: "ROWPREFIX_FIXED_LENGTH", BloomParam: "4", BlockSize: 8192, TTL: 86400, Versions: 3,
				Attributes: map[string]string{"IN_MEMORY": "true"}, Configuration: map[string]string{"some.key": "v"}},
		},
		Attributes:    map[string]string{"MAX_FILESIZE": "3221225472"},
		Configuration: map[string]string{"a.b": "c"},
		SplitKeys:     [][]byte{{0}, []byte("5"), {0xff, 0xfe}},
	}
	testcheck.Must(t, b.CreateTable(t.Context(), spec))
	if err := b.CreateTable(t.Context(), spec); !errors.Is(err, ErrTableExists) {
		t.Errorf("again: %v", err)
	}
	if tables, err := b.Tables(t.Context()); err != nil || !slices.Contains(tables, name) || slices.Contains(tables, TableName{"hbase", "meta"}) {
		t.Errorf("tables: %v, %v", tables, err)
	}
	table, err := b.Describe(t.Context(), name)
	testcheck.Must(t, err)
	if table.State != Enabled || table.MaxFileSize != 3221225472 || table.ReadOnly || len(table.Families) != 2 || table.Attributes["a.b"] != "c" {
		t.Errorf("%+v", table)
	}
	f := table.Families[0]
	if f.Attributes["IN_MEMORY"] != "true" || f.Configuration["some.key"] != "v" {
		t.Errorf("%+v", f)
	}
	f.Attributes, f.Configuration = nil, nil
	if diff := cmp.Diff(Family{Name: "f", Compression: testcluster.Codec(), Encoding: "FAST_DIFF", Bloom: "ROWPREFIX_FIXED_LENGTH", BloomParam: "4", BlockSize: 8192, TTL: 86400, Versions: 3}, f); diff != "" {
		t.Error(diff)
	}
	z := table.Families[1]
	z.Attributes, z.Configuration = nil, nil
	if diff := cmp.Diff(Family{Name: "z", Compression: "NONE", Encoding: "NONE", Bloom: "ROW", BlockSize: 65536, TTL: Forever, Versions: 1}, z); diff != "" {
		t.Error(diff)
	}
	regions, err := b.Regions(t.Context(), name)
	testcheck.Must(t, err)
	if len(regions) != 4 {
		t.Fatalf("%d regions", len(regions))
	}
	for i, r := range regions {
		if i > 0 && string(r.Start) != string(spec.SplitKeys[i-1]) || len(r.Encoded) != 32 || !strings.HasPrefix(r.Server, "localhost:") || r.ID == 0 ||
			!strings.HasPrefix(string(r.Name), name.String()+",") {
			t.Errorf("region %d: %+v", i, r)
		}
	}
	// Tables whose names begin alike must not be mixed up.
	other := TableName{"loader_test", "described-2"}
	testcheck.Must(t, b.CreateTable(t.Context(), TableSpec{Name: other, Families: []Family{{Name: "f"}}}))
	if regions, err := b.Regions(t.Context(), name); err != nil || len(regions) != 4 {
		t.Errorf("%d regions, %v", len(regions), err)
	}
	testcheck.Must(t, b.DeleteTable(t.Context(), other))
	testcheck.Must(t, b.DisableTable(t.Context(), name))
	testcheck.Must(t, b.DisableTable(t.Context(), name))
	if table, err := b.Describe(t.Context(), name); err != nil || table.State != Disabled {
		t.Errorf("disabled: %+v, %v", table, err)
	}
	testcheck.Must(t, b.DeleteTable(t.Context(), name))
	for what, err := range map[string]error{
		"describe": second(b.Describe(t.Context(), name)),
		"regions":  second(b.Regions(t.Context(), name)),
		"delete":   b.DeleteTable(t.Context(), name),
		"enable":   b.EnableTable(t.Context(), name),
	} {
		if !errors.Is(err, ErrTableNotFound) {
			t.Errorf("%s of a missing table: %v", what, err)
		}
	}
	err = b.CreateTable(t.Context(), TableSpec{Name: TableName{"no_such_ns", "t"}, Families: []Family{{Name: "f"}}})
	if err == nil || !strings.Contains(err.Error(), "namespace no_such_ns does not exist") {
		t.Errorf("missing namespace: %v", err)
	}
	err = b.CreateTable(t.Context(), TableSpec{Name: TableName{"loader_test", "bad"}, Families: []Family{{Name: "f", Compression: "NOSUCH"}}})
	if hbaserpc.ReactionTo(err) != hbaserpc.GiveUp {
		t.Errorf("unknown codec: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestStatus(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	s, err := b.Status(t.Context())
	testcheck.Must(t, err)
	ports := b.cluster.Ports()
	want := Status{Version: s.Version, Master: fmt.Sprintf("localhost:%d", ports.Master)}
	if !strings.HasPrefix(s.Version, b.cluster.Version()) {
		t.Errorf("version %s", s.Version)
	}
	for _, port := range ports.RegionServer {
		want.Servers = append(want.Servers, fmt.Sprintf("localhost:%d", port))
	}
	if !slices.Contains(s.Coprocessors, "MultiRowMutationEndpoint") { // a coprocessor of hbase:meta
		t.Errorf("coprocessors are %q", s.Coprocessors)
	}
	var started []string
	for _, name := range s.Started {
		host, rest, _ := strings.Cut(name, ",")
		port, code, _ := strings.Cut(rest, ",")
		if millis, err := strconv.ParseInt(code, 10, 64); err != nil || millis < 1e12 {
			t.Errorf("the start of the server %s is not a time in milliseconds", name)
		}
		started = append(started, host+":"+port)
	}
	if !slices.Equal(started, s.Servers) {
		t.Errorf("servers with starts are %q, want those of %q", s.Started, s.Servers)
	}
	s.Started = nil
	s.Coprocessors, s.StoreFiles = nil, nil // they include those of other tests' tables
	s.Dead = 0                              // an earlier test may have killed one, which the master still remembers
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStatusOfStores checks that servers report the number of files per store of a region.
func TestStatusOfStores(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.tableSpec(t, TableSpec{Families: testFamilies[:1]})
	for _, part := range []string{"a", "b"} {
		_, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{b.hfile(t, b.fs, b.dir, "f", rowsOf(part, 10))}, FS: b.fs})
		testcheck.Must(t, err)
	}
	regions, err := b.Regions(t.Context(), table)
	testcheck.Must(t, err)
	testcheck.Eventually(t, time.Minute, "two files are reported", func() (bool, any) {
		s, err := b.Status(t.Context())
		testcheck.Must(t, err)
		n := s.StoreFiles[string(regions[0].Name)]
		return n == 2, n
	})
}

func TestDialFails(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	cfg := b.cfg
	cfg.Root = "/elsewhere"
	if _, err := Dial(t.Context(), cfg, nil); !Unavailable(err) || err.Error() !=
		"dial HBase at "+cfg.Quorum+"/elsewhere: ask ZooKeeper "+cfg.Quorum+": /elsewhere/meta-region-server does not exist: HBase is not running, or zookeeper.znode.parent is not /elsewhere" {
		t.Errorf("wrong root: %v", err)
	}
	cfg = b.cfg
	cfg.Quorum, cfg.LookupTimeout = "127.0.0.1:1", 600e6
	_, err := Dial(t.Context(), cfg, nil)
	if e, ok := errors.AsType[*registry.LookupError](err); !ok || e.Where != "ZooKeeper 127.0.0.1:1" || !Unavailable(err) {
		t.Errorf("no ZooKeeper: %v", err)
	}
	if _, err := Dial(t.Context(), Config{}, nil); fmt.Sprint(err) != fmt.Sprintf("dial HBase: %v", Config{}.Validate()) {
		t.Errorf("empty configuration: %v", err)
	}
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	b := newBench(t, nil)
	table, _ := b.loaded(t, 10)
	before := runtime.NumGoroutine()
	c, err := Dial(t.Context(), b.cfg, nil)
	testcheck.Must(t, err)
	testcheck.Must(t, c.ScanParallel(t.Context(), ScanRequest{Table: table}, 3, func(int, Row) error { return nil }))
	_, err = c.Status(t.Context())
	testcheck.Must(t, err)
	testcheck.Must(t, c.Close())
	testcheck.Must(t, c.Close())
	testcheck.Eventually(t, time.Minute, "the end of all goroutines", func() (bool, any) {
		if n := runtime.NumGoroutine(); n > before {
			buf := make([]byte, 1<<20)
			return false, fmt.Sprintf("%d, %d before\n%s", n, before, buf[:runtime.Stack(buf, true)])
		}
		return true, nil
	})
	if _, err := c.Regions(t.Context(), table); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
