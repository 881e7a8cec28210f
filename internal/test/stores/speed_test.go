package stores

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// speedRows is the number of rows of check for 1 GB of CSV.
const speedRows = 4_700_000

// speed is the time of one build.
type speed struct {
	wall, program, server time.Duration // the last two are processor times
}

// alone returns the time without the server's processor time, which uses the program's cores: on another machine it
// would not.
func (s speed) alone() time.Duration { return s.wall - s.server/time.Duration(runtime.NumCPU()) }

// median returns the median of one figure of some builds.
func median(list []speed, of func(speed) time.Duration) float64 {
	var all []time.Duration
	for _, s := range list {
		all = append(all, of(s))
	}
	slices.Sort(all)
	return all[len(all)/2].Seconds()
}

// own returns the processor time of this process, which contains the server.
func own(t *testing.T) time.Duration {
	var u syscall.Rusage
	testcheck.Must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestSpeed compares builds of 1 GB from local disk and from a server in this process: one without faults, one that returns 503 or resets connections
// for 5 % of requests, and one that does so for 20 %. They take turns (BULKLOAD_BENCH_STORES is the number of rounds); the medians are logged.
func TestSpeed(t *testing.T) {
	var rounds int
	if fmt.Sscan(os.Getenv("BULKLOAD_BENCH_STORES"), &rounds); rounds == 0 {
		t.Skip("make bench-stores measures")
	}
	dir := t.TempDir()
	input, err := data.WriteFile(t.Context(), dir, data.Spec{Table: data.Check, Rows: speedRows, Seed: 7}, data.CSV)
	testcheck.Must(t, err)
	info, err := os.Stat(input)
	testcheck.Must(t, err)
	job := filepath.Join(dir, "job.yaml")
	testcheck.Must(t, os.WriteFile(job, []byte("key: salt(check_id) + md5hex(check_id) + id\nsalt_buckets: 16\n"), 0o600))
	s := &S3{Bucket: "b"}
	testcheck.Must(t, s.Serve(dir))
	serve := func(h Harm) []string {
		server := httptest.NewServer(NewProxy(s, rand.New(rand.NewPCG(1, 1)), h))
		t.Cleanup(server.Close)
		return []string{"--input", "s3://b/" + filepath.Base(input), "--endpoint", "s3=" + server.URL}
	}
	ways := []struct {
		name string
		args []string
	}{
		{"local disk", []string{"--input", input}},
		{"a server", serve(Harm{})},
		{"a server that fails 5 % of requests", serve(Harm{Busy: 0.025, Reset: 0.025})},
		{"a server that fails 20 % of requests", serve(Harm{Busy: 0.1, Reset: 0.1})},
	}
	took := make([][]speed, len(ways))
	var want map[string]string
	for range rounds {
		for i, way := range ways {
			out := filepath.Join(t.TempDir(), "out")
			before, began := own(t), time.Now()
			text, cpu, err := program(t, append([]string{"build", "--job", job, "--table", "t", "--splits", "salt:16", "--timestamp", "1700000000000", "--progress", "off", "--out", out}, way.args...)...)
			if err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			took[i] = append(took[i], speed{time.Since(began), cpu, own(t) - before})
			hashes := jobtest.Hashes(t, out)
			if want == nil {
				want = hashes
			}
			if fmt.Sprint(hashes) != fmt.Sprint(want) || len(hashes) < 16 {
				t.Errorf("%s: other HFiles", way.name)
			}
			testcheck.Must(t, os.RemoveAll(out))
		}
	}
	gb := float64(info.Size()) / 1e9
	local := took[0]
	for i, way := range ways {
		wall, cpu, alone := func(s speed) time.Duration { return s.wall }, func(s speed) time.Duration { return s.program }, speed.alone
		t.Logf("%s: %.2f GB in %.1f s, %.1f s without the server's processor time, %.1f s of the program's processor time (%.1f s of this process); speed by these three: %.2f, %.2f, %.2f of local disk's",
			way.name, gb, median(took[i], wall), median(took[i], alone), median(took[i], cpu), median(took[i], func(s speed) time.Duration { return s.server }),
			median(local, wall)/median(took[i], wall), median(local, wall)/median(took[i], alone), median(local, cpu)/median(took[i], cpu))
	}
}
