package testcluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/types"
)

func TestSecurityValidate(t *testing.T) {
	for name, s := range map[string]Security{
		"a level without kerberos":    {RPC: Privacy},
		"a life without kerberos":     {TicketLife: time.Minute},
		"an unknown level":            AtLevel("secret"),
		"a list with an unknown name": {Kerberos: true, HBase: "privacy,secret"},
		"an empty list element":       {Kerberos: true, Data: "privacy,"},
		"a negative life":             {Kerberos: true, TicketLife: -1},
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

// Clients know the principals of the servers and have none of their keys.
func TestClientsHaveNoKeytabs(t *testing.T) {
	l := layout{t.TempDir()}
	o := Options{Security: AtLevel(Privacy)}.withDefaults()
	if err := l.write(o, portsFrom(20000, 1, 1)); err != nil {
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

// secureKinds are the clusters that are proven; the first is the quick one.
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

// HBase's and HDFS's own clients are the judges: a user with rights works, one without is refused, and one
// without credentials is not let in.
func TestSecured(t *testing.T) {
	for i, kind := range secureKinds {
		t.Run(kind.name, func(t *testing.T) {
			if i > 0 {
				SecuredAll(t)
			}
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

// Data transfer can be encrypted where nobody proves who they are.
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

// The KDC, a NameNode and a region server that were killed are there again, with the keys that were there.
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

// startRealm starts a KDC with no cluster around it.
func startRealm(t *testing.T, s Security) *Cluster {
	t.Helper()
	if err := KDCInstalled(); err != nil {
		if os.Getenv(EnvSecure) != "" || !errors.Is(err, ErrNoKDC) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	ports, err := pickPorts(0, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{layout: layout{t.TempDir()}, log: Options{}.withDefaults().Log, timeout: defaultStartTimeout, spawner: newSpawner()}
	argv, err := kdcCommand(c.layout)
	if err != nil {
		t.Fatal(err)
	}
	c.state = &state{Version: stateVersion, Dir: c.layout.dir, Security: s.withDefaults(), Ports: ports,
		Roles: []Role{KDC}, Daemons: map[Role]*daemonState{KDC: {Command: argv}}}
	if err := os.MkdirAll(c.layout.logs(), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := c.startKDC(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return c
}

// The lives of tickets are bounded for users only, and the KDC ends with the cluster.
func TestRealm(t *testing.T) {
	const life, renew = time.Minute, 5 * time.Minute
	c := startRealm(t, Security{Kerberos: true, TicketLife: life, RenewLife: renew})
	for name, most := range map[string]time.Duration{Loader: life, HDFSAdmin: defaultTicketLife} {
		ticket := kinit(t, c, name)
		if got := ticket.EndTime.Sub(ticket.StartTime); got > most || got < most/2 {
			t.Errorf("a ticket of %s lasts %s, not %s", name, got, most)
		}
		if got := ticket.RenewTill.Sub(ticket.StartTime); got > renew || got < renew/2 {
			t.Errorf("a ticket of %s can be renewed for %s, not %s", name, got, renew)
		}
	}
	pid := c.Daemon(KDC).current()
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	mustBeGone(t, []identity{pid})
}

// kinit has MIT's own client get a ticket as long as there is one.
func kinit(t *testing.T, c *Cluster, name string) *credentials.Credential {
	t.Helper()
	path, err := kerberosTool("kinit")
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(t.TempDir(), "ccache")
	env := append(c.clientEnvironment(), "KRB5CCNAME=FILE:"+cache)
	argv := []string{path, "-l", "24h", "-r", "7d", "-k", "-t", c.Keytab(name), Principal(name)}
	if _, err := c.spawner.output(t.Context(), nil, argv, env); err != nil {
		t.Fatal(err)
	}
	all, err := credentials.LoadCCache(cache)
	if err != nil {
		t.Fatal(err)
	}
	ticket, ok := all.GetEntry(types.NewPrincipalName(2, "krbtgt/"+Realm))
	if !ok {
		t.Fatal("kinit has left no ticket")
	}
	return ticket
}
