package metrics

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/cli/deliver"
	"bulkload/internal/cli/ending"
	"bulkload/internal/test/testcheck"
)

// realEnv enables tests with Prometheus' own programs; without it tests that do not find them are skipped.
const realEnv = "BULKLOAD_TEST_METRICS"

// program returns the path of one of Prometheus' programs.
func program(t *testing.T, names ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts Prometheus' own programs, which -short leaves out")
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv(realEnv) != "" {
		t.Fatalf("none of %v is installed", names)
	}
	t.Skipf("none of %v is installed", names)
	return ""
}

// start runs a program until the test ends, and waits until it answers at a path.
func start(t *testing.T, port, ready, path string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	c := exec.Command(path, args...)
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- c.Wait() }()
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(time.Minute):
			_ = c.Process.Kill()
			<-exited
		}
	})
	base := "http://" + host + ":" + port
	testcheck.Eventually(t, 2*time.Minute, filepath.Base(path)+" answers", func() (bool, any) {
		select {
		case err := <-exited:
			exited <- err
			t.Fatalf("%s ended: %v\n%s", path, err, out.String())
		default:
		}
		_, err := fetch(t.Context(), base+ready)
		return err == nil, err
	})
	return base
}

func fetch(ctx context.Context, address string) (string, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	r, err := client.Do(q)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %s: %s", address, r.Status, b)
	}
	return string(b), err
}

// host is a loopback address that only these tests use. At the usual one the kernel may give a free port to a connection of
// another process before the program listens there.
const host = "127.0.97.1"

// freePort returns a port without a listener.
func freePort(t *testing.T) string {
	t.Helper()
	_, port, _ := net.SplitHostPort(testcheck.ClosedAddress(t))
	return port
}

func TestPromtool(t *testing.T) {
	promtool := program(t, "promtool")
	for _, golden := range []string{"done", "failed", "already", "built"} {
		text, err := os.Open(filepath.Join("testdata", golden+".prom"))
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(promtool, "check", "metrics")
		c.Stdin = text
		if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", golden, err, out)
		}
		_ = text.Close()
	}
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}, {"check", "config", "prometheus.yml"}} {
		c := exec.Command(promtool, args...)
		c.Dir = "../../../examples/prometheus"
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// TestNodeExporter checks that node_exporter reads the file of a run.
func TestNodeExporter(t *testing.T) {
	exporter := program(t, "node_exporter", "prometheus-node-exporter")
	dir := t.TempDir()
	write(t, done(), labels(t), filepath.Join(dir, "check.prom"))
	port := freePort(t)
	base := start(t, port, "/metrics", exporter, "--web.listen-address="+host+":"+port, "--collector.disable-defaults", "--collector.textfile", "--collector.textfile.directory="+dir)
	text, err := fetch(t.Context(), base+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"node_textfile_scrape_error 0", `bulkload_last_run_rows_written{table="test:check",team="risk"} 990`,
		"# HELP bulkload_last_run_exit_code Exit code", `node_textfile_mtime_seconds{file="`} {
		if !strings.Contains(text, want) {
			t.Errorf("node_exporter says nothing of %s", want)
		}
	}
}

// TestPrometheus makes a real Prometheus scrape a real Pushgateway and the server of a current run, with the
// example's rules.
func TestPrometheus(t *testing.T) {
	prometheus, gateway := program(t, "prometheus"), program(t, "pushgateway", "prometheus-pushgateway")
	gatewayPort, port := freePort(t), freePort(t)
	base := start(t, gatewayPort, "/-/ready", gateway, "--web.listen-address="+host+":"+gatewayPort, "--persistence.file=")
	to, err := deliver.ParseTarget(base)
	if err != nil {
		t.Fatal(err)
	}
	success := done()
	success.Success, success.Ended = time.Now(), time.Now()
	failed := Run{Outcome: ending.Outcome{Code: 8, Began: time.Now(), Ended: time.Now()}, Loads: true}
	for _, r := range []Run{success, failed} {
		if err := Push(t.Context(), to, 1, r, labels(t)); err != nil {
			t.Fatal(err)
		}
	}
	live := serve(t, ServeOptions{Labels: labels(t), Live: Live{Progress: progressNow, Moved: time.Now}})

	dir := t.TempDir()
	rules, err := filepath.Abs("../../../examples/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\nscrape_configs:\n"+
		"- {job_name: pushgateway, honor_labels: true, static_configs: [{targets: ['%s:%s']}]}\n"+
		"- {job_name: bulkload-live, static_configs: [{targets: [%q]}]}\n", rules, host, gatewayPort, live.Addr())
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	base = start(t, port, "/-/ready", prometheus, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+host+":"+port)
	for query, want := range map[string]string{
		`bulkload_last_run_exit_code{job="bulkload",table="test:check",team="risk"}`:                 `"8"`,
		`bulkload_last_success_timestamp_seconds{job="bulkload",table="test:check"} > time() - 3600`: `"team":"risk"`, // kept after the failure
		`bulkload_phase_active{job="bulkload-live",phase="write",table="test:check"}`:                `"1"`,
		`bulkload_read_rows_total{table="test:check"}`:                                               `"900"`,
		`go_goroutines{job="bulkload-live"}`:                                                         `"value"`,
		`ALERTS{alertname="BulkloadVerifyMismatch",alertstate="firing",table="test:check"}`:          `"1"`,
	} {
		testcheck.Eventually(t, 2*time.Minute, want+" in what "+query+" is", func() (bool, any) {
			got, err := fetch(t.Context(), base+"/api/v1/query?query="+url.QueryEscape(query))
			return err == nil && strings.Contains(got, want), cmp.Or[any](err, got)
		})
	}
}
