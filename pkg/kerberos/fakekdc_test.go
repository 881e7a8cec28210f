package kerberos

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"bulkload/internal/test/testcheck"
)

// aes256 is the encryption type of all keys here.
const aes256 = etypeID.AES256_CTS_HMAC_SHA1_96

// fakeKDC returns the options of a login with a keytab at KDCs that give each request to a function, and send what it returns; nil: they send nothing,
// until the test ends.
func fakeKDC(t *testing.T, kdcs int, answer func(request []byte) []byte) Options {
	t.Helper()
	conf := "[libdefaults]\n default_realm = FAKE.TEST\n udp_preference_limit = 1\n[realms]\n FAKE.TEST = {\n"
	for range kdcs {
		l := testcheck.Serve(t, func(nc net.Conn) {
			var size [4]byte
			io.ReadFull(nc, size[:])
			request := make([]byte, binary.BigEndian.Uint32(size[:]))
			io.ReadFull(nc, request)
			if body := answer(request); body != nil {
				nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
				return
			}
			io.Copy(io.Discard, nc)
		})
		conf += fmt.Sprintf("  kdc = %s\n", l.Addr())
	}
	kt := keytab.New()
	testcheck.Must(t, kt.AddEntry("u", "FAKE.TEST", "secret", time.Now(), 1, aes256))
	keys, err := kt.Marshal()
	testcheck.Must(t, err)
	dir := t.TempDir()
	o := Options{Principal: "u", Keytab: filepath.Join(dir, "u.keytab")}
	testcheck.Must(t, os.WriteFile(o.Keytab, keys, 0o600))
	testcheck.Must(t, os.WriteFile(filepath.Join(dir, "krb5.conf"), []byte(conf+" }\n"), 0o600))
	o.Config, err = LoadConfig(filepath.Join(dir, "krb5.conf"))
	testcheck.Must(t, err)
	return o
}

// granting returns a login whose ticket is valid for a time. It renews a ticket as that of a ticket cache.
func granting(t *testing.T, o Options, life time.Duration) *Client {
	t.Helper()
	name := types.PrincipalName{NameType: 1, NameString: []string{"u"}}
	now := time.Now()
	s := &state{krb: client.NewWithKeytab("u", "FAKE.TEST", keytab.New(), o.Config.krb5, client.DisablePAFXFAST(true)), user: name, realm: "FAKE.TEST", tickets: map[asked]*grant{}}
	s.tgt = &grant{ticket: messages.Ticket{TktVNO: 5, Realm: "FAKE.TEST", SName: grantingTo("FAKE.TEST"), EncPart: types.EncryptedData{EType: aes256, Cipher: []byte("x")}},
		key: types.EncryptionKey{KeyType: aes256, KeyValue: make([]byte, 32)}, since: now, end: now.Add(life), till: now.Add(24 * time.Hour)}
	o.Keytab, s.cache.path = "", filepath.Join(t.TempDir(), "cache")
	testcheck.Must(t, os.WriteFile(s.cache.path, nil, 0o600))
	info, err := os.Stat(s.cache.path)
	testcheck.Must(t, err)
	s.cache.time = info.ModTime()
	c := &Client{options: o, principal: "u@FAKE.TEST", one: make(chan struct{}, 1), state: s}
	t.Cleanup(c.Close)
	return c
}

// reply returns an answer of a KDC with a ticket, whose encrypted part is the given bytes.
func reply(t *testing.T, kind int, service types.PrincipalName, cipher string) []byte {
	t.Helper()
	fields := messages.KDCRepFields{PVNO: 5, MsgType: kind, CRealm: "FAKE.TEST", CName: types.PrincipalName{NameType: 1, NameString: []string{"u"}},
		Ticket:  messages.Ticket{TktVNO: 5, Realm: "FAKE.TEST", SName: service, EncPart: types.EncryptedData{EType: aes256, KVNO: 1, Cipher: []byte("x")}},
		EncPart: types.EncryptedData{EType: aes256, KVNO: 1, Cipher: []byte(cipher)}}
	var body []byte
	var err error
	if kind == msgtype.KRB_AS_REP {
		body, err = (&messages.ASRep{KDCRepFields: fields}).Marshal()
	} else {
		body, err = (&messages.TGSRep{KDCRepFields: fields}).Marshal()
	}
	testcheck.Must(t, err)
	return body
}

