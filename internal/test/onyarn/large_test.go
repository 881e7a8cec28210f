package onyarn

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/testcluster"
)

// envLarge enables long jobs: many rows, many tasks; an hour on two cores. The figures are logged.
const envLarge = "BULKLOAD_YARN_LARGE"

// TestLarge compares jobs of many rows and of many tasks with the files of one process, and logs the peak memory of
// their processes.
func TestLarge(t *testing.T) {
	if os.Getenv(envLarge) == "" {
		t.Skipf("%s=1 has it run", envLarge)
	}
	s := on(t, testcluster.Options{YARN: true})
	for _, c := range []struct {
		table   data.Table
		rows    int64
		regions int
	}{
		{data.Check, 1_000_000, 10}, {data.Check, 1_000_000, 50}, {data.Opinion, 1_000_000, 10}, {data.Opinion, 1_000_000, 50},
		{data.Check, 5_000_000, 10}, {data.Check, 5_000_000, 50}, {data.Check, 10_000_000, 10},
	} {
		t.Run(fmt.Sprintf("%d rows of %s, %d regions", c.rows, c.table, c.regions), func(t *testing.T) {
			s := s.in(t)
			dump, err := data.WriteFile(t.Context(), t.TempDir(), data.Spec{Table: c.table, Rows: c.rows, Seed: 7}, data.Dump)
			if err != nil {
				t.Fatal(err)
			}
			want := s.local(s.job(string(c.table)), dump, splitsOf(c.regions))
			input, into := s.put(dump), s.table(c.regions)
			if err := os.Remove(dump); err != nil {
				t.Fatal(err)
			}
			s.weighed(s.loading(string(c.table), into, input, "--format", "dump", "--maps", "4", "--reduces", "10", "--verify", "sample")...)
			s.holds(into, want)
		})
	}
	t.Run("200 maps, 100 reduces", func(t *testing.T) { s.in(t).manyTasks(200, 100) })
}

// manyTasks runs a job of small inputs, one for each map.
func (s *site) manyTasks(maps, reduces int) {
	dir := filepath.Join(s.TempDir(), "many")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.Fatal(err)
	}
	into := ""
	for i := range maps {
		name, err := data.WriteFile(s.Context(), s.TempDir(), data.Spec{Table: data.Check, Rows: 100, Seed: uint64(i)}, data.Dump)
		if err != nil {
			s.Fatal(err)
		}
		own := filepath.Join(dir, fmt.Sprintf("part-%05d.dump", i))
		if err := os.Rename(name, own); err != nil {
			s.Fatal(err)
		}
		into = filepath.Dir(s.put(own))
	}
	want := s.local(s.job("check"), dir, splitsOf(reduces))
	table := s.table(reduces)
	s.weighed(s.loading("check", table, "hdfs:"+strings.TrimPrefix(into, "hdfs:")+"/part-*.dump", "--format", "dump", "--maps", fmt.Sprint(maps), "--reduces", fmt.Sprint(reduces))...)
	s.holds(table, want)
}

// weighed runs a command that must succeed, and logs the peak resident memory of each kind of its processes.
func (s *site) weighed(args ...string) {
	s.Helper()
	most := map[string]int64{}
	tasks := map[string]map[string]bool{"map": {}, "reduce": {}}
	client := map[int]int64{} // by minute of the command: its memory
	m := s.moment()
	over := make(chan struct{})
	r := s.start(args...)
	go func() {
		defer close(over)
		for {
			all, err := s.cluster.Containers()
			if err != nil {
				s.Error(err)
				return
			}
			for _, w := range workers(all) {
				if m.old[job(w.Container)] {
					continue
				}
				kind := w.Command[2]
				most[kind] = max(most[kind], highest(w.Pid()))
				tasks[kind][w.task()] = true
			}
			if now := resident(r.cmd.Process.Pid); now > 0 {
				minute := int(time.Since(r.began).Minutes())
				client[minute] = max(client[minute], now)
			}
			select {
			case <-m.done:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	e := r.wait()
	close(m.done)
	<-over
	if e.code != 0 {
		s.Fatalf("%v ends with %d: %s", args, e.code, e.said)
	}
	for kind, ids := range tasks {
		s.Logf("%d %s tasks seen, at most %d MiB resident in one", len(ids), kind, most[kind]>>20)
	}
	for minute := range len(client) {
		s.Logf("minute %d: the client has %d MiB resident", minute, client[minute]>>20)
	}
}

// highest returns the peak resident memory of a process, 0 if it has ended.
func highest(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}
