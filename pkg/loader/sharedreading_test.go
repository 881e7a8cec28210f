package loader

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/hadoop/registry"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testrpc"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// stubMeta is a server of hbase:meta with the regions of a table. It counts the scans of a single row and of more.
type stubMeta struct {
	mu        sync.Mutex
	regions   []Region
	one, more int
}

// metaRegions returns n regions of a table on different servers, with their names in hbase:meta.
func metaRegions(t *testing.T, table TableName, servers ...string) []Region {
	t.Helper()
	regions := onServers(servers...)
	for i := range regions {
		r := &regions[i]
		r.ID = uint64(i + 1)
		info := &pb.RegionInfo{TableName: table.proto(), StartKey: r.Start, RegionId: &r.ID}
		r.Encoded = encodeName(table, info)
		r.Name = []byte(strings.Join([]string{table.String(), string(r.Start), string(rune('0'+r.ID)) + "." + r.Encoded + "."}, ","))
	}
	return regions
}

func (m *stubMeta) set(regions []Region) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.regions = regions
}

func (m *stubMeta) scans() (one, more int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.one, m.more
}

func (m *stubMeta) answer(c *testrpc.Call) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	scan, resp := c.Request.(*pb.ScanRequest).GetScan(), c.Answer.(*pb.ScanResponse)
	single := string(scan.GetStartRow())+"\x00" == string(scan.GetStopRow())
	if m.more++; single {
		m.more, m.one = m.more-1, m.one+1
	}
	var block []byte
	for _, r := range m.regions {
		if single && string(r.Name) != string(scan.GetStartRow()) {
			continue
		}
		info, err := proto.Marshal(&pb.RegionInfo{TableName: testTable.proto(), StartKey: r.Start, EndKey: r.End, RegionId: &r.ID})
		if err != nil {
			return err
		}
		for qualifier, value := range map[string]string{"regioninfo": "PBUF" + string(info), "server": r.Server} {
			block = appendCell(block, string(r.Name), Cell{Family: []byte("info"), Qualifier: []byte(qualifier), Value: []byte(value)})
		}
		resp.CellsPerResult = append(resp.CellsPerResult, 2)
	}
	c.Cells = block
	resp.PartialFlagPerResult = make([]bool, len(resp.CellsPerResult))
	resp.MoreResultsInRegion = proto.Bool(false)
	return nil
}

// metaLoad returns a load of a table whose regions a stub has.
func metaLoad(t *testing.T, m *stubMeta) *load {
	t.Helper()
	c := stubCluster(Config{})
	t.Cleanup(func() { c.Close() })
	serveStub(c, "meta:1", m.answer)
	c.registry.Know(registry.Places{Meta: "meta:1"})
	l := settlingLoad(t, c, &memFS{})
	l.req.Table = testTable
	return l
}

// TestWaitingLoadsReadOneRow checks that loads that take long read the row of their own region of hbase:meta, and not those of the whole table, and
// that they notice a region that is served elsewhere or is gone; not one without a server, nor a table without regions.
func TestWaitingLoadsReadOneRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		was := metaRegions(t, testTable, "a:1", "b:1", "c:1")
		m := &stubMeta{regions: was}
		l := metaLoad(t, m)
		ctx, cancel := context.WithCancel(t.Context())
		var left [3]atomic.Bool
		var waits sync.WaitGroup
		for i, r := range was {
			waits.Go(func() { left[i].Store(l.movedAway(ctx, r)) })
		}
		<-time.After(time.Minute + time.Second)
		if one, more := m.scans(); one != 18 || more != 0 { // six looks in a minute
			t.Errorf("%d rows were read and %d times all of them, want 18 and 0", one, more)
		}
		now := metaRegions(t, testTable, "other:1", "b:1")
		m.set(append(now[:1:1], metaRegions(t, testTable, "a:1", "", "c:1")[1])) // the first has moved, the second has no server, the third is gone
		<-time.After(time.Minute)
		m.set(nil)
		<-time.After(time.Minute)
		cancel()
		waits.Wait()
		if !left[0].Load() || left[1].Load() || !left[2].Load() {
			t.Errorf("moved %t, without a server %t, gone %t; want true, false, true", left[0].Load(), left[1].Load(), left[2].Load())
		}
	})
}

// TestReadingsAreSharedAndFresh checks that the files of a load share readings of the regions, and that each gets one that began after it asked.
func TestReadingsAreSharedAndFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &stubMeta{regions: metaRegions(t, testTable, "a:1")}
		l := metaLoad(t, m)
		slow := make(chan struct{})
		serveStub(l.cluster, "meta:1", func(c *testrpc.Call) error {
			err := m.answer(c)
			<-slow
			return err
		})
		ask := func(n int, want string) *sync.WaitGroup {
			var asked sync.WaitGroup
			for range n {
				asked.Go(func() {
					regions, err := l.regionsNow(t.Context())
					if err != nil || regions[0].Server != want {
						t.Errorf("the region is on %v, want %s: %v", regions, want, err)
					}
				})
			}
			synctest.Wait()
			return &asked
		}
		first := ask(1, "a:1") // this reading is in progress when the region moves
		m.set(metaRegions(t, testTable, "b:1"))
		others := ask(64, "b:1")
		close(slow)
		first.Wait()
		others.Wait()
		if _, more := m.scans(); more != 2 {
			t.Errorf("%d readings, want 2", more)
		}
	})
}

// TestLookupsAreShared checks that goroutines that find the same server of hbase:meta gone share the lookups of the next one.
func TestLookupsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := stubCluster(Config{})
		defer c.Close()
		lookups := 0
		stubRegistry(c, func() string {
			lookups++
			return "master"
		})
		gone := func(*testrpc.Call) error {
			return thrown("org.apache.hadoop.hbase.regionserver.RegionServerStoppedException", "x")
		}
		serveStub(c, "old:1", gone)
		m := &stubMeta{regions: metaRegions(t, testTable, "a:1")}
		serveStub(c, "meta:1", m.answer)
		c.registry.Know(registry.Places{Meta: "old:1", Master: "old:1"})
		var calls sync.WaitGroup
		for i := range 64 {
			calls.Go(func() {
				<-time.After(time.Duration(i) * time.Millisecond)
				if _, err := c.Regions(t.Context(), testTable); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if lookups != 1 {
			t.Errorf("%d lookups, want 1", lookups)
		}
		// A caller whose time ends does not end the lookup for the others.
		found, err := c.registry.Meta(t.Context())
		testcheck.Must(t, err)
		c.registry.Forget(found)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.registry.Meta(ended); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		_, err = c.registry.Meta(t.Context())
		testcheck.Must(t, err)
	})
}
