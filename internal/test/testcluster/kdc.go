package testcluster

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"bulkload/internal/test/testcheck"
)

// ErrNoKDC means that the programs of MIT Kerberos are missing. The error text has the command that installs them.
var ErrNoKDC = errors.New("install with: apt-get install -y krb5-kdc krb5-admin-server krb5-user")

// KDCInstalled returns ErrNoKDC if this machine lacks a program that a cluster with Kerberos needs.
func KDCInstalled() error {
	for _, name := range []string{"krb5kdc", "kdb5_util", "kadmin.local"} {
		if _, err := kerberosTool(name); err != nil {
			return err
		}
	}
	return nil
}

// needsKDC skips a test on a machine without a KDC, unless EnvSecure is set.
func needsKDC(t testing.TB) {
	t.Helper()
	if err := KDCInstalled(); err != nil {
		if os.Getenv(EnvSecure) != "" || !errors.Is(err, ErrNoKDC) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// kerberosTool also searches the directories of administrative programs, which are not in every PATH.
func kerberosTool(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/lib/mit/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("a cluster with Kerberos needs %s, which is not in PATH: %w", name, ErrNoKDC)
}

const (
	defaultTicketLife = 24 * time.Hour
	defaultRenewLife  = 7 * 24 * time.Hour
)

func seconds(d, otherwise time.Duration) string {
	if d <= 0 {
		d = otherwise
	}
	return fmt.Sprintf("%ds", max(d/time.Second, 1))
}

// ShortSkew is the allowed clock difference, and the time for which a ticket is valid after its end, if Security has a
// TicketLife. With a smaller value, a busy machine takes longer to read a request than the request's time is valid.
const ShortSkew = 10 * time.Second

// krb5Conf returns the krb5.conf of clients and daemons. udp_preference_limit makes all of them use TCP. The lifetime that it requests
// is that of the daemons' tickets. Java's clients request it too; the KDC gives users less.
func krb5Conf(port int, s Security) string {
	skew := 300
	if s.TicketLife > 0 {
		skew = int(ShortSkew / time.Second)
	}
	return fmt.Sprintf(`[libdefaults]
  default_realm = %[1]s
  dns_lookup_kdc = false
  dns_lookup_realm = false
  rdns = false
  udp_preference_limit = 1
  clockskew = %[2]d
  ticket_lifetime = %[3]s
  renew_lifetime = %[4]s

[realms]
  %[1]s = {
    kdc = 127.0.0.1:%[5]d
  }

[domain_realm]
  localhost = %[1]s
`, Realm, skew, seconds(0, defaultTicketLife), seconds(s.RenewLife, defaultRenewLife), port)
}

func kdcConf(l layout, port int, s Security) string {
	return fmt.Sprintf(`[kdcdefaults]
  kdc_listen = 127.0.0.1:%[1]d
  kdc_tcp_listen = 127.0.0.1:%[1]d

[realms]
  %[2]s = {
    database_name = %[3]s/principal
    key_stash_file = %[3]s/stash
    acl_file = %[3]s/kadm5.acl
    supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
    max_life = %[4]s
    max_renewable_life = %[5]s
  }

[logging]
  kdc = STDERR
  admin_server = STDERR
`, port, Realm, l.kdc(), seconds(0, defaultTicketLife), seconds(s.RenewLife, defaultRenewLife))
}

// kerberosEnvironment prevents MIT's programs from using the system's files.
func (l layout) kerberosEnvironment() []string {
	return []string{"KRB5_CONFIG=" + l.krb5Conf(), "KRB5_KDC_PROFILE=" + l.kdcConf(), "KRB5CCNAME=" + filepath.Join(l.kdc(), "ccache")}
}

// makeRealm writes the KDC's configuration and database, and a keytab for each principal.
func (c *Cluster) makeRealm(ctx context.Context, s Security) error {
	l := c.layout
	if err := os.MkdirAll(l.kdc(), 0o700); err != nil {
		return err
	}
	port := c.state.Ports.KDC
	if err := writeFiles("", map[string]string{l.krb5Conf(): krb5Conf(port, s), l.kdcConf(): kdcConf(l, port, s)}); err != nil {
		return err
	}
	run := func(name string, args ...string) error {
		if _, err := c.Kerberos(ctx, nil, name, args...); err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		return nil
	}
	if err := run("kdb5_util", "-P", rand.Text(), "-r", Realm, "create", "-s"); err != nil {
		return err
	}
	services := slices.Clone(services)
	if c.hasYARN() {
		services = append(services, yarnServices...)
	}
	for _, name := range services {
		if err := run("kadmin.local", "addprinc", "-randkey", name); err != nil {
			return err
		}
	}
	life, renew := seconds(s.TicketLife, defaultTicketLife), seconds(s.RenewLife, defaultRenewLife)
	for _, name := range users {
		if err := run("kadmin.local", "addprinc", "-randkey", "-maxlife", life, "-maxrenewlife", renew, name); err != nil {
			return err
		}
	}
	for _, name := range append(services, users...) {
		if err := run("kadmin.local", "ktadd", "-norandkey", "-k", l.keytab(name), name); err != nil {
			return err
		}
	}
	return nil
}

// startKDC creates the realm and starts its KDC, which every login needs.
func (c *Cluster) startKDC(ctx context.Context, s Security) error {
	if err := c.makeRealm(ctx, s); err != nil {
		return fmt.Errorf("the test cluster's KDC: %w", err)
	}
	if err := c.spawn(ctx, KDC, c.command(KDC)); err != nil {
		return err
	}
	return c.Daemon(KDC).WaitReady(ctx)
}

// kdcCommand keeps the KDC in the foreground.
func kdcCommand(l layout) ([]string, error) {
	path, err := kerberosTool("krb5kdc")
	if err != nil {
		return nil, err
	}
	return []string{path, "-n", "-r", Realm, "-P", filepath.Join(l.kdc(), "pid")}, nil
}

// probeKDC requests a ticket without authentication; any answer shows that the KDC works.
func (c *Cluster) probeKDC(ctx context.Context, _ Role) error {
	conf, err := config.Load(c.layout.krb5Conf())
	if err != nil {
		return err
	}
	request, err := messages.NewASReqForTGT(Realm, conf, types.NewPrincipalName(1, Loader))
	if err != nil {
		return err
	}
	body, err := request.Marshal()
	if err != nil {
		return err
	}
	conn, err := connect(ctx, c.state.Ports.KDC)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)); err != nil {
		return err
	}
	var size [4]byte
	_, err = io.ReadFull(conn, size[:])
	return err
}

