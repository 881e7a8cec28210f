package kerberos

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/test/testcluster"
)

// TestManyAsk checks that concurrent goroutines always get tickets, although all tickets end every few seconds: with a keytab, which is used to log
// in again, and with a ticket cache, which this package renews and kinit then rewrites.
func TestManyAsk(t *testing.T) {
	if testing.Short() {
		t.Skip("outlives tickets of 9 s")
	}
	// A ticket is renewed in the last sixth of its life: a KDC that takes longer on a busy machine lets it end.
	const life = 9 * time.Second
	r := startRealm(t, testcluster.Security{TicketLife: life, RenewLife: 3 * life})
	for _, service := range []string{hdfsService, "hbase/localhost"} {
		r.admin(t, "modprinc", "-maxlife", "6s", service)
	}
	cache := filepath.Join(r.dir, "cache")
	kinit := func() {
		// Another file replaces it, as programs do that keep tickets renewed.
		r.kinit(t, "FILE:"+cache+".new", "-l", "9s", "-r", "27s", "-k", "-t", r.Keytab("loader"), "loader")
		if err := os.Rename(cache+".new", cache); err != nil {
			t.Error(err)
		}
	}
	kinit()
	conf := r.config(t)
	for name, o := range map[string]Options{"keytab": {Principal: "loader", Keytab: r.Keytab("loader")}, "cache": {Cache: cache}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "cache" {
				kinit()
			}
			o.Config = conf
			c := login(t, o)
			first, _ := c.Until()
			ctx, cancel := context.WithTimeout(t.Context(), 4*life)
			defer cancel()
			var g sync.WaitGroup
			var mu sync.Mutex
			distinct := map[string]bool{}
			for i := range 8 {
				service := []string{hdfsService, "hbase/localhost"}[i%2]
				g.Go(func() {
					// They ask at the same moments, some thousand times in a ticket's life. Without pauses each would use a whole processor.
					for moments := time.NewTicker(5 * time.Millisecond); ctx.Err() == nil; <-moments.C {
						ticket, _, err := c.Ticket(context.WithoutCancel(ctx), service, []string{"", testcluster.Realm}[i/2%2])
						if err != nil {
							t.Errorf("%s: %v", service, err)
							return
						}
						if _, _, err := c.Initiate(context.WithoutCancel(ctx), service, ""); err != nil {
							t.Errorf("%s: %v", service, err)
							return
						}
						mu.Lock()
						distinct[string(ticket.EncPart.Cipher)] = true
						mu.Unlock()
					}
				})
			}
			if name == "cache" { // this package renews it for 27 s, and kinit rewrites it before that
				g.Go(func() {
					select {
					case <-time.After(2 * life):
						kinit()
					case <-t.Context().Done():
					}
				})
			}
			g.Wait()
			if last, _ := c.Until(); !last.After(first.Add(life)) {
				t.Errorf("the ticket-granting ticket ended at %s, and does at %s now", first, last)
			}
			if len(distinct) < 6 {
				t.Errorf("%d tickets within %s", len(distinct), 4*life)
			}
		})
	}
}

// TestCacheLives uses ticket caches that other programs renew or replace, or that expire.
func TestCacheLives(t *testing.T) {
	r := startRealm(t, testcluster.Security{})
	conf := r.config(t)
	cache := filepath.Join(r.dir, "cache")
	kinit := func(args ...string) { t.Helper(); r.kinit(t, "FILE:"+cache, args...) }
	kinit("-l", "1h", "-r", "1d", "-k", "-t", r.Keytab("loader"), "loader")
	c := login(t, Options{Cache: cache, Config: conf})
	end, renewable := c.Until()
	if time.Until(end) > time.Hour || time.Until(renewable) < 20*time.Hour {
		t.Errorf("it ends at %s, renewable until %s", end, renewable)
	}
	// ended makes all tickets of the client expire, as if time had passed.
	ended := func(till time.Duration) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.state.tgt.end, c.state.tgt.till = time.Now().Add(-time.Second), time.Now().Add(till)
		c.state.tickets = map[asked]*grant{}
	}
	ended(-time.Second)
	for _, want := range []error{ErrNotRenewed, ErrNotRenewed, ErrExpired, ErrExpired} {
		if want == ErrExpired {
			c.state.lapsed = time.Now().Add(-grace)
		}
		if _, _, err := c.Ticket(t.Context(), hdfsService, ""); !errors.Is(err, want) || !strings.Contains(err.Error(), "has expired: run kinit") {
			t.Errorf("it has expired: %v, want %v", err, want)
		}
	}
	kinit("-R")
	if _, _, err := c.Ticket(t.Context(), hdfsService, ""); err != nil {
		t.Errorf("another program has renewed it: %v", err)
	}
	if later, _ := c.Until(); !later.After(time.Now()) {
		t.Errorf("renewed, it ends at %s", later)
	}
	// The ticket is due, and no other program has renewed it, so this package does.
	c.mu.Lock()
	c.state.tgt.since, c.state.tgt.end = time.Now().Add(-time.Hour), time.Now().Add(time.Minute)
	c.state.tickets = map[asked]*grant{}
	c.mu.Unlock()
	if _, _, err := c.Ticket(t.Context(), hdfsService, ""); err != nil {
		t.Error(err)
	}
	if later, _ := c.Until(); time.Until(later) < 10*time.Minute {
		t.Errorf("renewed by this package, it ends at %s", later)
	}
	ended(-time.Second)
	kinit("-k", "-t", r.Keytab("nobody"), "nobody")
	if _, _, err := c.Ticket(t.Context(), hdfsService, ""); err == nil || !strings.Contains(err.Error(), "is of nobody@BULKLOAD.TEST now, and was of loader@BULKLOAD.TEST when the job began") {
		t.Errorf("another user's: %v", err)
	}
	if _, err := Login(t.Context(), Options{Cache: cache, Config: conf, Principal: "loader"}); err == nil || !strings.Contains(err.Error(), "is of nobody@BULKLOAD.TEST, not of loader@BULKLOAD.TEST") {
		t.Errorf("another user's, at login: %v", err)
	}
	if err := os.Remove(cache); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Ticket(t.Context(), hdfsService, ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("kdestroy: %v", err)
	}
}

