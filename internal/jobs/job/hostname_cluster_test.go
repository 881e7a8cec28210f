package job

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestUnknownHost runs commands on a cluster whose region server has a host name that the servers can resolve and this machine cannot. It checks that
// they end within their time limits, with errors that name the host and the remedy.
func TestUnknownHost(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	const name = "rs1.bulkload.invalid"
	own, err := os.Hostname()
	testcheck.Must(t, err)
	hosts := filepath.Join(t.TempDir(), "hosts")
	testcheck.Must(t, os.WriteFile(hosts, []byte("127.0.0.1 localhost "+name+" "+own+"\n"), 0o600))
	c, err := testcluster.Start(t.Context(), testcluster.Options{HostsFile: hosts, HBaseSite: map[string]string{"hbase.regionserver.hostname": name}})
	testcheck.Must(t, err)
	t.Cleanup(func() { testcheck.Must(t, c.Stop()) })
	p := &program{t: t, path: jobtest.Program(t), cluster: c, table: "t", state: t.TempDir(), input: jobtest.Export(t, "check.dump")}
	command := func(code int, args ...string) string {
		t.Helper()
		began := time.Now()
		got, out, stderr := p.end(func(ctx context.Context) *exec.Cmd { return p.any(ctx, "", args...) })
		t.Logf("%s: %s", args[0], time.Since(began).Round(time.Second))
		if got != code {
			t.Errorf("%v: exit code %d, want %d\n%s%s", args, got, code, out, stderr)
		}
		return out + stderr
	}
	command(0, "table", "create", "t", "--salts=10") // only needs the master
	const wrong = "this machine cannot resolve the host name " + name
	if out := command(3, "check", "--table=t"); !strings.Contains(out, "host names") || !strings.Contains(out, wrong) {
		t.Error(out)
	}
	run := command(7, "run", "--job="+jobtest.Absolute(t, "../../../examples/check.yaml"), "--table=t", "--input="+p.input, "--state="+p.state)
	get := command(7, "get", "--job="+jobtest.Absolute(t, "../../../examples/check.yaml"), "--table=t", "A208848994")
	for _, out := range []string{run, get} {
		if last := out[strings.LastIndex(out, "bulkload: "):]; !strings.Contains(last, wrong+": add it to DNS or /etc/hosts") {
			t.Error(out)
		}
	}
}
