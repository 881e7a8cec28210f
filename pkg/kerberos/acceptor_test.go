package kerberos

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/asnAppTag"
	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

const ours = "OURS.TEST"

// serviceKeys returns the keytab of a service, with several key types and a key of another service.
func serviceKeys(t testing.TB) (path string, kt *keytab.Keytab) {
	t.Helper()
	kt = keytab.New()
	for _, e := range []struct {
		name string
		kvno uint8
		of   int32
	}{{"HTTP/localhost", 2, etypeID.AES256_CTS_HMAC_SHA1_96}, {"HTTP/localhost", 2, etypeID.RC4_HMAC}, {"HTTP/localhost", 2, etypeID.AES128_CTS_HMAC_SHA256_128}, {"hbase/localhost", 2, etypeID.AES256_CTS_HMAC_SHA1_96}} {
		if err := kt.AddEntry(e.name, ours, "password of "+e.name, time.Now(), e.kvno, e.of); err != nil {
			t.Fatal(err)
		}
	}
	b, err := kt.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "service.keytab")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, kt
}

// forged describes a token as a KDC and a client would make it.
type forged struct {
	user, realm, service string
	etype                int32
	kvno                 int
	start, end           time.Duration // from now
	flags                uint32        // of GSS-API
	ticket               func(*messages.EncTicketPart)
	auth                 func(*types.Authenticator)
}

func name(s string) types.PrincipalName { return types.NewPrincipalName(1, s) }

// token returns the Kerberos token without SPNEGO, its request, and the session key.
func (f forged) token(t testing.TB, kt *keytab.Keytab) ([]byte, *messages.APReq, types.EncryptionKey) {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	if f.service == "" {
		f.service = "HTTP/localhost"
	}
	if f.etype == 0 {
		f.etype, f.kvno = etypeID.AES256_CTS_HMAC_SHA1_96, 2
	}
	if f.end == 0 {
		f.end = time.Hour
	}
	ticket, key, err := messages.NewTicket(name(f.user), f.realm, name(f.service), ours, types.NewKrbFlags(), kt, f.etype, f.kvno, now, now.Add(f.start), now.Add(f.end), now.Add(f.end))
	if err != nil {
		t.Fatal(err)
	}
	if f.ticket != nil {
		if err := ticket.DecryptEncPart(kt, nil); err != nil {
			t.Fatal(err)
		}
		part := ticket.DecryptedEncPart
		f.ticket(&part)
		b, err := asn1.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		of, _, err := kt.GetEncryptionKey(name(f.service), ours, f.kvno, f.etype)
		if err != nil {
			t.Fatal(err)
		}
		if ticket.EncPart, err = crypto.GetEncryptedData(asn1tools.AddASNAppTag(b, asnAppTag.EncTicketPart), of, keyusage.KDC_REP_TICKET, f.kvno); err != nil {
			t.Fatal(err)
		}
	}
	auth, err := types.NewAuthenticator(f.realm, name(f.user))
	if err != nil {
		t.Fatal(err)
	}
	sum := contextFlags()
	sum[20] |= byte(f.flags)
	auth.Cksum = types.Checksum{CksumType: chksumtype.GSSAPI, Checksum: sum}
	if f.auth != nil {
		f.auth(&auth)
	}
	req, err := messages.NewAPReq(ticket, key, auth)
	if err != nil {
		t.Fatal(err)
	}
	req.Authenticator = auth
	body, err := req.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return gss(t, gssapi.OIDKRB5.OID(), []byte(apRequest), body), &req, key
}

func gss(t testing.TB, oid asn1.ObjectIdentifier, parts ...[]byte) []byte {
	t.Helper()
	b, err := asn1.Marshal(oid)
	if err != nil {
		t.Fatal(err)
	}
	return asn1tools.AddASNAppTag(slices.Concat(b, slices.Concat(parts...)), 0)
}

// offered returns a token in the frame of SPNEGO, for the first of some mechanisms.
func offered(t testing.TB, token []byte, mechs ...asn1.ObjectIdentifier) []byte {
	t.Helper()
	b, err := asn1.Marshal(struct {
		Mechs []asn1.ObjectIdentifier `asn1:"explicit,tag:0"`
		Token []byte                  `asn1:"explicit,optional,omitempty,tag:2"`
	}{mechs, token})
	if err == nil {
		b, err = asn1.Marshal(asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: b})
	}
	if err != nil {
		t.Fatal(err)
	}
	return gss(t, gssapi.OIDSPNEGO.OID(), b)
}

