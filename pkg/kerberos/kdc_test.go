package kerberos

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/keytab"

	"bulkload/internal/test/testcluster"
)

// realm is a KDC of MIT Kerberos.
type realm struct {
	*testcluster.Cluster
	dir string
}

func startRealm(t *testing.T, s testcluster.Security) *realm {
	t.Helper()
	s.Kerberos = true
	return &realm{testcluster.StartKDC(t, s), t.TempDir()}
}

// admin runs a query of kadmin.local.
func (r *realm) admin(t *testing.T, query ...string) {
	t.Helper()
	if _, err := r.Kerberos(t.Context(), nil, "kadmin.local", query...); err != nil {
		t.Fatal(err)
	}
}

// keytab writes the current keys of principals into a keytab, without changing them, and returns its path.
func (r *realm) keytab(t *testing.T, name string, principals ...string) string {
	t.Helper()
	path := filepath.Join(r.dir, name)
	for _, p := range principals {
		r.admin(t, "ktadd", "-norandkey", "-k", path, p)
	}
	return path
}

// kinit fills a ticket cache.
func (r *realm) kinit(t *testing.T, cache string, args ...string) {
	t.Helper()
	if _, err := r.Kerberos(t.Context(), []string{"KRB5CCNAME=" + cache}, "kinit", args...); err != nil {
		t.Fatal(err)
	}
}

