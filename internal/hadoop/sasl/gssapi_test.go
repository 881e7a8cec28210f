package sasl

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
	"bulkload/pkg/kerberos"
)

// gssPeer is the JDK's GSSAPI server, with keys of services, and a logged-in client.
type gssPeer struct {
	*peer
	login *kerberos.Client
}

// keyTypes are services with keys of one type each, so that session keys have that type too.
var keyTypes = map[string]string{
	"sha1-128": "aes128-cts-hmac-sha1-96", "sha1-256": "aes256-cts-hmac-sha1-96",
	"sha2-128": "aes128-cts-hmac-sha256-128", "sha2-256": "aes256-cts-hmac-sha384-192",
}

func newGSSPeer(t *testing.T) *gssPeer {
	t.Helper()
	r := testcluster.StartKDC(t, testcluster.Security{Kerberos: true})
	keytab := filepath.Join(t.TempDir(), "services.keytab")
	for name, types := range keyTypes {
		for _, query := range [][]string{{"addprinc", "-randkey", "-e", types + ":normal", name + "/localhost"}, {"ktadd", "-norandkey", "-k", keytab, name + "/localhost"}} {
			if _, err := r.Kerberos(t.Context(), nil, "kadmin.local", query...); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A service key that differs from the KDC's.
	for _, query := range [][]string{{"addprinc", "-randkey", "stale/localhost"}, {"ktadd", "-norandkey", "-k", keytab, "stale/localhost"}, {"cpw", "-randkey", "stale/localhost"}} {
		if _, err := r.Kerberos(t.Context(), nil, "kadmin.local", query...); err != nil {
			t.Fatal(err)
		}
	}
	conf, err := kerberos.LoadConfig(r.Krb5Conf())
	if err != nil {
		t.Fatal(err)
	}
	login, err := kerberos.Login(t.Context(), kerberos.Options{Config: conf, Principal: "loader", Keytab: r.Keytab("loader")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(login.Close)
	return &gssPeer{startPeer(t, []string{"-Djava.security.krb5.conf=" + r.Krb5Conf()}, "GSSAPI", keytab), login}
}

// end ends an exchange.
func (p *gssPeer) end(t *testing.T) {
	t.Helper()
	if _, err := p.in.Write([]byte{0xff, 0xff, 0xff, 0xff}); err != nil {
		t.Fatal(err)
	}
}

// converse runs an exchange up to the server's agreement. A nil layer means that the server refuses.
func (p *gssPeer) converse(t *testing.T, service, qualities string, wanted []kerberos.Quality) (Layer, error) {
	t.Helper()
	ctx, token, err := p.login.Initiate(context.Background(), service+"/localhost", "")
	if err != nil {
		t.Fatal(err)
	}
	p.send(t, []byte(service+" "+qualities))
	c := GSSAPI(ctx, token, wanted)
	var challenge []byte
	for !c.Done() {
		response, err := c.Step(challenge)
		if err != nil {
			return nil, err
		}
		p.send(t, response)
		if challenge = p.read(t); challenge == nil {
			return nil, nil
		}
	}
	if who := string(challenge); who != "loader@"+testcluster.Realm {
		t.Errorf("the server knows the client as %q", who)
	}
	return c.Layer(), nil
}

// TestGSSAPI tests against the JDK's server, with session keys of each type, at each quality: both sides authenticate each
// other, and pieces of many sizes are exchanged in both directions.
func TestGSSAPI(t *testing.T) {
	p := newGSSPeer(t)
	for service := range keyTypes {
		for _, q := range kerberos.Qualities() {
			l, err := p.converse(t, service, q.QOP(), nil)
			if err != nil || l == nil {
				t.Fatalf("%s, %s: %v %v", service, q, l, err)
			}
			if l.Quality() != q {
				t.Errorf("%s: quality %s, not %s", service, l.Quality(), q)
			}
			sizes := []int{1, 7, 15, 16, 17, 31, 32, 33, 255, 4096, 40000, min(l.Most(), 65535)}
			for n := range 40 {
				sizes = append(sizes, 100+n*37)
			}
			var sealed []byte
			for _, n := range sizes {
				data := bytes.Repeat([]byte("data of a row, "), n/15+1)[:n]
				sealed = l.Seal(sealed[:0], data)
				if n > 15 && bytes.Contains(sealed, []byte("data of")) != (q != kerberos.Privacy) {
					t.Errorf("%s, %s, %d bytes: what is sealed does not look so", service, q, n)
				}
				p.send(t, sealed)
				answer := p.read(t)
				if answer == nil {
					t.Fatalf("%s, %s, %d bytes: the server refuses them", service, q, n)
				}
				back, err := l.Open(answer)
				slices.Reverse(back)
				if err != nil || !bytes.Equal(back, data) {
					t.Fatalf("%s, %s: %d bytes came back as %d, %v", service, q, n, len(back), err)
				}
			}
			p.end(t)
		}
	}
	t.Run("refusals", func(t *testing.T) { gssRefusals(t, p) })
}

// gssRefusals checks exchanges and pieces that one side must refuse.
func gssRefusals(t *testing.T, p *gssPeer) {
	for service := range keyTypes {
		for _, q := range []kerberos.Quality{kerberos.Integrity, kerberos.Privacy} {
			damagedPieces(t, p, service, q)
			piecesOutOfOrder(t, p, service, q)
		}
	}
	staleKey(t, p)
	qualitiesOffered(t, p)
	serverWithoutKey(t, p)
}

// damagedPieces checks that both sides refuse a piece that was altered or cut.
func damagedPieces(t *testing.T, p *gssPeer, service string, q kerberos.Quality) {
	for name, damage := range map[string]func([]byte) []byte{
		"altered": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"short":   func(b []byte) []byte { return b[:len(b)-1] },
		"header":  func(b []byte) []byte { return b[:9] },
		"empty":   func([]byte) []byte { return nil },
	} {
		for _, ours := range []bool{true, false} {
			l, err := p.converse(t, service, q.QOP(), nil)
			if err != nil {
				t.Fatal(err)
			}
			sealed := l.Seal(nil, []byte("something to read"))
			if !ours {
				p.send(t, damage(sealed))
				if data := p.read(t); data != nil {
					t.Errorf("%s, %s, %s: the server takes it: %d bytes", service, q, name, len(data))
				}
				continue
			}
			p.send(t, sealed)
			if data, err := l.Open(damage(p.read(t))); err == nil {
				t.Errorf("%s, %s, %s: %q", service, q, name, data)
			}
			p.end(t)
		}
	}
}

// piecesOutOfOrder checks that repeated and missing pieces are detected.
func piecesOutOfOrder(t *testing.T, p *gssPeer, service string, q kerberos.Quality) {
	l, err := p.converse(t, service, q.QOP(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var pieces [][]byte
	for range 3 {
		sealed := l.Seal(nil, []byte("something to read"))
		p.send(t, sealed)
		pieces = append(pieces, p.read(t))
	}
	if _, err := l.Open(bytes.Clone(pieces[0])); err != nil {
		t.Error(err)
	}
	for _, i := range []int{0, 2} {
		if data, err := l.Open(bytes.Clone(pieces[i])); err == nil {
			t.Errorf("%s, %s: piece %d out of order: %q", service, q, i, data)
		}
	}
	if _, err := l.Open(pieces[1]); err != nil {
		t.Error(err)
	}
	p.end(t)
}

// staleKey checks that a server whose key differs from the KDC's refuses the client.
func staleKey(t *testing.T, p *gssPeer) {
	if l, err := p.converse(t, "stale", "auth", nil); l != nil || err != nil {
		t.Errorf("a server with a stale key: %v %v", l, err)
	}
}

// qualitiesOffered checks that the client selects the best offered quality that is wanted, or refuses.
func qualitiesOffered(t *testing.T, p *gssPeer) {
	for _, tt := range []struct {
		offered string
		wanted  []kerberos.Quality
		want    kerberos.Quality
	}{
		{"auth,auth-int,auth-conf", nil, kerberos.Privacy}, {"auth,auth-int,auth-conf", []kerberos.Quality{kerberos.Authentication}, kerberos.Authentication},
		{"auth,auth-int", []kerberos.Quality{kerberos.Privacy, kerberos.Integrity}, kerberos.Integrity}, {"auth", []kerberos.Quality{kerberos.Privacy, kerberos.Integrity}, 0}, {"auth-conf", []kerberos.Quality{kerberos.Authentication}, 0},
	} {
		l, err := p.converse(t, "sha1-256", tt.offered, tt.wanted)
		if e, mismatch := errors.AsType[*kerberos.MismatchError](err); mismatch != (tt.want == 0) {
			t.Errorf("%s offered, %v wanted: %v", tt.offered, tt.wanted, err)
		} else if mismatch {
			if !slices.Equal(e.Wanted, tt.wanted) || len(e.Offered) != strings.Count(tt.offered, ",")+1 {
				t.Errorf("%s offered, %v wanted: %v", tt.offered, tt.wanted, e)
			}
			p.send(t, []byte("no token")) // the server waits for an answer
			if p.read(t) != nil {
				t.Error("the server takes nonsense")
			}
			continue
		}
		if l.Quality() != tt.want {
			t.Errorf("%s offered, %v wanted: %s", tt.offered, tt.wanted, l.Quality())
		}
		p.end(t)
	}
}

// serverWithoutKey checks that a server without the service's key is not authenticated.
func serverWithoutKey(t *testing.T, p *gssPeer) {
	ctx, token, err := p.login.Initiate(t.Context(), "sha1-256/localhost", "")
	if err != nil {
		t.Fatal(err)
	}
	c := GSSAPI(ctx, token, nil)
	if _, err := c.Step(nil); err != nil {
		t.Fatal(err)
	}
	forged := append([]byte{5, 4, 1, 0xff, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, binary.BigEndian.AppendUint32(nil, 1<<24|65536)...)
	if _, err := c.Step(append(forged, make([]byte, 12)...)); err == nil || c.Done() && err == nil {
		t.Errorf("a server without the key: %v", err)
	}
	if _, err := c.Step(nil); err == nil {
		t.Error("a challenge after the last one")
	}
	for _, first := range [][]byte{{0}, []byte("x")} {
		if _, err := GSSAPI(ctx, token, nil).Step(first); err == nil {
			t.Error("a server that speaks first")
		}
	}
}

// BenchmarkDigestMD5Layer measures the layers that protect data if DataNodes have no AES.
func BenchmarkDigestMD5Layer(b *testing.B) {
	for name, l := range map[string]Layer{"integrity": newSigned([16]byte{1}, maxPiece), "privacy": newEncrypted([16]byte{1}, maxPiece)} {
		for _, n := range []int{200, 64 << 10} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				data := make([]byte, n)
				var buf []byte
				b.SetBytes(int64(n))
				for b.Loop() {
					buf = l.Seal(buf[:0], data)
				}
			})
		}
	}
}
