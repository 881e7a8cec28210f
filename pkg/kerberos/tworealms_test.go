package kerberos

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestTwoRealms gets a ticket for a service in another realm, whose KDC trusts the user's realm, through both KDCs. The realm is known from
// [domain_realm], or named by the caller.
func TestTwoRealms(t *testing.T) {
	const other, service = "OTHER.ORG", "nn/host.other.org"
	r := startRealm(t, testcluster.Security{})
	address := testcheck.ClosedAddress(t)
	dir := t.TempDir()
	write(t, dir, map[string]string{"kdc.conf": fmt.Sprintf("[kdcdefaults]\nkdc_listen = %[1]s\nkdc_tcp_listen = %[1]s\n[realms]\n%[2]s = {\ndatabase_name = DIR/principal\nkey_stash_file = DIR/stash\n"+
		"supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal\n}\n[logging]\nkdc = STDERR\n", address, other)})
	env := []string{"KRB5_KDC_PROFILE=" + filepath.Join(dir, "kdc.conf")}
	there := func(name string, args ...string) {
		t.Helper()
		_, err := r.Kerberos(t.Context(), env, name, append([]string{"-r", other}, args...)...)
		testcheck.Must(t, err)
	}
	there("kdb5_util", "-P", "of the database", "create", "-s")
	there("kadmin.local", "addprinc", "-randkey", service)
	const trust = "krbtgt/" + other + "@" + testcluster.Realm
	there("kadmin.local", "addprinc", "-pw", "of both", trust)
	r.admin(t, "addprinc", "-pw", "of both", trust)

	ctx, cancel := context.WithCancel(context.Background()) // the test's own context ends before its cleanup
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, err := r.Kerberos(ctx, env, "krb5kdc", "-n", "-r", other, "-P", filepath.Join(dir, "pid")); ctx.Err() == nil {
			t.Logf("the second KDC has ended: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	testcheck.Eventually(t, time.Minute, "the second KDC listens", func() (bool, any) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil, err
	})
	realms := fmt.Sprintf("[realms]\n %s = {\n kdc = %s\n }\n", other, address)
	for name, c := range map[string]struct{ domains, realm string }{
		"by the domain": {domains: " .other.org = " + other + "\n"},
		"by the caller": {realm: other},
	} {
		conf := r.config(t, "[realms]\n", realms, "[domain_realm]\n", "[domain_realm]\n"+c.domains)
		ticket, _, err := login(t, Options{Principal: "loader", Keytab: r.Keytab("loader"), Config: conf}).Ticket(t.Context(), service, c.realm)
		if err != nil || ticket.Realm != other || ticket.SName.PrincipalNameString() != service {
			t.Errorf("%s: a ticket of %s: %v", name, ticket.Realm, err)
		}
	}
}
