package job

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/verify"
	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

// TestFullBesideJavaClient measures the scan of a full verification against the same scan by HBase's own client, alternately, with BULKLOAD_SCAN_ROWS
// rows.
func TestFullBesideJavaClient(t *testing.T) {
	t.Parallel()
	rows, err := strconv.ParseInt(os.Getenv("BULKLOAD_SCAN_ROWS"), 10, 64)
	if err != nil {
		t.Skip("set BULKLOAD_SCAN_ROWS to measure")
	}
	const rounds = 5
	env := jobtest.ClusterEnv(t, testcluster.Shared(t))
	s := jobtest.Spec(t, "check")
	s.Table, s.Verify = jobtest.FreshTable(t, env, 10, nil), "files"
	in, err := data.WriteFile(t.Context(), t.TempDir(), data.Spec{Rows: rows}, data.Dump)
	if err != nil {
		t.Fatal(err)
	}
	s.Inputs = []string{in}
	r, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("read %s, write %s, load %s, verify %s", r.Manifest.ReadTime, r.Manifest.WriteTime, r.LoadTime, r.VerifyTime)
	c, err := env.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	facts, err := cluster.TableFacts(t.Context(), env, c, s.Table, "f")
	if err != nil {
		t.Fatal(err)
	}
	root, err := env.Conf.Resolve(env.Conf.Value("hbase.rootdir"))
	if err != nil {
		t.Fatal(err)
	}
	fsys, err := env.FS(root)
	if err != nil {
		t.Fatal(err)
	}
	stores := &verify.Stores{FS: fsys, Root: root.Path}
	for _, f := range r.Manifest.Files {
		stores.Files = append(stores.Files, loader.HFile{Family: f.Family, Path: f.Name, First: f.FirstRow, Last: f.LastRow, Size: f.Bytes, FileID: f.FileID, CRC32C: f.CRC32C})
	}
	took := map[string][]time.Duration{}
	java := func(threads int) func() (string, error) {
		return func() (string, error) {
			at := r.Manifest.Timestamp
			return testcluster.Shared(t).AdminT(t).Run(t.Context(), "full-scan", s.Table, fmt.Sprint(at), fmt.Sprint(at+1), fmt.Sprint(threads))
		}
	}
	ways := map[string]func() (string, error){
		"full": func() (string, error) {
			v, err := verify.Full(t.Context(), c, facts, r.Manifest, progress.Events{})
			return fmt.Sprint(v), err
		},
		"files": func() (string, error) {
			v, err := verify.Files(t.Context(), c, facts, r.Manifest, stores)
			return fmt.Sprintf("%+v", v.Files), err
		},
		"sample": func() (string, error) {
			v, err := verify.Sample(t.Context(), c, facts, r.Manifest)
			return fmt.Sprint(v.Sampled), err
		},
		"java": java(1), "java of 4 threads": java(4),
	}
	for round := range rounds + 1 {
		for _, way := range []string{"files", "sample", "full", "java", "java of 4 threads"} {
			began := time.Now()
			said, err := ways[way]()
			if err != nil {
				t.Fatalf("%s: %v", way, err)
			}
			if round > 0 { // the first round is a warm-up
				took[way] = append(took[way], time.Since(began))
			}
			t.Logf("%s: %s %s", way, time.Since(began).Round(time.Millisecond), said)
		}
	}
	median := func(way string) time.Duration { slices.Sort(took[way]); return took[way][rounds/2] }
	for way := range ways {
		t.Logf("%s: median %s, %.2f of the Java client's", way, median(way).Round(time.Millisecond), float64(median(way))/float64(median("java")))
	}
}