var ntlm = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 311, 2, 2, 10}

const from = "127.0.0.1:4711"

// TestAccept checks that a client with a ticket for this service is accepted under the ticket's name, once for each token.
func TestAccept(t *testing.T) {
	path, kt := serviceKeys(t)
	seen := &Seen{}
	a, err := NewAcceptor(path, "HTTP", seen)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(a.Names(), " "); got != "HTTP/localhost@"+ours {
		t.Errorf("callers ask tickets for %s", got)
	}
	krb, windows := gssapi.OIDKRB5.OID(), gssapi.OIDMSLegacyKRB5.OID()
	for text, f := range map[string]forged{
		"ann@" + ours:       {user: "ann", realm: ours},
		"ann/admin@" + ours: {user: "ann/admin", realm: ours},
		"bob@" + ours:       {user: "bob", realm: ours, etype: etypeID.AES128_CTS_HMAC_SHA256_128, kvno: 2},
		"ann@OTHER.TEST":    {user: "ann", realm: "OTHER.TEST"},
		`ann\/admin@` + ours: {user: "x", realm: ours, ticket: func(p *messages.EncTicketPart) { p.CName.NameString = []string{"ann/admin"} },
			auth: func(a *types.Authenticator) { a.CName.NameString = []string{"ann/admin"} }},
		"far@OTHER.TEST": {user: "far", realm: "OTHER.TEST", ticket: func(p *messages.EncTicketPart) {
			p.Transited.Contents = []byte("THIRD.TEST")
			types.SetFlag(&p.Flags, flags.TransitedPolicyChecked)
		}},
		"here@" + ours: {user: "here", realm: ours, ticket: func(p *messages.EncTicketPart) {
			p.CAddr = types.HostAddresses{{AddrType: 2, Address: []byte{127, 0, 0, 1}}}
		}},
	} {
		for i, frame := range []func([]byte) []byte{
			func(b []byte) []byte { return b },
			func(b []byte) []byte { return offered(t, b, krb) },
			func(b []byte) []byte { return offered(t, b, windows, krb, ntlm) },
		} {
			token, _, _ := f.token(t, kt)
			who, reply, err := a.Accept(frame(token), from)
			if err != nil || who != text || (i == 0) != (reply == nil) {
				t.Errorf("%s, frame %d: %q %x %v", text, i, who, reply, err)
			}
			for _, again := range [][]byte{frame(token), token, offered(t, token, krb)} {
				if who, _, err := a.Accept(again, from); who != "" || !errors.Is(err, ErrSeen) || !errors.Is(err, ErrRefused) {
					t.Errorf("%s, frame %d: a token that came before: %q %v", text, i, who, err)
				}
			}
		}
	}
	// Another acceptor of the same service, as after the keytab is read again.
	token, _, _ := forged{user: "ann", realm: ours}.token(t, kt)
	if _, _, err := a.Accept(token, from); err != nil {
		t.Fatal(err)
	}
	b, err := NewAcceptor(path, "HTTP", seen)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Accept(token, from); !errors.Is(err, ErrSeen) {
		t.Errorf("after the keytab was read again: %v", err)
	}
}

