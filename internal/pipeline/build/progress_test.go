package build

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/model/progress"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/partition"
)

// TestTrackerCountsABuild compares the counts of a tracker with the results of
// the build, for each form of input.
func TestTrackerCountsABuild(t *testing.T) {
	packed := filepath.Join(t.TempDir(), "check.csv.gz")
	gzipFile(t, jobtest.Export(t, "check.csv"), packed)
	for _, input := range []string{"check.csv", "check.dump", "check.parquet", packed} {
		t.Run(filepath.Base(input), func(t *testing.T) {
			if !filepath.IsAbs(input) {
				input = jobtest.Export(t, input)
			}
			s := jobtest.Spec(t, "check")
			s.Inputs = []string{jobtest.Absolute(t, input)}
			var tracker, other progress.Tracker
			w := WorkOptions{Memory: 64 << 20, Workers: 2, Events: progress.Tee(tracker.Events(), other.Events(), progress.Events{})}
			m, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, partition.SaltSplits(10), t.TempDir(), w)
			if err != nil {
				t.Fatal(err)
			}
			tracker.End()
			p := tracker.Progress()
			if len(p.Phases) != 3 || p.Phases[0].Name != "read" || p.Phases[1].Name != "sort" || p.Phases[2].Name != "write" {
				t.Fatalf("phases %+v", p.Phases)
			}
			for i, phase := range p.Phases {
				if phase.Ended.Before(phase.Began) || i > 0 && phase.Began.Before(p.Phases[i-1].Ended) {
					t.Errorf("phase %+v", phase)
				}
			}
			read, write := p.Phases[0], p.Phases[2]
			if read.Done.Rows != m.Records || write.Done.Rows != m.Records || write.Total.Rows != m.Records {
				t.Errorf("%d records: read %+v, write %+v", m.Records, read, write)
			}
			if f, ok := read.Fraction(); !ok || f < 0.999 { // all but the end of a compressed file
				t.Errorf("read to its end: %v, %v of %+v", f, ok, read)
			}
			if p.Written != m.Bytes || p.HFiles.Bytes != m.Bytes || p.HFiles.Files != int64(m.HFiles) || p.HFiles.Rows != m.Digest.Rows {
				t.Errorf("written %d, files %+v; the manifest has %d in %d", p.Written, p.HFiles, m.Bytes, m.HFiles)
			}
			if q := other.Progress(); q.Phases[0].Done != read.Done || q.Written != p.Written {
				t.Errorf("the second listener heard %+v", q)
			}
		})
	}
}

// gzipFile writes a gzip copy of a file.
func gzipFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(out)
	if _, err := io.Copy(z, in); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
