package onyarn

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
)

// envCost is the number of rounds of ImportTsv and the program on the same YARN: half an hour for three rounds of a
// million rows.
const envCost = "BULKLOAD_YARN_COST"

// envCostRows is the number of rows; the default is a million.
const envCostRows = "BULKLOAD_YARN_COST_ROWS"

// cost is the resource usage of a job.
type cost struct {
	wall     time.Duration // of the commands, including the load
	cpu      time.Duration // of all processes of containers, as counted by the kernel
	peak     int64         // peak bytes of memory of all processes of containers together
	shuffled int64         // bytes that reduces have fetched
}

func (c cost) String() string {
	return fmt.Sprintf("%.0f s, %.0f s of processors, %d MiB at most, %d MB shuffled", c.wall.Seconds(), c.cpu.Seconds(), c.peak>>20, c.shuffled/1e6)
}

// TestCost loads the same rows with ImportTsv and the program in turn. Both must produce the same table; the figures
// are logged.
func TestCost(t *testing.T) {
	rounds, _ := strconv.Atoi(os.Getenv(envCost))
	if rounds < 1 {
		t.Skipf("%s=3 has it run", envCost)
	}
	s := on(t, testcluster.Options{YARN: true})
	count, err := strconv.ParseInt(cmp.Or(os.Getenv(envCostRows), "1000000"), 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", envCostRows, err)
	}
	rows := data.Spec{Table: data.Check, Rows: count, Seed: 7, Regions: 10, Flat: true}
	inputs := map[data.Form]string{}
	for _, form := range []data.Form{data.Dump, data.TSV} {
		name, err := data.WriteFile(t.Context(), t.TempDir(), rows, form)
		if err != nil {
			t.Fatal(err)
		}
		inputs[form] = s.put(name)
	}
	ours := func(more ...string) func(s *site, into string) string {
		return func(s *site, into string) string {
			args := append(s.loading("check", into, inputs[data.Dump], "--format", "dump", "--empty", "store", "--verify", "off"), more...)
			return s.must(args...).application()
		}
	}
	tools := []struct {
		name string
		run  func(s *site, into string) string // returns the application
	}{
		{"bulkload, its own tasks", ours()},
		{"bulkload, 4 maps and 10 reduces", ours("--maps", "4", "--reduces", "10")},
		{"ImportTsv, 4 maps and 10 reduces", func(s *site, into string) string { return s.importTsv(into, inputs[data.TSV]) }},
	}
	digest := ""
	for round := range rounds {
		for i := range tools {
			tool := tools[(i+round)%len(tools)]
			t.Run(tool.name, func(t *testing.T) {
				s := s.in(t)
				into := jobtest.FreshTable(t, s.env, rows.Regions, nil)
				c := s.measured(func() string { return tool.run(s, into) })
				t.Log(c)
				got := s.digest(into)
				if digest == "" {
					digest = got
				}
				if got != digest {
					t.Errorf("the table has %s, another tool has left %s", got, digest)
				}
			})
		}
	}
}

// importTsv builds HFiles with HBase's own job, and loads them.
func (s *site) importTsv(into, input string) string {
	s.Helper()
	out := "/user/" + s.user + "/importtsv-" + strings.ReplaceAll(into, ":", "-")
	columns := "HBASE_ROW_KEY"
	for _, name := range data.Check.Columns() {
		columns += ",f:" + name
	}
	said := s.hadoop("org.apache.hadoop.hbase.mapreduce.ImportTsv", "-Dimporttsv.columns="+columns, "-Dimporttsv.bulk.output="+out,
		"-Dmapreduce.input.fileinputformat.split.minsize=1", "-Dmapreduce.input.fileinputformat.split.maxsize="+fmt.Sprint(70*mega),
		"-Dmapreduce.map.memory.mb=1024", "-Dmapreduce.reduce.memory.mb=1024", "-Dmapreduce.map.java.opts=-Xmx768m", "-Dmapreduce.reduce.java.opts=-Xmx768m",
		"-Dmapreduce.task.io.sort.mb=256", "-Dmapreduce.map.output.compress=true",
		"-Dmapreduce.map.output.compress.codec=org.apache.hadoop.io.compress.SnappyCodec",
		"-Dmapreduce.map.speculative=false", "-Dmapreduce.reduce.speculative=false", into, input)
	s.hadoop("org.apache.hadoop.hbase.tool.BulkLoadHFilesTool", out, into)
	return ended{said: said}.application()
}

// hadoop runs a class of HBase through Hadoop's client.
func (s *site) hadoop(class string, args ...string) string {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), filepath.Join(s.cluster.HadoopHome(), "bin", "hadoop"), append([]string{class}, args...)...)
	cmd.Env = append(s.environ, "HADOOP_CLASSPATH="+filepath.Join(s.cluster.LibDir(), "*"), "HADOOP_USER_NAME="+s.user, "HADOOP_CLIENT_OPTS=-Xmx512m")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		text := said.String()
		s.Fatalf("%s: %v\n%s", class, err, text[max(len(text)-4000, 0):])
	}
	return said.String()
}

// measured runs commands that return their applications, and waits until the containers are gone.
func (s *site) measured(run func() string) (c cost) {
	s.Helper()
	before := s.reaped()
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			all, err := s.cluster.Containers()
			if err != nil {
				s.Error(err)
				return
			}
			var now int64
			for _, p := range all {
				now += resident(p.Pid())
			}
			c.peak = max(c.peak, now)
			select {
			case <-done:
				if len(all) == 0 {
					return
				}
			default:
			}
			select {
			case <-s.Context().Done():
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	began := time.Now()
	id := run()
	c.wall = time.Since(began)
	close(done)
	<-over
	c.cpu = s.reaped() - before
	s.eventually("the counters of "+id, func() error {
		all, err := s.asks().Counters(s.Context(), id)
		for _, k := range all {
			if k.Name == "REDUCE_SHUFFLE_BYTES" {
				c.shuffled = k.Total
			}
		}
		return err
	})
	return c
}

// tick is the unit of times in /proc, which is the same on all processors in Linux.
const tick = 10 * time.Millisecond

// reaped returns the processor time of all processes that NodeManagers have waited for: those of containers,
// including the processes that these have waited for.
func (s *site) reaped() (sum time.Duration) {
	s.Helper()
	for _, role := range s.cluster.Roles() {
		if !strings.HasPrefix(string(role), string(testcluster.NodeManager)) {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cluster.Daemon(role).Pid()))
		if err != nil {
			s.Fatal(err)
		}
		// Fields 16 and 17 of proc(5); the second is a name in parentheses.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		for _, field := range fields[13:15] {
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				s.Fatal(err)
			}
			sum += time.Duration(n) * tick
		}
	}
	return sum
}

// resident returns the memory of a process, 0 if it has ended.
func resident(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[1], 10, 64)
	return n * int64(os.Getpagesize())
}