// TestRefuse checks that clients without a valid token of their own are refused: the error, for the log, has the reason, and the caller gets no
// token.
func TestRefuse(t *testing.T) {
	path, kt := serviceKeys(t)
	a, err := NewAcceptor(path, "HTTP", &Seen{})
	if err != nil {
		t.Fatal(err)
	}
	stranger := keytab.New()
	if err := stranger.AddEntry("HTTP/localhost", ours, "a guess", time.Now(), 2, etypeID.AES256_CTS_HMAC_SHA1_96); err != nil {
		t.Fatal(err)
	}
	older := keytab.New()
	if err := older.AddEntry("HTTP/localhost", ours, "password of HTTP/localhost", time.Now(), 1, etypeID.AES256_CTS_HMAC_SHA1_96); err != nil {
		t.Fatal(err)
	}
	good, _, _ := forged{user: "ann", realm: ours}.token(t, kt)
	for text, tt := range map[string]struct {
		f    forged
		keys *keytab.Keytab
		want string
	}{
		"another's realm":       {forged{user: "ann", realm: "OTHER.TEST", auth: func(a *types.Authenticator) { a.CRealm = ours }}, kt, "is another one in its authenticator"},
		"another's name":        {forged{user: "ann", realm: ours, auth: func(a *types.Authenticator) { a.CName = name("root") }}, kt, "authenticator is of another than its ticket"},
		"expired":               {forged{user: "ann", realm: ours, start: -2 * time.Hour, end: -time.Hour}, kt, "its ticket has expired"},
		"of tomorrow":           {forged{user: "ann", realm: ours, start: 24 * time.Hour, end: 48 * time.Hour}, kt, "not valid yet"},
		"an old authenticator":  {forged{user: "ann", realm: ours, auth: func(a *types.Authenticator) { a.CTime = a.CTime.Add(-Skew - time.Minute) }}, kt, ErrSkew.Error()},
		"a clock that is ahead": {forged{user: "ann", realm: ours, auth: func(a *types.Authenticator) { a.CTime = a.CTime.Add(Skew + time.Minute) }}, kt, ErrSkew.Error()},
		"for another service":   {forged{user: "ann", realm: ours, service: "hbase/localhost"}, kt, `"hbase/localhost@OURS.TEST" with a key of version 2 and encryption type 18, which is not in keytab`},
		"with an RC4 key":       {forged{user: "ann", realm: ours, etype: etypeID.RC4_HMAC, kvno: 2}, kt, "encryption type 23, which is not in keytab"},
		"another key":           {forged{user: "ann", realm: ours}, stranger, "is of another key, or the token was changed"},
		"another version":       {forged{user: "ann", realm: ours, etype: etypeID.AES256_CTS_HMAC_SHA1_96, kvno: 1}, older, "callers use another name of this host, or the keytab is old"},
		"through other realms":  {forged{user: "ann", realm: "OTHER.TEST", ticket: func(p *messages.EncTicketPart) { p.Transited.Contents = []byte("THIRD.TEST") }}, kt, "through other realms"},
		"from elsewhere": {forged{user: "ann", realm: ours, ticket: func(p *messages.EncTicketPart) {
			p.CAddr = types.HostAddresses{{AddrType: 2, Address: []byte{10, 0, 0, 1}}}
		}}, kt, "other addresses"},
		"of nobody": {forged{user: "x", realm: ours, ticket: func(p *messages.EncTicketPart) { p.CName.NameString = []string{} }, auth: func(a *types.Authenticator) { a.CName.NameString = []string{} }}, kt, "its ticket has no client"},
	} {
		token, _, _ := tt.f.token(t, tt.keys)
		who, reply, err := a.Accept(token, from)
		if who != "" || reply != nil || !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %q %x %v", text, who, reply, err)
		}
	}
	for text, token := range map[string][]byte{
		"nothing": nil, "NTLM": []byte("NTLMSSP\x00\x01\x00\x00\x00"), "NTLM first": offered(t, good, ntlm, gssapi.OIDKRB5.OID()), "no mechanism": offered(t, good),
		"no token": offered(t, nil, gssapi.OIDKRB5.OID()), "an answer": gss(t, gssapi.OIDKRB5.OID(), []byte(apReply), good), "two": append(bytes.Clone(good), good...),
		"a long length": {0x60, 0x84, 0xff, 0xff, 0xff, 0xff}, "SPNEGO in SPNEGO": offered(t, offered(t, good, gssapi.OIDKRB5.OID()), gssapi.OIDKRB5.OID()),
	} {
		if who, reply, err := a.Accept(token, from); who != "" || reply != nil || !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %q %x %v", text, who, reply, err)
		}
	}
	for n := range good {
		if _, _, err := a.Accept(good[:n], from); !errors.Is(err, ErrRefused) {
			t.Fatalf("%d of %d bytes: %v", n, len(good), err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	krb := offered(t, good, gssapi.OIDKRB5.OID())
	for range 2000 {
		token := bytes.Clone(krb)
		for range 1 + rng.IntN(3) {
			token[rng.IntN(len(token))] ^= byte(1 + rng.IntN(255))
		}
		who, _, err := a.Accept(token, from)
		if err == nil && who != "ann@"+ours {
			t.Fatalf("a damaged token is %s's", who)
		}
	}
	for text, entries := range map[string][]string{"no service's": {"ann"}, "another service's": {"hbase/localhost"}} {
		kt := keytab.New()
		for _, e := range entries {
			if err := kt.AddEntry(e, ours, "x", time.Now(), 1, etypeID.AES256_CTS_HMAC_SHA1_96); err != nil {
				t.Fatal(err)
			}
		}
		b, err := kt.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "k")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := NewAcceptor(path, "HTTP", &Seen{}); err == nil || !strings.Contains(err.Error(), "HTTP/HOST (1 keys of others)") {
			t.Errorf("a keytab with %s keys: %v", text, err)
		}
	}
}

// TestProof checks that a caller that requests mutual authentication gets a token that requires the service's key.
func TestProof(t *testing.T) {
	path, kt := serviceKeys(t)
	a, err := NewAcceptor(path, "HTTP", &Seen{})
	if err != nil {
		t.Fatal(err)
	}
	token, req, key := forged{user: "ann", realm: ours, flags: gssapi.ContextFlagMutual}.token(t, kt)
	_, reply, err := a.Accept(token, from)
	if err != nil {
		t.Fatal(err)
	}
	oid, rest, err := framed(reply)
	if err != nil || !oid.Equal(gssapi.OIDKRB5.OID()) || string(rest[:2]) != apReply {
		t.Fatalf("%v %x %v", oid, rest, err)
	}
	var rep messages.APRep
	if err := rep.Unmarshal(rest[2:]); err != nil {
		t.Fatal(err)
	}
	plain, err := crypto.DecryptEncPart(rep.EncPart, key, keyusage.AP_REP_ENCPART)
	if err != nil {
		t.Fatal(err)
	}
	var part messages.EncAPRepPart
	if err := part.Unmarshal(plain); err != nil || !part.CTime.Equal(req.Authenticator.CTime.Truncate(time.Second)) || part.Cusec != req.Authenticator.Cusec || part.SequenceNumber == 0 {
		t.Errorf("%+v %v", part, err)
	}
}

// TestSeen checks that tokens are remembered as long as they are valid, and no longer, up to a limit.
func TestSeen(t *testing.T) {
	s := &Seen{most: 100}
	now := time.Unix(1_000_000_000, 0)
	key := func(n int) (k [16]byte) { k[0], k[1] = byte(n), byte(n>>8); return k }
	for n := range 100 {
		if err := s.first(key(n), now.Add(time.Duration(n-50)*6*time.Second), now); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.first(key(100), now, now); !errors.Is(err, ErrManySeen) {
		t.Errorf("one more: %v", err)
	}
	for n := range 100 {
		at := now.Add(time.Duration(n-50) * 6 * time.Second)
		if err := s.first(key(n), at, at.Add(Skew)); !errors.Is(err, ErrSeen) { // the last moment at which it is valid
			t.Fatalf("token %d: %v", n, err)
		}
	}
	later := now.Add(2*Skew + 2*time.Minute)
	if err := s.first(key(0), later, later); err != nil || s.n != 1 || len(s.byMin) != 1 {
		t.Errorf("%v, %d tokens of %d minutes", err, s.n, len(s.byMin))
	}
}

func FuzzAccept(f *testing.F) {
	path, kt := serviceKeys(f)
	a, err := NewAcceptor(path, "HTTP", &Seen{most: 1000})
	if err != nil {
		f.Fatal(err)
	}
	token, _, _ := forged{user: "ann", realm: ours}.token(f, kt)
	f.Add(token)
	f.Add(offered(f, token, gssapi.OIDKRB5.OID()))
	f.Add([]byte("NTLMSSP\x00"))
	f.Fuzz(func(t *testing.T, token []byte) {
		if who, _, err := a.Accept(token, from); err == nil && who != "ann@"+ours {
			t.Errorf("%q is accepted", who)
		}
	})
}
