package kerberos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestDefaultCache checks that a user without KRB5CCNAME and without a cache in /tmp logs in by the file of default_ccache_name, and that
// another type is refused by its name, as on systems whose kinit writes to KCM or the keyring.
func TestDefaultCache(t *testing.T) {
	if _, err := os.Stat(fmt.Sprintf("/tmp/krb5cc_%d", os.Getuid())); err == nil {
		t.Skip("this user has a ticket cache")
	}
	t.Setenv(EnvCache, "")
	dir := t.TempDir()
	for name, want := range map[string]string{
		"KCM:":                           "default_ccache_name of " + dir + "/krb5.conf: ticket cache of type KCM: only FILE is supported",
		"KEYRING:persistent:%{uid}":      "ticket cache of type KEYRING: only FILE",
		"FILE:" + dir + "/cc_%{uid}":     fmt.Sprintf("ticket cache: stat %s/cc_%d: no such file", dir, os.Getuid()),
		"FILE:" + dir + "/krb5.conf":     "it is not a ticket cache",
		"\n[realms]\n# a value is empty": fmt.Sprintf("ticket cache: stat /tmp/krb5cc_%d: no such file", os.Getuid()),
	} {
		path := filepath.Join(dir, "krb5.conf")
		testcheck.Must(t, os.WriteFile(path, []byte("[libdefaults]\ndefault_ccache_name = "+name+"\n"), 0o600))
		conf, err := LoadConfig(path)
		testcheck.Must(t, err)
		if _, err := Login(t.Context(), Options{Config: conf}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