// config returns the KDC's krb5.conf with texts replaced.
func (r *realm) config(t *testing.T, replace ...string) *Config {
	t.Helper()
	text, err := os.ReadFile(r.Krb5Conf())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "krb5.conf")
	if err := os.WriteFile(path, []byte(strings.NewReplacer(replace...).Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := LoadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// login logs in, and ends the test if that fails.
func login(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := Login(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

const hdfsService = "nn/localhost"

// TestLogin logs in at a real KDC with a keytab and with a ticket cache, and gets tickets of services.
func TestLogin(t *testing.T) {
	r := startRealm(t, testcluster.Security{})
	conf := r.config(t)
	own := testcluster.Principal("loader")
	cache := filepath.Join(r.dir, "cache")
	r.kinit(t, "FILE:"+cache, "-k", "-t", r.Keytab("loader"), "loader")
	t.Setenv("KRB5CCNAME", "FILE:"+cache)
	r.admin(t, "addprinc", "-randkey", "+requires_preauth", "proven")
	for name, o := range map[string]Options{
		"keytab":                       {Principal: "loader", Keytab: r.Keytab("loader")},
		"keytab, realm":                {Principal: own, Keytab: r.Keytab("loader")},
		"keytab of a service":          {Principal: "hbase/localhost", Keytab: r.Keytab("hbase/localhost")},
		"keytab, preauthentication":    {Principal: "proven", Keytab: r.keytab(t, "proven.keytab", "proven")},
		"keytab of several principals": {Principal: "loader", Keytab: r.keytab(t, "several.keytab", "nobody", "loader", "nocreate")},
		"cache":                        {},
		"cache by name":                {Cache: "FILE:" + cache, Principal: "loader"},
		"cache by path":                {Cache: cache, Principal: own},
	} {
		o.Config = conf
		c := login(t, o)
		if o.Principal == "" || o.Principal == "loader" {
			o.Principal = own
		}
		if got, _, _ := strings.Cut(c.Principal(), "@"); !strings.HasPrefix(o.Principal, got) {
			t.Errorf("%s: logged in as %s", name, c.Principal())
		}
		for _, service := range []string{hdfsService, hdfsService, "hbase/localhost"} {
			ticket, _, err := c.Ticket(t.Context(), service, "")
			if err != nil || ticket.SName.PrincipalNameString() != service {
				t.Errorf("%s: ticket for %s: %v", name, service, err)
			}
		}
		if _, _, err := c.Initiate(t.Context(), hdfsService, testcluster.Realm); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_, _, err := c.Ticket(t.Context(), "nn/elsewhere.example.com", "")
		if !errors.Is(err, ErrUnknownService) || !strings.Contains(err.Error(), "nn/elsewhere.example.com") {
			t.Errorf("%s: a service that is unknown: %v", name, err)
		}
		if end, _ := c.Until(); time.Until(end) < 20*time.Hour || time.Until(end) > 25*time.Hour {
			t.Errorf("%s: the ticket ends at %s", name, end)
		}
		c.Close()
		if _, _, err := c.Ticket(t.Context(), hdfsService, ""); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: after Close: %v", name, err)
		}
	}
}

// TestMistakes checks the messages for mistakes in a job's setup.
func TestMistakes(t *testing.T) {
	r := startRealm(t, testcluster.Security{})
	conf := r.config(t)
	for _, p := range []string{"stale", "recreated", "gone"} {
		r.admin(t, "addprinc", "-randkey", p)
	}
	stale := r.keytab(t, "stale.keytab", "stale", "recreated", "gone")
	r.admin(t, "cpw", "-randkey", "stale") // another version of the key
	r.admin(t, "delprinc", "-force", "recreated")
	r.admin(t, "addprinc", "-randkey", "recreated") // another key of the same version
	r.admin(t, "delprinc", "-force", "gone")
	r.admin(t, "addprinc", "-randkey", "-e", "aes256-cts-hmac-sha384-192:normal,aes128-cts-hmac-sha1-96:normal", "types")
	r.admin(t, "ktadd", "-k", filepath.Join(r.dir, "all.keytab"), "-e", "aes256-cts-hmac-sha384-192:normal,aes128-cts-hmac-sha1-96:normal", "types")
	r.admin(t, "addprinc", "-randkey", "-e", "aes128-cts-hmac-sha1-96:normal", "moved")
	moved := r.keytab(t, "moved.keytab", "moved")
	r.admin(t, "cpw", "-randkey", "-e", "aes256-cts-hmac-sha384-192:normal", "moved")
	lost := make(map[string]string)
	for name, flag := range map[string][]string{"locked": {"-allow_tix"}, "expired": {"-expire", "2001-01-01 00:00:00 UTC"}, "aged": {"-pwexpire", "2001-01-01 00:00:00 UTC"}} {
		r.admin(t, "addprinc", "-randkey", name)
		lost[name] = r.keytab(t, name+".keytab", name)
		r.admin(t, append(append([]string{"modprinc"}, flag...), name)...)
	}
	r.admin(t, "addprinc", "-randkey", "+requires_preauth", "guarded")
	guarded := r.keytab(t, "guarded.keytab", "guarded")
	r.admin(t, "delprinc", "-force", "guarded")
	r.admin(t, "addprinc", "-randkey", "+requires_preauth", "guarded")
	for name, tt := range map[string]struct {
		o    Options
		want string
	}{
		"keytab of another":        {Options{Principal: "loader", Keytab: r.Keytab("nobody")}, "nobody.keytab has no key of loader@BULKLOAD.TEST (2 keys of others)"},
		"unknown principal":        {Options{Principal: "gone", Keytab: stale}, "does not know the principal gone@BULKLOAD.TEST"},
		"another version":          {Options{Principal: "stale", Keytab: stale}, "keytab is older than the principal's present key"},
		"another key":              {Options{Principal: "recreated", Keytab: stale}, "keytab is older than the principal's present key"},
		"another key, proven":      {Options{Principal: "guarded", Keytab: guarded}, "keytab is older than the principal's present key"},
		"another type":             {Options{Principal: "moved", Keytab: moved}, "the keytab has no key of moved@BULKLOAD.TEST of the encryption type that the KDC uses"},
		"locked":                   {Options{Principal: "locked", Keytab: lost["locked"]}, "locked@BULKLOAD.TEST is locked or has expired"},
		"expired":                  {Options{Principal: "expired", Keytab: lost["expired"]}, "expired@BULKLOAD.TEST has expired"},
		"key expired":              {Options{Principal: "aged", Keytab: lost["aged"]}, "the key of aged@BULKLOAD.TEST has expired"},
		"no keytab":                {Options{Principal: "loader", Keytab: filepath.Join(r.dir, "none")}, "none: no such file"},
		"a directory":              {Options{Principal: "loader", Keytab: r.dir}, "is a directory"},
		"no principal":             {Options{Keytab: r.Keytab("loader")}, `principal "": it must be USER@REALM`},
		"a realm without a KDC":    {Options{Principal: "loader@ELSEWHERE.ORG", Keytab: elsewhere(t, r)}, "names no KDC of its realm, nor does DNS: add it under [realms]"},
		"a KDC of another realm":   {Options{Principal: "loader@OTHER.ORG", Keytab: elsewhere(t, r), Config: r.config(t, "[realms]\n", "[realms]\n OTHER.ORG = {\n kdc = 127.0.0.1:"+port(t, r)+"\n }\n")}, "does not know the principal loader@OTHER.ORG: check its name and realm"},
		"a clock":                  {Options{Principal: "loader", Keytab: r.Keytab("loader"), Config: r.config(t, "clockskew = 300", "clockskew = 0")}, "synchronize them"},
		"types that are forbidden": {Options{Principal: "loader", Keytab: r.Keytab("loader"), Config: r.config(t, "[libdefaults]", "[libdefaults]\ndefault_tkt_enctypes = arcfour-hmac\n")}, "other encryption types than"},
		"no KDC in the file":       {Options{Principal: "loader", Keytab: r.Keytab("loader"), Config: r.config(t, "kdc = ", "admin_server = ")}, "names no KDC of its realm"},
		"no default realm":         {Options{Principal: "loader", Keytab: r.Keytab("loader"), Config: r.config(t, "default_realm", "x")}, "has no default_realm"},
		"no cache":                 {Options{Cache: filepath.Join(r.dir, "no cache")}, "no such file or directory (run kinit, or use a keytab)"},
		"a keytab as cache":        {Options{Cache: r.Keytab("loader")}, "loader.keytab"},
	} {
		if tt.o.Config == nil {
			tt.o.Config = conf
		}
		c, err := Login(t.Context(), tt.o)
		if err == nil {
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "a clock" && !errors.Is(err, ErrSkew) || errors.Is(err, ErrNoKDC) {
			t.Errorf("%s: another kind of error: %v", name, err)
		}
	}
	// A keytab with one of the principal's key types is enough, whatever type the KDC prefers.
	for _, id := range []int32{17, 20} {
		path := only(t, filepath.Join(r.dir, "all.keytab"), func(e *keytab.Keytab, i int) bool { return e.Entries[i].Key.KeyType == id })
		login(t, Options{Principal: "types", Keytab: path, Config: conf})
	}
	if os.Getuid() != 0 {
		if err := os.Chmod(moved, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := Login(t.Context(), Options{Principal: "moved", Keytab: moved, Config: conf}); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "must be able to read it") {
			t.Errorf("a keytab that cannot be read: %v", err)
		}
	}
}

// only returns a keytab with some entries of another one.
func only(t *testing.T, path string, keep func(kt *keytab.Keytab, i int) bool) string {
	t.Helper()
	kt, err := loadKeytab(path)
	if err != nil {
		t.Fatal(err)
	}
	out := *kt
	out.Entries = nil
	for i := range kt.Entries {
		if keep(kt, i) {
			out.Entries = append(out.Entries, kt.Entries[i])
		}
	}
	data, err := out.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "some.keytab")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// elsewhere returns a keytab with keys of the user in realms that the KDC does not have.
func elsewhere(t *testing.T, r *realm) string {
	t.Helper()
	return only(t, r.Keytab("loader"), func(kt *keytab.Keytab, i int) bool {
		kt.Entries[i].Principal.Realm = []string{"ELSEWHERE.ORG", "OTHER.ORG"}[i%2]
		return true
	})
}

// port returns the port of the KDC.
func port(t *testing.T, r *realm) string {
	t.Helper()
	_, p, err := net.SplitHostPort(r.config(t).krb5.Realms[0].KDC[0])
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestKDCAway stops the KDC and starts it again. Meanwhile logins fail with an error that names the configuration and
// may be retried, and valid tickets can still be used.
func TestKDCAway(t *testing.T) {
	r := startRealm(t, testcluster.Security{})
	o := Options{Principal: "loader", Keytab: r.Keytab("loader"), Config: r.config(t)}
	c := login(t, o)
	if _, _, err := c.Ticket(t.Context(), hdfsService, ""); err != nil {
		t.Fatal(err)
	}
	kdc := r.Daemon(testcluster.KDC)
	if err := kdc.Terminate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := Login(t.Context(), o); !errors.Is(err, ErrNoKDC) || !strings.Contains(err.Error(), o.Config.Path) {
		t.Errorf("login: %v", err)
	}
	if _, _, err := c.Ticket(t.Context(), "hbase/localhost", ""); !errors.Is(err, ErrNoKDC) || !strings.Contains(err.Error(), "hbase/localhost") {
		t.Errorf("another ticket: %v", err)
	}
	if _, _, err := c.Ticket(t.Context(), hdfsService, ""); err != nil {
		t.Errorf("a ticket that is valid: %v", err)
	}
	// A ticket that is due for renewal is used as long as it is valid, and the KDC is not asked again for a while.
	c.mu.Lock()
	due := *c.state.tickets[asked{hdfsService, ""}]
	due.since, due.end = time.Now().Add(-24*time.Hour), time.Now().Add(time.Minute)
	c.state.tickets[asked{hdfsService, ""}] = &due
	c.mu.Unlock()
	if _, _, err := c.Ticket(t.Context(), hdfsService, ""); err != nil {
		t.Errorf("a ticket that is due: %v", err)
	}
	if g, _ := c.cached(asked{hdfsService, ""}); !g.pause.After(time.Now()) {
		t.Error("the KDC is asked again at once")
	}
	if err := errors.Join(kdc.Restart(t.Context()), kdc.WaitReady(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Ticket(t.Context(), "hbase/localhost", ""); err != nil {
		t.Errorf("the KDC is back: %v", err)
	}
}

// TestSkewFault checks the error of a KDC that finds the clocks too far apart.
func TestSkewFault(t *testing.T) {
	r := startRealm(t, testcluster.Security{})
	var asked atomic.Int32
	conf := r.config(t, ":"+port(t, r), ":"+referring(t, errorcode.KRB_AP_ERR_SKEW, &asked))
	if _, err := Login(t.Context(), Options{Principal: "loader", Keytab: r.Keytab("loader"), Config: conf}); !errors.Is(err, ErrSkew) {
		t.Errorf("login: %v", err)
	}
	cache := filepath.Join(r.dir, "cache")
	r.kinit(t, "FILE:"+cache, "-k", "-t", r.Keytab("loader"), "loader")
	if _, _, err := login(t, Options{Cache: cache, Config: conf}).Ticket(t.Context(), hdfsService, ""); !errors.Is(err, ErrSkew) {
		t.Errorf("ticket: %v", err)
	}
}