// TestDamagedAnswers checks that an answer of a KDC that is damaged is an error that may pass, in each kind of exchange: the library slices its parts
// without a look at their lengths.
func TestDamagedAnswers(t *testing.T) {
	service := types.PrincipalName{NameType: 1, NameString: []string{"nn", "localhost"}}
	for what, cipher := range map[string]string{"short": "short", "not whole": "", "another protocol": "HTTP/1.1 400 Bad Request"} {
		answer := func(kind int, name types.PrincipalName) func([]byte) []byte {
			body := reply(t, kind, name, cipher)
			switch what {
			case "not whole":
				body = body[:len(body)-9]
			case "another protocol":
				body = []byte(cipher)
			}
			return func([]byte) []byte { return body }
		}
		check := func(exchange string, err error) {
			t.Helper()
			if !errors.Is(err, ErrNoKDC) || !strings.Contains(fmt.Sprint(err), "the answer of a KDC is damaged: see kdc in /") {
				t.Errorf("%s, %s: %v", what, exchange, err)
			}
		}
		_, err := Login(t.Context(), fakeKDC(t, 1, answer(msgtype.KRB_AS_REP, grantingTo("FAKE.TEST"))))
		check("login", err)
		o := fakeKDC(t, 1, answer(msgtype.KRB_TGS_REP, service))
		c := granting(t, o, time.Hour)
		_, _, err = c.Ticket(t.Context(), "nn/localhost", "")
		check("ticket", err)
		_, _, err = c.Ticket(t.Context(), "nn/localhost", "OTHER.TEST")
		check("ticket of another realm", err)
		c = granting(t, o, time.Hour)
		c.state.tgt.since = time.Now().Add(-24 * time.Hour)
		c.state.tgt.end = time.Now().Add(time.Minute)
		check("renewal", c.Renew(t.Context()))
		c.mu.Lock()
		c.keep() // renews at once, on a goroutine of its own
		c.mu.Unlock()
		testcheck.Eventually(t, 10*time.Second, "the renewal has failed", func() (bool, any) {
			c.mu.Lock()
			defer c.mu.Unlock()
			return time.Now().Before(c.state.tgt.pause), c.state.tgt.pause
		})
	}
}

// TestSilentKDCs checks that a login, a ticket and a renewal end with their contexts while KDCs do not answer, and that a client is closed without a wait.
func TestSilentKDCs(t *testing.T) {
	heard := make(chan struct{}, 99)
	o := fakeKDC(t, 3, func([]byte) []byte {
		heard <- struct{}{}
		return nil
	})
	why := errors.New("stopped")
	stopped := func(what string, do func(ctx context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(t.Context())
		began := time.Now()
		go func() {
			<-heard
			began = time.Now()
			cancel(why)
		}()
		if err := do(ctx); err != why || time.Since(began) > 3*time.Second {
			t.Errorf("%s: %v, %s after the stop", what, err, time.Since(began))
		}
	}
	stopped("login", func(ctx context.Context) error {
		_, err := Login(ctx, o)
		return err
	})
	c := granting(t, o, time.Hour)
	stopped("ticket", func(ctx context.Context) error {
		_, _, err := c.Ticket(ctx, "nn/localhost", "")
		return err
	})
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, _, err := c.Ticket(short, "nn/localhost", ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a ticket during another exchange: %v", err)
	}
	began := time.Now()
	c.Close()
	if d := time.Since(began); d > 3*time.Second {
		t.Errorf("it is closed after %s", d)
	}
	if end, _ := c.Until(); !end.IsZero() {
		t.Errorf("a closed client has a ticket until %s", end)
	}
	c = granting(t, o, time.Hour)
	c.state.tgt.since, c.state.tgt.end = time.Now().Add(-24*time.Hour), time.Now().Add(time.Minute)
	stopped("renewal", func(ctx context.Context) error { return c.Renew(ctx) })
	if _, _, err := c.Ticket(short, "nn/localhost", ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a ticket during a renewal: %v", err)
	}
}

// TestTicketsOutliveTheLogin checks that a ticket is used until its end, also after another login, while no KDC answers.
func TestTicketsOutliveTheLogin(t *testing.T) {
	o := fakeKDC(t, 1, func([]byte) []byte { return nil })
	c := granting(t, o, time.Hour)
	again := *c.state
	again.tickets = map[asked]*grant{}
	a, now := asked{service: "nn/localhost"}, time.Now()
	c.state.tickets[a] = &grant{key: types.EncryptionKey{KeyValue: []byte("key")}, since: now.Add(-24 * time.Hour), end: now.Add(time.Minute)}
	c.put(&again)
	if _, key, err := c.Ticket(t.Context(), "nn/localhost", ""); err != nil || string(key.KeyValue) != "key" {
		t.Errorf("key %q, %v", key.KeyValue, err)
	}
	if g, s := c.cached(a); s != &again || !g.fresh(time.Now()) {
		t.Error("the silent KDC is asked again at once")
	}
}
