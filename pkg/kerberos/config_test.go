package kerberos

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// write creates files in a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConfig reads configurations of distributions and administrators that gokrb5 alone refuses or ignores.
func TestConfig(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"krb5.conf": `
# Red Hat's file begins so.
includedir DIR/krb5.conf.d/
include DIR/more.conf
[logging]
 default = FILE:/var/log/krb5libs.log
[libdefaults]
	dns_lookup_realm = off
    ticket_lifetime = 24h
    renew_lifetime = 7d
    forwardable = yes
    rdns = false
    pkinit_anchors = FILE:/etc/pki/tls/certs/ca-bundle.crt
    spake_preauth_groups = edwards25519
    dns_canonicalize_hostname = fallback
    qualify_shortname = ""
    default_realm = EXAMPLE.COM
    default_ccache_name = KEYRING:persistent:%{uid}
    permitted_enctypes = aes256-cts, aes128-cts +rc4 -rc4
    clockskew = 5m
    v4_instance_convert = {
       kerberos = kerberos
    }
[realms]
 EXAMPLE.COM = {
     kdc = kdc1.example.com   ; the first
     kdc = kdc2.example.com:1088
     admin_server = kdc1.example.com
     auth_to_local = RULE:[2:$1@$0](nn@.*)s/.*/hdfs/
     auth_to_local = RULE:[1:$1@$0](.{2,8}@EXAMPLE[.]COM)s/@.*=//
     pkinit_cert_match = &&<SUBJECT>.*CN=[a-z]{3}.*<KU>digitalSignature
     auth_to_local_names = {
         joe = jane
     }
     master_kdc = kdc1.example.com
 }
[domain_realm]
 .example.com = EXAMPLE.COM
`,
		"krb5.conf.d/realms":       "[realms]\nOTHER.ORG = {\n  kdc = kdc.other.org\n}\n[domain_realm]\n.other.org = OTHER.ORG\n",
		"krb5.conf.d/first.conf":   "[libdefaults]\n default_realm = FIRST.ORG\n",
		"krb5.conf.d/no.rpmnew":    "[libdefaults]\n default_realm = NOT.READ\n",
		"krb5.conf.d/.hidden":      "[nonsense",
		"krb5.conf.d/sub/x.conf":   "[nonsense",
		"more.conf":                "include DIR/krb5.conf\n[libdefaults]\n udp_preference_limit = 0\n",
		"krb5.conf.d/backup.conf~": "[nonsense",
	})
	t.Setenv("KRB5_CONFIG", dir+"/absent.conf:"+dir+"/krb5.conf")
	c, err := LoadConfig("")
	if err != nil {
		t.Fatal(err)
	}
	l := c.krb5.LibDefaults
	if c.Realm() != "FIRST.ORG" || l.TicketLifetime != 24*time.Hour || l.RenewLifetime != 7*24*time.Hour || l.Clockskew != 5*time.Minute || !l.Forwardable || l.UDPPreferenceLimit != 0 {
		t.Errorf("%+v", l)
	}
	if diff := cmp.Diff([]int32{18, 17}, l.PermittedEnctypeIDs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int32{18, 17, 20, 19, 23}, l.DefaultTktEnctypeIDs); diff != "" {
		t.Errorf("the default has the types of RFC 8009: %s", diff)
	}
	kdcs := map[string][]string{}
	for _, r := range c.krb5.Realms {
		kdcs[r.Realm] = r.KDC
	}
	want := map[string][]string{"EXAMPLE.COM": {"kdc1.example.com:88", "kdc2.example.com:1088"}, "OTHER.ORG": {"kdc.other.org:88"}}
	if diff := cmp.Diff(want, kdcs); diff != "" {
		t.Error(diff)
	}
	if got := c.krb5.ResolveRealm("a.b.other.org"); got != "OTHER.ORG" {
		t.Errorf("domain_realm of an included file: %q", got)
	}
}

// TestKDCsInDNS checks that KDCs are looked up in DNS for a realm without any in the file unless the file says no, as MIT's libraries and Java do, and the
// errors of a realm that has none anywhere.
func TestKDCsInDNS(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]bool{"": true, "dns_lookup_kdc = off": false, "dns_lookup_kdc = yes": true} {
		write(t, dir, map[string]string{"krb5.conf": "[libdefaults]\ndefault_realm = EXAMPLE.COM\n" + text + "\n"})
		c, err := LoadConfig(filepath.Join(dir, "krb5.conf"))
		if err != nil || c.krb5.LibDefaults.DNSLookupKDC != want {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	}
	none := errors.New("failed to communicate with KDC. Attempts made with UDP (lookup _kerberos._udp.A.ORG on 127.0.0.11:53: no such host) and then TCP (lookup _kerberos._tcp.A.ORG on 127.0.0.11:53: no such host)")
	later := errors.New("failed to communicate with KDC. Attempts made with UDP (lookup _kerberos._udp.A.ORG: i/o timeout) and then TCP (lookup _kerberos._tcp.A.ORG on [::1]:53: server misbehaving)")
	o := Options{Config: &Config{Path: "krb5.conf"}}
	for _, err := range []error{loginError("a@A.ORG", o, none), ticketError("nn/a", o, none)} {
		if errors.Is(err, ErrNoKDC) || !strings.Contains(err.Error(), "names no KDC of") {
			t.Errorf("no KDC in DNS: %v", err)
		}
	}
	if err := ticketError("nn/a", o, none); !strings.Contains(err.Error(), "the realm A.ORG,") {
		t.Error(err)
	}
	if err := loginError("a@A.ORG", o, later); !errors.Is(err, ErrNoKDC) {
		t.Errorf("no answer of DNS: %v", err)
	}
}

