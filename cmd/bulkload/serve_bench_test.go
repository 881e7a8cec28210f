package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// The measured table: 300,000 rows of check, 15 of each key, 10 salts.
const (
	benchKeys = 20_000
	benchEach = 15
	askedKeys = 1_000
)

// TestServeBench compares the built program with two services in Java on the test cluster (internal/test/bench/java/PlainService.java):
// one that keeps a connection to HBase, and one that opens one for each request. They take turns; a figure is the median of its rounds. It
// needs BULKLOAD_BENCH_SERVE, which make bench-serve sets, short for a first look, and asserts no times.
func TestServeBench(t *testing.T) {
	if os.Getenv("BULKLOAD_BENCH_SERVE") == "" {
		t.Skip("make bench-serve runs it")
	}
	conf := testcluster.Own(t, testcluster.Options{Measured: true}).ConfDir()
	p := newServed(t, conf)
	table := "bench" + testcheck.Name(t)
	t.Cleanup(func() { dropTable(t, conf, table) })
	job, err := os.ReadFile("../../examples/check.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.load(t, "check", strings.Replace(string(job), "table: check", "table: test:"+table, 1), "10", benchCSV(t, string(job)))
	parsed, err := spec.ParseSpec("check.yaml", job)
	if err != nil {
		t.Fatal(err)
	}
	plain := func(name, connections string) *serveBench {
		port, pid := startPlain(t, conf, "test:"+table, "10", strings.Join(parsed.Columns, ","), connections)
		return &serveBench{T: t, name: name, url: "http://127.0.0.1:" + port + "/v1/check/rows?check_id=", pid: pid}
	}
	audit := filepath.Join(t.TempDir(), "audit")
	address, stop := p.serve(t, "--deadline", "10s", "--audit", audit, "--max-per-client", "256")
	ours := &serveBench{T: t, name: "bulkload serve", url: address + "/v1/check/rows?check_id=", pid: processOf(t, audit)}
	java := plain("Java, one connection", "shared")
	rounds, each := 5, 30
	if os.Getenv("BULKLOAD_BENCH_SERVE") == "short" {
		rounds, each = 3, 5
	}
	for _, b := range []*serveBench{ours, java} { // until the JVM has compiled the hot code
		b.closed(20, 10*each)
		b.closed(200, each)
	}
	beside := compareServices(t, rounds, ours, java)
	beside(fmt.Sprintf("200 callers × %d", each), func(b *serveBench) servedRound { return b.closed(200, each) })
	beside("1 caller", func(b *serveBench) servedRound { return b.closed(1, 30*each) })
	old := plain("Java, a connection for each request", "each")
	old.closed(8, 10)
	compareServices(t, min(rounds, 3), ours, old)("200 callers × 2", func(b *serveBench) servedRound { return b.closed(200, 2) })
	for _, rate := range []int{200, 500, 1000} {
		beside(fmt.Sprintf("open loop, %d a second", rate), func(b *serveBench) servedRound { return b.open(rate, time.Duration(each)*time.Second/6) })
	}
	if err := stop(); err != nil {
		t.Errorf("SIGTERM ends it with %v", err)
	}
}

// startPlain compiles the service in Java and starts it; it ends with the test.
func startPlain(t *testing.T, conf string, args ...string) (port, pid string) {
	t.Helper()
	lib, err := testcluster.Jars(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{t.TempDir(), conf, filepath.Join(lib, "*")}, string(filepath.ListSeparator))
	classes, _, _ := strings.Cut(path, string(filepath.ListSeparator))
	if out, err := exec.CommandContext(t.Context(), "javac", "-nowarn", "-encoding", "UTF-8", "-cp", path, "-d", classes, "../../internal/test/bench/java/PlainService.java").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	argv := []string{"-Xmx512m", "-Dsun.net.httpserver.nodelay=true", "-Dsun.net.httpserver.maxIdleConnections=1024", "-Djava.net.preferIPv4Stack=true",
		"-Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true", "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED"}
	for _, name := range []string{"java.nio", "java.lang", "sun.nio.ch"} {
		argv = append(argv, "--add-opens=java.base/"+name+"=ALL-UNNAMED")
	}
	cmd := exec.Command("java", append(append(argv, "-cp", path, "PlainService"), args...)...)
	cmd.Env = append(os.Environ(), "HADOOP_USER_NAME=etl")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, err := strconv.Atoi(lines.Text()); err == nil {
			return lines.Text(), strconv.Itoa(cmd.Process.Pid)
		}
	}
	t.Fatal("the service in Java does not start")
	return "", ""
}

// compareServices runs a load on services in turn, and logs the medians and the ratios of the first service to the
// second.
func compareServices(t *testing.T, rounds int, of ...*serveBench) func(what string, load func(*serveBench) servedRound) {
	t.Helper()
	t.Logf("| load | service | a second | mean ms | p50 | p99 | most | not 200 | CPU ms a request | RSS MB |\n|---|---|---|---|---|---|---|---|---|---|")
	return func(what string, load func(*serveBench) servedRound) {
		all := make([][]servedRound, len(of))
		for round := range rounds {
			for i := range of {
				i := (i + round) % len(of) // each one is first in turn
				all[i] = append(all[i], load(of[i]))
			}
		}
		var medians []servedRound
		for i, b := range of {
			m := medianOf(all[i])
			medians = append(medians, m)
			var rates []string
			for _, r := range all[i] {
				rates = append(rates, fmt.Sprintf("%.0f", r.rate))
			}
			t.Logf("| %s | %s | %.0f (%s) | %.2f | %.2f | %.2f | %.1f | %.0f | %.2f | %.0f |", what, b.name, m.rate, strings.Join(rates, " "), m.mean, m.p50, m.p99, m.most, m.bad, m.cpu, b.peak())
		}
		a, b := medians[0], medians[1]
		t.Logf("| %s | the first ÷ the second | %.2f | %.2f | %.2f | %.2f | %.2f | | %.2f | |", what, a.rate/b.rate, a.mean/b.mean, a.p50/b.p50, a.p99/b.p99, a.most/b.most, a.cpu/b.cpu)
	}
}

