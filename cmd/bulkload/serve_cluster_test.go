package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// served is the built program on the test cluster, with job files in a directory.
type served struct {
	bin, jobs string
	env       []string
}

// newServed returns the built program, configured for the cluster of a configuration.
func newServed(t *testing.T, conf string) *served {
	t.Helper()
	p := &served{bin: jobtest.Program(t), jobs: t.TempDir()}
	p.env = append(os.Environ(), "HADOOP_CONF_DIR="+conf, "HBASE_CONF_DIR="+conf, "HADOOP_USER_NAME=etl", "BULKLOAD_STATE="+t.TempDir())
	return p
}

// TestServeIsGet compares responses over HTTP with the output of get and scan, for random queries and pages.
func TestServeIsGet(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the test cluster, which -short leaves out")
	}
	conf := clusterConf(t)
	p := newServed(t, conf)
	checks, orders := "serve"+testcheck.Name(t), "serve"+testcheck.Name(t)
	t.Cleanup(func() { dropTable(t, conf, checks); dropTable(t, conf, orders) })
	example, err := os.ReadFile("../../examples/check.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.load(t, "check", strings.Replace(string(example), "table: check", "table: test:"+checks, 1), "10", "../../testdata/exports/check.csv")
	rng := rand.New(rand.NewPCG(7, 7))
	p.load(t, "orders", "table: test:"+orders+"\nkey: salt(ts, 3) + ts + id\nquery: [ts]\ncolumns: [ts, id, note]\nempty: skip\n", "3", ordersCSV(t, rng, 400))

	address, stop := p.serve(t)
	ids := columnOf(t, "../../testdata/exports/check.csv", 1)
	for range 15 {
		id := ids[rng.IntN(len(ids))]
		if rng.IntN(5) == 0 {
			id = id[:rng.IntN(len(id)-1)+1] // a prefix is another key
		}
		p.compare(t, rng, address+"/v1/check/rows?check_id="+url.QueryEscape(id), "get", "--job", filepath.Join(p.jobs, "check.yaml"), id)
	}
	for range 15 {
		from, to := fmt.Sprintf("%03d", rng.IntN(500)), fmt.Sprintf("%03d", rng.IntN(500))
		if from > to {
			from, to = to, from
		}
		q, args := url.Values{}, []string{"scan", "--job", filepath.Join(p.jobs, "orders.yaml")}
		switch rng.IntN(4) {
		case 0:
			q.Set("prefix", from[:2])
			args = append(args, "--prefix", from[:2])
		case 1:
			q.Set("from", from+",0001")
			args = append(args, "--from", from+",0001")
		default:
			if from == to {
				continue
			}
			q.Set("from", from)
			q.Set("to", to)
			args = append(args, "--from", from, "--to", to)
		}
		p.compare(t, rng, address+"/v1/orders/scan?"+q.Encode(), args...)
	}
	if err := stop(); err != nil {
		t.Errorf("SIGTERM ends it with %v", err)
	}
}

// load creates a job file's table and loads a file.
func (p *served) load(t *testing.T, name, text, salts, input string) {
	t.Helper()
	file := filepath.Join(p.jobs, name+".yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`(?m)^table: (\S+)`).FindStringSubmatch(text)[1]
	p.run(t, "table", "create", table, "--salts", salts)
	p.run(t, "run", "--quiet", "--job", file, "--input", input)
}

// run returns the output of a command.
func (p *served) run(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.bin, args...)
	cmd.Env = p.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, stderr.Bytes())
	}
	return out
}

// serve starts the service; stop ends it by SIGTERM and returns its error.
func (p *served) serve(t *testing.T, args ...string) (address string, stop func() error) {
	t.Helper()
	cmd := exec.Command(p.bin, append([]string{"serve", "--jobs", p.jobs, "--listen", "127.0.0.1:0", "--log-format", "json", "--deadline", "30s"}, args...)...)
	cmd.Env = p.env
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	ready, drained := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(drained)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			var line struct{ Msg, Address string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
				ready <- line.Address
			}
		}
	}()
	address = "http://" + <-ready
	for { // until HBase was found: requests do not wait
		r, err := http.Get(address + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode == http.StatusOK && !bytes.Contains(body, []byte(`"ready":false`)) {
			break
		}
	}
	return address, func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		<-drained
		return cmd.Wait()
	}
}

// compare reads all pages of a query, of random sizes, and compares the rows with the output of a command.
func (p *served) compare(t *testing.T, rng *rand.Rand, address string, args ...string) {
	t.Helper()
	var got []map[string]any
	for page := ""; ; {
		more := fmt.Sprintf("&limit=%d%s", []int{1, 3, 10, 1000}[rng.IntN(4)], page)
		r, err := http.Get(address + more)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Rows []map[string]any
			Next *string `json:"next_page"`
		}
		err = json.NewDecoder(r.Body).Decode(&answer)
		r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d, %v", address+more, r.StatusCode, err)
		}
		for _, row := range answer.Rows {
			maps.DeleteFunc(row, func(_ string, v any) bool { return v == nil })
			got = append(got, row)
		}
		if answer.Next == nil {
			break
		}
		page = "&page=" + *answer.Next
	}
	var want []map[string]any
	lines := bufio.NewScanner(bytes.NewReader(p.run(t, args...)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row map[string]any
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		delete(row, "rowkey")
		want = append(want, row)
	}
	if !slices.EqualFunc(got, want, maps.Equal[map[string]any]) {
		t.Errorf("%s has %d rows, %q %d, or others", address, len(got), args, len(want))
	}
}

// ordersCSV returns a file of orders with times; some times are the same.
func ordersCSV(t *testing.T, rng *rand.Rand, n int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("ts,id,note\n")
	for i := range n {
		fmt.Fprintf(&b, "%03d,%04d,%s\n", rng.IntN(500), i, strings.Repeat("订单", rng.IntN(9)))
	}
	file := filepath.Join(t.TempDir(), "orders.csv")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// columnOf returns a column of a CSV file's first lines, which have no quotes before it.
func columnOf(t *testing.T, file string, column int) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, line := range strings.Split(string(b), "\n")[1:] {
		if fields := strings.Split(line, ","); len(fields) > 10 && len(fields[0]) == 32 && len(fields[column]) > 3 {
			values = append(values, fields[column])
		}
	}
	return values
}