// TestConfigDirectory checks that the files of a directory are read as by includedir, also next to a file.
func TestConfigDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"d/realm.conf": "[libdefaults]\ndefault_realm = D.ORG\n", "d/other.txt": "[realms\n", "krb5.conf": "[libdefaults]\ndefault_realm = F.ORG\n"})
	file, sub := filepath.Join(dir, "krb5.conf"), filepath.Join(dir, "d")
	for path, realm := range map[string]string{sub: "D.ORG", sub + ":" + file: "D.ORG", file + ":" + sub: "F.ORG"} {
		if c, err := LoadConfig(path); err != nil || c.Realm() != realm {
			t.Errorf("%s: %v, %v", path, c, err)
		}
	}
}

// TestConfigRefusals checks configurations that must be rejected.
func TestConfigRefusals(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"an include that is not there":  {"include DIR/absent\n", "line 1: include: open DIR/absent"},
		"a directory that is not there": {"\nincludedir DIR/absent\n", "line 2: includedir: open DIR/absent"},
		"a module":                      {"module /lib/x.so:residue\n", "line 1: profile modules"},
		"an open brace":                 {"[realms]\nA = {\n kdc = x\n", "a brace is opened and not closed"},
		"a brace too many":              {"[realms]\n}\n", "line 2: a brace is closed and was not opened"},
		"an open section":               {"[realms\n", "line 1: a section's name is not closed"},
		"a KDC behind HTTPS":            {"[realms]\nA = {\n kdc = https://kdc.example.com/KdcProxy\n}\n", "HTTPS proxy"},
		"a KDC with =":                  {"[realms]\nA = {\n kdc = a=b\n}\n", "line 3: a value of kdc has the character ="},
		"a realm with =":                {"[libdefaults]\ndefault_realm = C=DE/O=X\n", "line 2: a value of default_realm"},
		"a duration":                    {"[libdefaults]\nticket_lifetime = soon\n", "ticket_lifetime"},
	} {
		dir := t.TempDir()
		write(t, dir, map[string]string{"krb5.conf": tt.text})
		_, err := LoadConfig(filepath.Join(dir, "krb5.conf"))
		if err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(tt.want, "DIR", dir)) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := LoadConfig(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "KRB5_CONFIG") {
		t.Errorf("no file: %v", err)
	}
}

// FuzzConfig checks that any text gives a configuration or an error.
func FuzzConfig(f *testing.F) {
	f.Add("[libdefaults]\ndefault_realm = A\n[realms]\nA = {\nkdc = b\n}\n[domain_realm]\n.b = A\n")
	f.Add("[realms]\nA = {\nv4_x = {\n}\n}\n")
	dir := f.TempDir()
	path := filepath.Join(dir, "krb5.conf")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "include") {
			t.Skip() // files of this machine
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := LoadConfig(path)
		if err == nil {
			c.Realm()
		}
	})
}

// TestCacheNames checks the names of ticket caches.
func TestCacheNames(t *testing.T) {
	t.Setenv("KRB5CCNAME", "FILE:/tmp/of the environment")
	for name, want := range map[string]string{"": "/tmp/of the environment", "/tmp/x": "/tmp/x", "FILE:/tmp/x": "/tmp/x", "file:x": "x", "/tmp/a:b": "/tmp/a:b"} {
		if got, err := cachePath(name); got != want || err != nil {
			t.Errorf("%q: %q %v", name, got, err)
		}
	}
	for _, name := range []string{"KEYRING:persistent:1000", "KCM:", "DIR:/run/user/1/krb5cc", "API:x", "MEMORY:y"} {
		kind, _, _ := strings.Cut(name, ":")
		if got, err := cachePath(name); err == nil || !strings.Contains(err.Error(), "ticket cache of type "+kind) || !strings.Contains(err.Error(), "set KRB5CCNAME=FILE:") {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}

// TestDamagedSecrets reads files for which the parsers of gokrb5 would panic.
func TestDamagedSecrets(t *testing.T) {
	dir := t.TempDir()
	conf := &Config{krb5: nil}
	for name, text := range map[string]string{"empty": "", "one byte": "\x05", "lengths": "\x05\x02\x7f\xff\xff\xff", "cache": "\x05\x04\x00\x0c\x00\x01\x00\x08\xff\xff\xff\xff\x00\x00\x00\x00\x7f\xff\xff\xff"} {
		path := filepath.Join(dir, "secret")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loadKeytab(path); err == nil && text != "" {
			t.Errorf("keytab, %s: no error", name)
		}
		if _, err := openCache(path, conf); err == nil {
			t.Errorf("cache, %s: no error", name)
		}
	}
	if _, err := loadKeytab(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