// servedRound has the results of one round of a load: requests a second, milliseconds, and requests without a
// response of all rows.
type servedRound struct{ rate, mean, p50, p99, most, bad, cpu float64 }

// medianOf returns the median of each figure separately.
func medianOf(rounds []servedRound) servedRound {
	of := func(figure func(servedRound) float64) float64 {
		var all []float64
		for _, r := range rounds {
			all = append(all, figure(r))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	return servedRound{of(func(r servedRound) float64 { return r.rate }), of(func(r servedRound) float64 { return r.mean }), of(func(r servedRound) float64 { return r.p50 }), of(func(r servedRound) float64 { return r.p99 }),
		of(func(r servedRound) float64 { return r.most }), slices.MaxFunc(rounds, func(a, b servedRound) int { return int(a.bad - b.bad) }).bad, of(func(r servedRound) float64 { return r.cpu })}
}

// benchCSV writes rows with the columns of a job file.
func benchCSV(t *testing.T, job string) string {
	t.Helper()
	parsed, err := spec.ParseSpec("check.yaml", []byte(job))
	if err != nil {
		t.Fatal(err)
	}
	columns := parsed.Columns
	var b bytes.Buffer
	b.WriteString(strings.Join(columns, ",") + "\n")
	for k := range benchKeys {
		for i := range benchEach {
			for c, name := range columns {
				if c > 0 {
					b.WriteByte(',')
				}
				switch name {
				case "id":
					fmt.Fprintf(&b, "%032X", k*benchEach+i)
				case "check_id":
					fmt.Fprintf(&b, "A%09d", k)
				default:
					fmt.Fprintf(&b, "%s of %d", name, k%977)
				}
			}
			b.WriteByte('\n')
		}
	}
	file := filepath.Join(t.TempDir(), "check.csv")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// processOf returns the process that has a file open.
func processOf(t *testing.T, file string) string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && to == file {
			return strings.Split(l, "/")[2]
		}
	}
	t.Fatal("no process has the audit log open")
	return ""
}

// serveBench measures one service.
type serveBench struct {
	*testing.T
	name, url, pid string
	turn           atomic.Uint64 // requests so far
}

// cpu returns the processor time of the service's process, in milliseconds; the kernel counts in hundredths of a
// second.
func (b *serveBench) cpu() float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/" + b.pid + "/stat")
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+2:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return float64(user+system) * 10
}

func (b *serveBench) peak() float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/" + b.pid + "/status")
	if err != nil {
		b.Fatal(err)
	}
	kb, err := strconv.Atoi(string(regexp.MustCompile(`VmHWM:\s+(\d+)`).FindSubmatch(text)[1]))
	if err != nil {
		b.Fatal(err)
	}
	return float64(kb) / 1024
}

// asked is the result of a request.
type asked struct {
	took time.Duration
	ok   bool
}

func (b *serveBench) ask(c *http.Client, due time.Time) asked {
	// Keys in the order of the multiples of a prime, which includes each once.
	r, err := c.Get(b.url + fmt.Sprintf("A%09d", b.turn.Add(1)*7919%askedKeys*(benchKeys/askedKeys)))
	if err != nil {
		return asked{took: time.Since(due)}
	}
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	ok := err == nil && r.StatusCode == 200 && bytes.Count(body, []byte(`"check_id"`)) == benchEach
	return asked{time.Since(due), ok}
}

func benchClient(connections int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections, MaxIdleConns: connections}}
}

// closed runs callers that send the next request when they have received a response.
func (b *serveBench) closed(callers, each int) servedRound {
	c := benchClient(callers)
	defer c.CloseIdleConnections()
	all := make([][]asked, callers)
	began, cpu := time.Now(), b.cpu()
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for range each {
				all[i] = append(all[i], b.ask(c, time.Now()))
			}
		})
	}
	wg.Wait()
	return figures(slices.Concat(all...), time.Since(began), b.cpu()-cpu)
}

// open sends requests at fixed times, whether or not earlier ones have been answered.
func (b *serveBench) open(rate int, lasts time.Duration) servedRound {
	c := benchClient(256)
	defer c.CloseIdleConnections()
	n := int(lasts.Seconds() * float64(rate))
	all := make([]asked, n)
	began, cpu := time.Now(), b.cpu()
	var wg sync.WaitGroup
	for i := range n {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
		if wait := time.Until(due); wait > 0 {
			pace := time.NewTimer(wait)
			<-pace.C
		}
		wg.Go(func() { all[i] = b.ask(c, due) })
	}
	wg.Wait()
	return figures(all, time.Since(began), b.cpu()-cpu)
}

func figures(all []asked, took time.Duration, cpu float64) servedRound {
	slices.SortFunc(all, func(x, y asked) int { return int(x.took - y.took) })
	var sum time.Duration
	bad := 0
	for _, a := range all {
		sum += a.took
		if !a.ok {
			bad++
		}
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	n := len(all)
	return servedRound{rate: float64(n) / took.Seconds(), mean: ms(sum) / float64(n), p50: ms(all[n/2].took), p99: ms(all[n*99/100].took), most: ms(all[n-1].took), bad: float64(bad), cpu: cpu / float64(n)}
}