// javaKerberos returns options of a JVM that uses Kerberos.
func javaKerberos(l layout) []string {
	return []string{"-Djava.security.krb5.conf=" + l.krb5Conf(), "--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED"}
}

// asUser returns options of a JVM whose main class As logs in by a keytab.
func asUser(l layout, name string) []string {
	full := name
	if !strings.Contains(name, "@") {
		full = Principal(name)
	}
	return append(javaKerberos(l), "-Dbulkload.principal="+full, "-Dbulkload.keytab="+l.keytab(name))
}

// StartKDC starts a KDC without a cluster, for tests of logins and of Kerberos-authenticated exchanges. It ends with the
// test. Without a KDC on this machine the test is skipped, unless EnvSecure is set. No other daemon of the cluster runs;
// its Daemon(KDC) can be ended and started again.
func StartKDC(t testing.TB, s Security) *Cluster {
	t.Helper()
	needsKDC(t)
	ports, err := pickPorts(0, 1, 1, 0)
	testcheck.Must(t, err)
	c := &Cluster{layout: layout{t.TempDir()}, log: Options{}.withDefaults().Log, timeout: defaultStartTimeout, spawner: newSpawner()}
	argv, err := kdcCommand(c.layout)
	testcheck.Must(t, err)
	c.state = &state{Version: stateVersion, Dir: c.layout.dir, Security: s.withDefaults(), Ports: ports,
		Roles: []Role{KDC}, Daemons: map[Role]*daemonState{KDC: {Command: argv}}}
	testcheck.Must(t, os.MkdirAll(c.layout.logs(), 0o755))
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	testcheck.Must(t, c.startKDC(t.Context(), s))
	return c
}

// Kerberos runs a program of MIT Kerberos, kinit or kadmin.local, with the configuration of the cluster's KDC, and returns
// its standard output. env are further variables, KRB5CCNAME in particular.
func (c *Cluster) Kerberos(ctx context.Context, env []string, name string, args ...string) (string, error) {
	path, err := kerberosTool(name)
	if err != nil {
		return "", err
	}
	out, err := c.spawner.output(ctx, nil, append([]string{path}, args...), environment(append(c.layout.kerberosEnvironment(), env...)...))
	if err != nil {
		return out, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}
