package tlsconf_test

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
)

func TestMain(m *testing.M) { testcluster.Main(m) }

// kinds returns clusters with TLS: each store format once, with and without client certificates and Kerberos.
func kinds() []testcluster.Security {
	both := testcluster.AtLevel(testcluster.Privacy)
	both.TLS, both.TLSClients = testcluster.PKCS12, true
	return []testcluster.Security{{TLS: testcluster.PEM, TLSClients: true}, {TLS: testcluster.JKS}, both}
}

// TestTLSJob runs the main job with the program itself. HBase's own Java client checks the rows.
func TestTLSJob(t *testing.T) {
	testcluster.SecuredAll(t)
	program := build(t)
	for _, kind := range kinds() {
		name := string(kind.TLS)
		if kind.Kerberos {
			name += " and Kerberos"
		}
		t.Run(name, func(t *testing.T) {
			c := testcluster.Secured(t, kind)
			s := site{t, program, append(c.Environment(), "BULKLOAD_STATE="+t.TempDir())}
			testJob(s, c)
			testMistakes(s, c)
		})
	}
}

// site is a program and its environment.
type site struct {
	*testing.T
	program string
	env     []string
}

func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "bulkload")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "bulkload/cmd/bulkload").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// run returns the standard output, or standard error if the program fails.
func (s site) run(env []string, args ...string) (string, error) {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), s.program, args...)
	cmd.Env = slices.Concat(os.Environ(), s.env, env)
	cmd.Dir = "../../.."
	out, err := cmd.Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(e.Stderr), err
	}
	return string(out), err
}

func (s site) must(env []string, args ...string) string {
	s.Helper()
	out, err := s.run(env, args...)
	if err != nil {
		s.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

func testJob(s site, c *testcluster.Cluster) {
	ctx := s.Context()
	var admin []string
	if c.Security().Kerberos {
		admin = []string{"BULKLOAD_PRINCIPAL=" + testcluster.Principal(testcluster.HBaseAdmin), "BULKLOAD_KEYTAB=" + c.Keytab(testcluster.HBaseAdmin)}
	}
	s.must(admin, "table", "create", "check", "--salts", "10", "--if-missing")
	if c.Security().Kerberos {
		if err := c.Grant(ctx, "check"); err != nil {
			s.Fatal(err)
		}
	}
	job := []string{"--job", "examples/check.yaml"}
	s.must(nil, append([]string{"run", "--input", "testdata/exports/check.csv", "--verify", "full"}, job...)...)
	if rows := strings.Count(s.must(nil, append([]string{"scan"}, job...)...), "\n"); rows != 3000 {
		s.Errorf("a scan gives %d rows", rows)
	}
	if got := s.must(nil, append([]string{"get", "2527AEHL6KKHZWSQR8RNVKDB96XH"}, job...)...); !strings.Contains(got, "379448AFE98AA4BE302FBD3C8C64BDA2") {
		s.Errorf("get: %q", got)
	}
	got, err := c.AdminT(s).Digest(ctx, "check")
	if want := jobtest.DigestLine(s, "check", "skip"); err != nil || got != want {
		s.Errorf("the digest of HBase's client: %q, want %q, %v", got, want, err)
	}
}

// testMistakes checks that configurations that do not match the cluster give specific errors.
func testMistakes(s site, c *testcluster.Cluster) {
	const prefix = "hbase.rpc.tls."
	stranger, err := filepath.Abs(filepath.Join("testdata", "client.pem"))
	if err != nil {
		s.Fatal(err)
	}
	pem := map[string]string{
		prefix + "truststore.location": c.TrustStore(testcluster.PEM), prefix + "truststore.type": "PEM",
		prefix + "keystore.location": c.ClientStore(testcluster.PEM), prefix + "keystore.type": "PEM",
	}
	for name, tt := range map[string]struct {
		keys    map[string]string
		want    string
		clients bool // whether client certificates are required
	}{
		"no TLS":             {map[string]string{"hbase.client.netty.tls.enabled": "false"}, "the server requires TLS: set hbase.client.netty.tls.enabled", false},
		"another authority":  {map[string]string{prefix + "truststore.location": stranger}, "that is not in the trust store", false},
		"no trust store":     {map[string]string{prefix + "truststore.location": ""}, "hbase.rpc.tls.truststore.location is not set", false},
		"another version":    {map[string]string{prefix + "enabledProtocols": "TLSv1.3"}, "compare hbase.rpc.tls.enabledProtocols", false},
		"no certificate":     {map[string]string{prefix + "keystore.location": ""}, "set hbase.rpc.tls.keystore.location", true},
		"a strange one":      {map[string]string{prefix + "keystore.location": stranger}, "accepts none in", true},
		"the wrong password": {map[string]string{prefix + "truststore.location": c.TrustStore(testcluster.JKS), prefix + "truststore.type": "JKS", prefix + "truststore.password": "no-such-word"}, "does not open it", false},
	} {
		if tt.clients && !c.Security().TLSClients {
			continue
		}
		keys := maps.Clone(pem)
		maps.Copy(keys, tt.keys)
		out, err := s.run([]string{"HBASE_CONF_DIR=" + confOf(s.T, c, keys)}, "table", "regions", "check")
		if err == nil || !strings.Contains(out, tt.want) || strings.Contains(out, "no-such-word") || strings.Contains(out, "given up after") {
			s.Errorf("%s: %v %s", name, err, out)
		}
	}
	if !c.Security().Kerberos {
		return
	}
	keys := maps.Clone(pem)
	keys["hbase.security.authentication"] = "simple"
	out, err := s.run([]string{"HBASE_CONF_DIR=" + confOf(s.T, c, keys)}, "table", "regions", "check")
	if err == nil || !strings.Contains(out, "the server requires a Kerberos login") {
		s.Errorf("TLS without a login: %v %s", err, out)
	}
}

// confOf writes hbase-site.xml of the cluster's clients with other values.
func confOf(t *testing.T, c *testcluster.Cluster, other map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(c.ConfDir(), "hbase-site.xml"))
	if err != nil {
		t.Fatal(err)
	}
	var more strings.Builder
	for k, v := range other { // the last one of a name counts
		more.WriteString("<property><name>" + k + "</name><value>" + v + "</value></property>\n")
	}
	site := strings.Replace(string(text), "</configuration>", more.String()+"</configuration>", 1)
	if err := os.WriteFile(filepath.Join(dir, "hbase-site.xml"), []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&hdfsio.Conf{}).ReadFile(filepath.Join(dir, "hbase-site.xml")); err != nil {
		t.Fatal(err)
	}
	return dir
}
