package loader

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testrpc"
)

// TestFileOfASplitRegion checks that a file in the directory of a region that was split counts as loaded while one of the new regions leads to it,
// whichever that is and whether or not the others answer, and that nobody is advised to move it away.
func TestFileOfASplitRegion(t *testing.T) {
	const reference, other, silent = "77aa_SeqId_3_.00parent", "99bb", ""
	for name, tt := range map[string]struct {
		files  []string // one file of each new region in service
		loaded bool
	}{
		"none has compacted":          {[]string{reference, reference, reference}, true},
		"the first has compacted":     {[]string{other, reference, reference}, true},
		"only the last one leads":     {[]string{other, other, reference}, true},
		"only the first one leads":    {[]string{reference, other, other}, true},
		"only the last one answers":   {[]string{silent, silent, reference}, true},
		"all have compacted":          {[]string{other, other, other}, false},
		"only one behind it has it":   {[]string{other, other, other, reference}, false},
		"one that matters is silent":  {[]string{other, silent, other}, false},
		"the one behind it is silent": {[]string{other, reference, other, silent}, true},
		"the last one has a link":     {[]string{other, other, "t=00parent-77aa_SeqId_3_"}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			servers := []string{"a:1", "b:1", "c:1", "d:1"}[:len(tt.files)]
			regions := metaRegions(t, testTable, servers...)
			l := metaLoad(t, &stubMeta{regions: regions})
			l.cluster.cfg.RootDir = "hdfs://ns/hbase"
			l.req.FS = &memFS{files: map[string]uint64{"/hbase/data/" + testTable.Namespace + "/" + testTable.Qualifier + "/00parent/f/77aa_SeqId_3_": 7}}
			for i, server := range servers {
				serveStub(l.cluster, server, func(c *testrpc.Call) error {
					if tt.files[i] == silent {
						return testrpc.ErrSilent
					}
					c.Answer.ProtoReflect().SetUnknown(frames.AppendBytes(nil, storeFileName, "/x/"+tt.files[i]))
					return nil
				})
			}
			file := HFile{Family: "f", Path: "hdfs://ns/d/f/a", First: []byte(string(regions[0].Start) + "5"), Last: regions[2].Start, FileID: 7}
			began := time.Now()
			out := l.settleAll([]HFile{file}, Region{Encoded: "00parent"}, false)
			if (len(out.loaded) == 1) != tt.loaded || tt.loaded && time.Since(began) > 0 {
				t.Errorf("%s: %d loaded after %s, want %t at once: %v", name, len(out.loaded), time.Since(began), tt.loaded, out.err)
			}
			if !tt.loaded && strings.Contains(out.err.Error(), "move it") {
				t.Errorf("%s: %v", name, out.err)
			}
		})
	}
}

// TestManyRegionsOfAFile checks that the number of regions that are asked for one file has a bound, behind which it does not count as absent.
func TestManyRegionsOfAFile(t *testing.T) {
	for n, denied := range map[int]bool{mostOwners: true, mostOwners + 1: false} {
		synctest.Test(t, func(t *testing.T) {
			regions := make([]Region, n)
			for i := range regions {
				regions[i] = Region{Name: fmt.Appendf(nil, "t,%c,1.%032d.", i+1, i), Start: []byte{byte(i + 1)}, End: []byte{byte(i + 2)}, Server: "a:1"}
			}
			l := metaLoad(t, &stubMeta{regions: regions})
			var asked atomic.Int32
			serveStub(l.cluster, "a:1", func(*testrpc.Call) error {
				asked.Add(1)
				return nil
			})
			o := l.inService(t.Context(), "00parent", HFile{Family: "f", First: regions[0].Start, Last: []byte{0xff}}, "77aa")
			if o == nil || o.denied != denied || asked.Load() != mostOwners {
				t.Errorf("%d of %d regions were asked: %+v", asked.Load(), n, o)
			}
		})
	}
}
