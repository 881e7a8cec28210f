package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/testcluster"
	"bulkload/pkg/spec"
)

// Of the table that is measured: 300,000 rows of check, 15 of each key, 10 salts.
const (
	benchKeys = 20_000
	benchEach = 15
	askedKeys = 1_000
)

// TestServeBench measures the built program on the test cluster: one caller, 200 callers × 10 requests × 3, and an open
// loop at fixed rates, whose times count from when a request was due. It is behind BULKLOAD_BENCH_SERVE, which
// make bench-serve sets, and asserts no times.
func TestServeBench(t *testing.T) {
	if os.Getenv("BULKLOAD_BENCH_SERVE") == "" {
		t.Skip("make bench-serve runs it")
	}
	conf := os.Getenv(testcluster.EnvConf)
	if conf == "" {
		c, err := testcluster.Start(t.Context(), testcluster.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Stop(); err != nil {
				t.Error(err)
			}
		})
		conf = c.ConfDir()
	}
	p := &served{bin: filepath.Join(t.TempDir(), "bulkload"), jobs: t.TempDir()}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", p.bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.env = append(os.Environ(), "HADOOP_CONF_DIR="+conf, "HBASE_CONF_DIR="+conf, "HADOOP_USER_NAME=etl", "BULKLOAD_STATE="+t.TempDir())
	table := fmt.Sprintf("bench%x", rand.Uint64())
	t.Cleanup(func() { dropTable(t, conf, table) })
	job, err := os.ReadFile("../../examples/check.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.load(t, "check", strings.Replace(string(job), "table: check", "table: test:"+table, 1), "10", benchCSV(t, string(job)))
	pidFile := filepath.Join(t.TempDir(), "audit")
	address, stop := p.serve(t, "--deadline", "10s", "--audit", pidFile, "--max-per-client", "256")
	b := &serveBench{T: t, url: address + "/v1/check/rows?check_id=", pid: processOf(t, pidFile)}
	b.closed("warm", 20, 100)
	b.Logf("| | requests | a second | mean ms | p50 | p99 | most | not 200 | CPU ms a request | peak RSS MB |\n|---|---|---|---|---|---|---|---|---|---|")
	b.closed("1 caller", 1, 1000)
	for range 3 {
		b.closed("200 callers × 10", 200, 10)
	}
	b.closed("200 callers × 50", 200, 50)
	for _, rate := range []int{200, 500, 1000} {
		b.open(rate, 5*time.Second)
	}
	if err := stop(); err != nil {
		t.Errorf("SIGTERM ends it with %v", err)
	}
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

// processOf is the process that has a file open.
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
	url, pid string
}

// cpu is what the service's process has used, in milliseconds; the kernel counts in hundredths of a second.
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

// asked is a request's outcome.
type asked struct {
	took time.Duration
	ok   bool
}

func (b *serveBench) ask(c *http.Client, due time.Time) asked {
	r, err := c.Get(b.url + fmt.Sprintf("A%09d", rand.IntN(askedKeys)*(benchKeys/askedKeys)))
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

// closed has callers that ask again when they are answered.
func (b *serveBench) closed(what string, callers, each int) {
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
	b.report(what, slices.Concat(all...), time.Since(began), b.cpu()-cpu)
}

// open sends requests when they are due, whether or not those before are answered.
func (b *serveBench) open(rate int, lasts time.Duration) {
	c := benchClient(256)
	defer c.CloseIdleConnections()
	n := int(lasts.Seconds() * float64(rate))
	all := make([]asked, n)
	began, cpu := time.Now(), b.cpu()
	var wg sync.WaitGroup
	for i := range n {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
		if wait := time.Until(due); wait > 0 {
			<-time.After(wait)
		}
		wg.Go(func() { all[i] = b.ask(c, due) })
	}
	wg.Wait()
	b.report(fmt.Sprintf("open, %d a second", rate), all, time.Since(began), b.cpu()-cpu)
}

func (b *serveBench) report(what string, all []asked, took time.Duration, cpu float64) {
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
	b.Logf("| %s | %d | %.0f | %.2f | %.2f | %.2f | %.1f | %d | %.2f | %.0f |", what, n, float64(n)/took.Seconds(), ms(sum)/float64(n), ms(all[n/2].took), ms(all[n*99/100].took),
		ms(all[n-1].took), bad, cpu/float64(n), b.peak())
}
