package testcluster

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/types"
)

// The lifetime of tickets is limited for users only, and the KDC ends with the cluster.
func TestRealm(t *testing.T) {
	const life, renew = time.Minute, 5 * time.Minute
	c := StartKDC(t, Security{Kerberos: true, TicketLife: life, RenewLife: renew})
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

// kinit gets a ticket with the lifetime in krb5.conf, with MIT's own client.
func kinit(t *testing.T, c *Cluster, name string) *credentials.Credential {
	t.Helper()
	path, err := kerberosTool("kinit")
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(t.TempDir(), "ccache")
	env := append(c.clientEnvironment(), "KRB5CCNAME=FILE:"+cache)
	argv := []string{path, "-k", "-t", c.Keytab(name), Principal(name)}
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