// TestKeytabRefused checks that a keytab that the KDC refuses after the login is final after a while, and that a KDC that is away is not.
func TestKeytabRefused(t *testing.T) {
	r := startRealm(t, testcluster.Security{})
	c := login(t, Options{Principal: "loader", Keytab: r.Keytab("loader"), Config: r.config(t)})
	ask := func(attributes string, lapsed time.Time) error {
		t.Helper()
		r.admin(t, "modprinc", attributes, "loader")
		c.mu.Lock()
		c.state.tgt.end, c.state.tickets, c.state.lapsed = time.Now().Add(-time.Second), map[asked]*grant{}, lapsed
		c.mu.Unlock()
		_, _, err := c.Ticket(t.Context(), hdfsService, "")
		return err
	}
	if err := ask("-allow_tix", time.Time{}); !errors.Is(err, ErrNotRenewed) || !strings.Contains(err.Error(), "locked or has expired") {
		t.Errorf("refused at first: %v", err)
	}
	if err := ask("-allow_tix", time.Now().Add(-grace)); !errors.Is(err, ErrExpired) {
		t.Errorf("refused for long: %v", err)
	}
	if err := ask("+allow_tix", time.Now().Add(-grace)); err != nil {
		t.Errorf("accepted again: %v", err)
	}
	c.options.Config = r.config(t, "kdc = 127.0.0.1:", "kdc = 127.0.0.1:1 # ")
	if err := ask("+allow_tix", time.Now().Add(-grace)); !errors.Is(err, ErrNoKDC) || errors.Is(err, ErrExpired) {
		t.Errorf("no KDC: %v", err)
	}
}

// FuzzCache reads any bytes as a ticket cache, and checks that the result is a login or an error, without more memory than the bytes.
func FuzzCache(f *testing.F) {
	const principal = "\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01R\x00\x00\x00\x01u"
	const ticket = principal + principal + "\x00\x12\x00\x00\x00\x02kk" + "0123456789abcdef\x00flag" + "\x00\x00\x00\x01\x00\x02\x00\x00\x00\x01a" + "\x00\x00\x00\x00" + "\x00\x00\x00\x01t\x00\x00\x00\x00"
	whole := "\x05\x04\x00\x00" + principal + ticket
	if err := checkCache([]byte(whole)); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(whole))
	for i := range whole[4:] {
		damaged := []byte(whole)
		damaged[i+4] = 0x7f
		f.Add(damaged)
		f.Add([]byte(whole[:i+4]))
	}
	path := filepath.Join(f.TempDir(), "cache")
	conf := &Config{}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := openCache(path, conf); err == nil && s.krb == nil {
			t.Error("neither a login nor an error")
		}
	})
}

// TestRefusedTicket changes the key of a service. A ticket that the service has accepted, and now refuses, is replaced by one for the present key;
// a ticket that it has never accepted is not.
func TestRefusedTicket(t *testing.T) {
	r := startRealm(t, testcluster.Security{})
	c := login(t, Options{Principal: "loader", Keytab: r.Keytab("loader"), Config: r.config(t)})
	initiate := func() *Context {
		s, _, err := c.Initiate(t.Context(), hdfsService, "")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first, other := initiate(), initiate()
	before, key, err := c.Ticket(t.Context(), hdfsService, "")
	if err != nil {
		t.Fatal(err)
	}
	r.admin(t, "cpw", "-randkey", hdfsService)
	version := func() int {
		now, _, err := c.Ticket(t.Context(), hdfsService, "")
		if err != nil {
			t.Fatal(err)
		}
		return now.EncPart.KVNO - before.EncPart.KVNO
	}
	if first.Refused() || version() != 0 {
		t.Error("a ticket that the service has never accepted is replaced")
	}
	if _, err := first.Open(accepted(t, key, 7, []byte("offer"), false), false); err != nil {
		t.Fatal(err)
	}
	if !other.Refused() || version() != 1 {
		t.Error("a ticket that the service does not accept any more is not replaced")
	}
	if !first.Refused() || version() != 1 || initiate().Refused() {
		t.Error("a ticket is replaced that was not refused")
	}
}
