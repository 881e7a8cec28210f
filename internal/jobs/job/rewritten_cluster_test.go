package job

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
)

// TestFilesModeAfterRewrites verifies by its files a job whose regions split or merge while it writes, so that its files are cut or merged: the files
// that HBase has loaded are checked, with a state directory and without.
func TestFilesModeAfterRewrites(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	var csv strings.Builder
	csv.WriteString("id,v\n")
	for i := range 400 {
		fmt.Fprintf(&csv, "%d_%04d,%d\n", i%4, i, i*i)
	}
	in := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(in, []byte(csv.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, do := range map[string][]string{"split": {"split", "1_02"}, "merge": {"merge", "1", "2"}} {
		for _, state := range []string{"", t.TempDir()} {
			t.Run(fmt.Sprintf("%s, with a journal: %t", what, state != ""), func(t *testing.T) {
				table := jobtest.FreshTableAt(t, env, [][]byte{[]byte("1"), []byte("2"), []byte("3")}, nil)
				o := RunOptions{State: checkpoint.Options{Dir: state}, MaxFiles: 1}
				o.Events = progress.Events{OnPhase: func(phase string) {
					if phase != "write" {
						return
					}
					if _, err := cluster.AdminT(t).Run(t.Context(), append([]string{do[0], table}, do[1:]...)...); err != nil {
						t.Error(err)
					}
				}}
				r, err := Run(t.Context(), env, jobtest.Resolve(t, spec.Spec{Table: table, Inputs: []string{in}, Key: "id", Verify: "files"}), o)
				if err != nil {
					t.Fatal(err)
				}
				want := map[string]int{"split": 5, "merge": 3}[what]
				if r.Verify == nil || r.Verify.Files == nil || r.Verify.Files.Files != want || r.Manifest.HFiles != 4 {
					t.Errorf("%d files were written, looked for were %+v, want %d", r.Manifest.HFiles, r.Verify, want)
				}
			})
		}
	}
}

// TestFencedFileIsKnownByItsNewName checks that a file that is loaded after it was renamed is looked up by its new name.
func TestFencedFileIsKnownByItsNewName(t *testing.T) {
	t.Parallel()
	log := &checkpoint.Job{History: history.New()}
	hooks := (&run{job: log}).hooks(t.Context(), nil, map[string]bool{})
	region := loader.Region{Encoded: "ab"}
	was := loader.HFile{Family: "f", Path: "hdfs://nn/s/f/0", First: rowkey.Key("a"), Last: rowkey.Key("b"), Size: 5, FileID: 3}
	now := was
	now.Path += "_1"
	for _, err := range []error{
		log.Record(history.EventLoading, history.FilesRecord{Files: []loader.HFile{was}}),
		hooks.OnSending([]loader.Sending{{Region: region, Files: []loader.HFile{was}}}), hooks.OnFencing(was, now.Path), hooks.OnFenced(was.Path, now),
		hooks.OnSending([]loader.Sending{{Region: region, Files: []loader.HFile{now}}}), hooks.OnLoaded(region, []loader.HFile{now}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(log.Leaves) != 1 || log.Leaves[now.Path].Path != now.Path || log.Files[now.Path] != history.FileLoaded {
		t.Errorf("files: %v, leaves: %v", log.Files, log.Leaves)
	}
}
