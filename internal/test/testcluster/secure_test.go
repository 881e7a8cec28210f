package testcluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSecurityValidate(t *testing.T) {
	for name, s := range map[string]Security{
		"a level without kerberos":    {RPC: Privacy},
		"a life without kerberos":     {TicketLife: time.Minute},
		"an unknown level":            AtLevel("secret"),
		"a list with an unknown name": {Kerberos: true, HBase: "privacy,secret"},
		"an empty list element":       {Kerberos: true, Data: "privacy,"},
		"a negative life":             {Kerberos: true, TicketLife: -1},
		"an unknown form of stores":   {TLS: "DER"},
		"certificates without tls":    {TLSClients: true},
	} {
		if (Options{Security: s}).Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, s := range []Security{AtLevel(Privacy), {Kerberos: true}, {Kerberos: true, RPC: "privacy,integrity"}, {EncryptData: true, AES: true}} {
		if err := (Options{Security: s}).Validate(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// TestClientsHaveNoKeytabs checks that clients know the principals of the servers but have none of their keys.
func TestClientsHaveNoKeytabs(t *testing.T) {
	l := layout{t.TempDir()}
	o := Options{Security: AtLevel(Privacy)}.withDefaults()
	if err := l.write(o, portsFrom(20000, 1, 1, 0), ""); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hdfs-site.xml", "hbase-site.xml"} {
		for dir, want := range map[string]bool{l.conf(): false, l.daemonConf(): true} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(text), ".keytab"); got != want {
				t.Errorf("%s of %s names a keytab: %v", name, filepath.Base(dir), got)
			}
			if !strings.Contains(string(text), "/_HOST@"+Realm) {
				t.Errorf("%s of %s names no principal", name, filepath.Base(dir))
			}
		}
	}
}

func TestParseHBaseState(t *testing.T) {
	s, err := parseHBaseState("live localhost,16020,1700000000000\nlive b,1,2\ncrashes 3")
	if err != nil || len(s.live) != 2 || s.live[0].String() != "localhost,16020,1700000000000" || s.crashes != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"live a,b", "live a,b,3", "live a,1,c", "crashes many"} {
		if _, err := parseHBaseState(bad); err == nil {
			t.Errorf("%q: accepted", bad)
		}
	}
}

// secureKinds are the tested kinds of clusters.
var secureKinds = []struct {
	name     string
	security Security
}{
	{"privacy with AES", AtLevel(Privacy)},
	{"authentication", AtLevel(Authentication)},
	{"integrity", AtLevel(Integrity)},
	{"privacy without AES", Security{Kerberos: true, RPC: Privacy, Data: Privacy, HBase: Privacy}},
	{"encrypted data transfer", Security{Kerberos: true, RPC: Integrity, HBase: Integrity, EncryptData: true, AES: true}},
}

// HBase's and HDFS's own clients are the judges: a user with rights succeeds, one without is refused, and one without credentials
// is rejected. Each kind takes a start; internal/test/secured tests a cluster of the first one, with jobs, in every run.
func TestSecured(t *testing.T) {
	SecuredAll(t)
	for _, kind := range secureKinds {
		t.Run(kind.name, func(t *testing.T) {
			start := time.Now()
			c := Secured(t, kind.security)
			t.Logf("up after %s", time.Since(start).Round(time.Second))
			testSecured(t, c)
		})
	}
}

func testSecured(t *testing.T, c *Cluster) {
	ctx := t.Context()
	run(t, c.AdminT(t), "create", "secured")
	defer run(t, c.AdminT(t), "drop", "secured")
	if err := c.Grant(ctx, "secured"); err != nil {
		t.Fatal(err)
	}
	loader, nobody := c.AdminAsT(t, Loader), c.AdminAsT(t, Nobody)
	run(t, loader, "put", "secured", "4x", "f:a", "hello")
	if got := run(t, loader, "digest", "secured"); got != helloDigest {
		t.Errorf("digest %s", got)
	}
	run(t, loader, "write", "/user/loader/secured", "hello")
	if got := run(t, loader, "read", "/user/loader/secured"); got != "hello" {
		t.Errorf("read %q", got)
	}
	simple, err := c.AdminSimple(ctx, Loader)
	if err != nil {
		t.Fatal(err)
	}
	for _, refused := range []struct {
		admin *Admin
		args  []string
		why   string
	}{
		{nobody, []string{"put", "secured", "4y", "f:a", "hello"}, "AccessDeniedException"},
		{nobody, []string{"scan", "secured"}, "AccessDeniedException"},
		{nobody, []string{"write", "/user/loader/other", "hello"}, "Permission denied: user=nobody"},
		{loader, []string{"write", "/hbase/other", "hello"}, "Permission denied: user=loader"},
		{simple, []string{"write", "/user/loader/other", "hello"}, "SIMPLE authentication is not enabled"},
		// HBase closes the connection and gives no reason.
		{simple, []string{"scan", "secured"}, "ConnectionClosedException"},
	} {
		out, err := refused.admin.Run(ctx, refused.args...)
		if err == nil {
			t.Errorf("%v is not refused: %s", refused.args, out)
		} else if !strings.Contains(err.Error(), refused.why) {
			t.Errorf("%v is refused with %v, not %s", refused.args, err, refused.why)
		}
	}
}

// Data transfer can be encrypted without authentication.
func TestEncryptedWithoutKerberos(t *testing.T) {
	SecuredAll(t)
	c := Secured(t, Security{EncryptData: true, AES: true})
	a := c.AdminT(t)
	run(t, a, "write", "/tmp/encrypted", "hello")
	if got := run(t, a, "read", "/tmp/encrypted"); got != "hello" {
		t.Errorf("read %q", got)
	}
	run(t, a, "create", "encrypted")
	defer run(t, a, "drop", "encrypted")
	run(t, a, "put", "encrypted", "4x", "f:a", "hello")
	run(t, a, "flush", "encrypted")
	if got := run(t, a, "digest", "encrypted"); got != helloDigest {
		t.Errorf("digest %s", got)
	}
}

// The KDC, a NameNode and a region server restart after they were killed, with the same keys.
func TestSecuredFaults(t *testing.T) {
	SecuredAll(t)
	c := Secured(t, secureKinds[0].security)
	a := c.AdminT(t)
	run(t, a, "create", "restarted")
	defer run(t, a, "drop", "restarted")
	if err := c.Grant(t.Context(), "restarted"); err != nil {
		t.Fatal(err)
	}
	run(t, c.AdminAsT(t, Loader), "put", "restarted", "4x", "f:a", "hello")
	kdc := c.Daemon(KDC)
	if err := kdc.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.login(Loader); err == nil {
		t.Error("a login without a KDC")
	}
	for _, role := range []Role{KDC, NameNode, RegionServer} {
		d := c.Daemon(role)
		if err := d.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := d.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.login(Loader); err != nil {
		t.Error(err)
	}
	if got := run(t, c.AdminAsT(t, Loader), "digest", "restarted"); got != helloDigest {
		t.Errorf("after restarts: %s", got)
	}
}

// The second NameNode becomes active under Kerberos.
func TestSecuredFailover(t *testing.T) {
	SecuredAll(t)
	ctx := t.Context()
	// One cluster at a time.
	shared.mu.Lock()
	err := endSecured()
	shared.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Start(ctx, Options{HA: true, Security: AtLevel(Integrity)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}()
	a := c.AdminAsT(t, Loader)
	run(t, a, "write", "/user/loader/before", "hello")
	if err := c.Daemon(NameNode).Kill(ctx); err != nil {
		t.Fatal(err)
	}
	if to, err := c.Failover(ctx, NameNode); err != nil || to != NameNode.Nth(2) {
		t.Fatalf("failed over to %s, %v", to, err)
	}
	run(t, a, "write", "/user/loader/after", "hello")
	for _, name := range []string{"before", "after"} {
		if got := run(t, a, "read", "/user/loader/"+name); got != "hello" {
			t.Errorf("%s: read %q", name, got)
		}
	}
}
