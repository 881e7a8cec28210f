package hadooprpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"bulkload/internal/hadoop/frames"
	"bulkload/pkg/kerberos"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestService checks the service of a principal.
func TestService(t *testing.T) {
	for principal, want := range map[string][2]string{
		"nn/_HOST@EXAMPLE.COM": {"nn/a.example.com", "EXAMPLE.COM"},
		"nn/other@B":           {"nn/other", "B"},
		"nn/_HOST":             {"nn/a.example.com", ""},
	} {
		if s, r, err := Service(principal, "A.example.com"); s != want[0] || r != want[1] || err != nil {
			t.Errorf("%s: %s %s %v", principal, s, r, err)
		}
	}
	for _, principal := range []string{"", "nn", "nn@REALM", "/_HOST@R", "nn/@R"} {
		if s, _, err := Service(principal, "a"); err == nil {
			t.Errorf("%q: %s", principal, s)
		}
	}
}

// TestGlobbed checks patterns of principals as Hadoop's GlobPattern understands them.
func TestGlobbed(t *testing.T) {
	const own = "nn/a.example.com@EXAMPLE.COM"
	for pattern, want := range map[string]bool{
		"*": true, own: true, "nn/*@EXAMPLE.COM": true, "{hdfs,nn}/?.example.com@*": true, "nn/[a-c].example.com@EXAMPLE.COM": true,
		"nn/*": true, "nn/*@OTHER.COM": false, "hdfs/*": false, "nn/[!a]*": false, "nn/aXexample.com@*": false, "nn": false,
		"hdfs/x," + own: false, own + ",hdfs/x": false, "{hdfs,{dn,nn}}/*": true, `nn/a\.example.com@*`: true, `nn/\*`: false, "nn/[^a]*": false, "nn/a}*": false,
	} {
		if got, err := globbed(pattern, own); got != want || err != nil {
			t.Errorf("%s: %t, %v", pattern, got, err)
		}
	}
	for _, pattern := range []string{"nn/[a", "nn/[a[b]*", "{nn,hdfs/*", `nn/*\`} {
		if _, err := globbed(pattern, own); err == nil {
			t.Errorf("%s is a pattern", pattern)
		}
	}
	if fits, err := globbed("nn/a,b", "nn/a,b"); !fits || err != nil {
		t.Errorf("a comma is not itself: %v", err)
	}
}

// answerPacket returns a packet of a server.
func answerPacket(call int32, status uint64, class, text string, body []byte) []byte {
	h := frames.AppendNumber(nil, 1, uint64(uint32(call)))
	h = frames.AppendNumber(h, 2, status)
	if class != "" {
		h = frames.AppendBytes(frames.AppendBytes(h, 4, class), 5, text)
	}
	if body == nil {
		return appendPacket(nil, h)
	}
	return appendPacket(nil, h, body)
}

// pair returns the two ends of a connection.
func pair(t testing.TB) (client, server net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return client, server
}

// answering returns a connection to a server that sends packets, whatever it receives.
func answering(t testing.TB, packets ...[]byte) net.Conn {
	client, server := pair(t)
	t.Cleanup(func() { client.Close() })
	go func() {
		defer server.Close()
		defer io.Copy(io.Discard, server)
		defer server.(*net.TCPConn).CloseWrite()
		for _, p := range packets {
			if _, err := server.Write(p); err != nil {
				return
			}
		}
	}()
	return client
}

var testToken = &kerberos.Token{Identifier: []byte("identifier"), Password: []byte("s3cr3t")}

// TestLoginRefusals checks servers that refuse a login or misbehave.
func TestLoginRefusals(t *testing.T) {
	sasl1 := func(m saslMessage) []byte { return answerPacket(callSASL, 0, "", "", m.append(nil)) }
	offer := func(logins ...login) []byte {
		var b []byte
		b = frames.AppendNumber(b, 2, uint64(stateNegotiate))
		for _, l := range logins {
			one := frames.AppendBytes(nil, 1, l.method)
			one = frames.AppendBytes(one, 2, l.mechanism)
			one = frames.AppendBytes(one, 3, l.protocol)
			one = frames.AppendBytes(one, 4, l.server)
			one = frames.AppendBytes(one, 5, l.challenge)
			b = frames.AppendBytes(b, 4, one)
		}
		return answerPacket(callSASL, 0, "", "", b)
	}
	token := login{"TOKEN", "DIGEST-MD5", "", "default", []byte(`realm="default",nonce="abc",qop="auth",charset=utf-8,algorithm=md5-sess`)}
	for name, tt := range map[string]struct {
		packets [][]byte
		want    string
	}{
		"no security":                 {[][]byte{sasl1(saslMessage{state: stateSuccess})}, "simple authentication"},
		"Kerberos alone":              {[][]byte{offer(login{method: "KERBEROS", mechanism: "GSSAPI"})}, "offers KERBEROS, and there is a token alone"},
		"a server that believes":      {[][]byte{offer(login{method: "SIMPLE"})}, "simple authentication"},
		"nothing":                     {[][]byte{offer()}, "offers , and"},
		"an exception":                {[][]byte{answerPacket(callSASL, 2, "org.apache.hadoop.ipc.RpcServerException", "no", nil)}, "RpcServerException: no"},
		"another call":                {[][]byte{answerPacket(7, 0, "", "", []byte{0x10, 0})}, "answers call 7"},
		"another state":               {[][]byte{sasl1(saslMessage{state: stateChallenge})}, "answers CHALLENGE"},
		"the end":                     {nil, "EOF"},
		"a packet that is too long":   {[][]byte{{0x7f, 0xff, 0xff, 0xff}}, "is longer than"},
		"success without a proof":     {[][]byte{offer(token), sasl1(saslMessage{state: stateSuccess})}, "does not know the password"},
		"success with a wrong proof":  {[][]byte{offer(token), sasl1(saslMessage{state: stateSuccess, token: []byte("rspauth=00")})}, "does not know the password"},
		"a refusal of the response":   {[][]byte{offer(token), answerPacket(callSASL, 2, "javax.security.sasl.SaslException", "token is expired", nil)}, "TOKEN: javax.security.sasl.SaslException: token is expired"},
		"an offer again":              {[][]byte{offer(token), offer(token)}, "answers NEGOTIATE in a login"},
		"less protection than is due": {[][]byte{offer(token)}, "offers authentication, the configuration asks for privacy (hadoop.rpc.protection)"},
	} {
		o := Options{Token: testToken, Protocol: ClientProtocol, QualityKey: "hadoop.rpc.protection"}
		if strings.Contains(name, "less protection") {
			o.Qualities = []kerberos.Quality{kerberos.Privacy}
		}
		_, err := Dial(t.Context(), answering(t, tt.packets...), "host", o)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v", name, err)
		}
		if name == "no security" && !errors.Is(err, ErrSimple) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stopped"))
	if _, err := Dial(ctx, answering(t), "host", Options{Token: testToken}); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("a context that has ended: %v", err)
	}
}

// TestLibrary checks that the header and context that a client library writes are
// discarded, in pieces of any size.
func TestLibrary(t *testing.T) {
	begin := appendPacket([]byte(header+"\x00"), requestHeader(callContext, []byte("client")), connectionContext("another", ClientProtocol))
	for _, step := range []int{1, 3, 7, 11, 1000} {
		client, server := net.Pipe()
		got := make(chan []byte)
		go func() {
			all, _ := io.ReadAll(server)
			got <- all
		}()
		l := (&Conn{Conn: client}).Library()
		for rest := append(bytes.Clone(begin), "a call"...); len(rest) > 0; {
			n := min(step, len(rest))
			if m, err := l.Write(rest[:n]); m != n || err != nil {
				t.Fatal(m, err)
			}
			rest = rest[n:]
		}
		client.Close()
		if all := <-got; string(all) != "a call" {
			t.Errorf("steps of %d: the server gets %q", step, all)
		}
	}
	for _, p := range []string{"GET / HTTP/1.1\r\n", header + "\xdf", header + "\x00\xff\xff\xff\xff"} {
		if _, err := (&Conn{}).Library().Write([]byte(p)); err == nil {
			t.Errorf("%q is swallowed", p)
		}
	}
}

// FuzzDial runs logins with arbitrary data of a server: they must fail, since the proof
// cannot be forged.
func FuzzDial(f *testing.F) {
	f.Add(answerPacket(callSASL, 0, "", "", (&saslMessage{state: stateNegotiate}).append(nil)))
	f.Add([]byte{0, 0, 0, 1, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := Dial(t.Context(), answering(t, data), "host", Options{Token: testToken}); err == nil {
			t.Error("logged in")
		}
	})
}

// FuzzAnswer parses arbitrary packets.
func FuzzAnswer(f *testing.F) {
	f.Add(answerPacket(1, 0, "", "", protowire.AppendString(nil, "x")))
	f.Fuzz(func(t *testing.T, packet []byte) {
		if a, err := parseAnswer(packet); err == nil {
			a.sasl()
		}
		parseToken(packet)
	})
}

// TestOffers checks servers that require a login, and one that does not.
func TestOffers(t *testing.T) {
	answer := func(s state, methods ...string) []byte {
		b := frames.AppendNumber(nil, 2, uint64(s))
		for _, m := range methods {
			b = frames.AppendBytes(b, 4, frames.AppendBytes(frames.AppendBytes(frames.AppendBytes(frames.AppendBytes(nil, 1, m), 2, ""), 3, ""), 4, ""))
		}
		return answerPacket(callSASL, 0, "", "", b)
	}
	for want, packet := range map[string][]byte{
		"[TOKEN KERBEROS] <nil>": answer(stateNegotiate, "TOKEN", "KERBEROS"),
		"[] <nil>":               answer(stateNegotiate, "TOKEN", "SIMPLE"),
	} {
		got, err := Offers(t.Context(), answering(t, packet))
		if fmt.Sprint(got, " ", err) != want {
			t.Errorf("%v %v, want %s", got, err, want)
		}
	}
	if got, err := Offers(t.Context(), answering(t, answer(stateSuccess))); len(got) > 0 || err != nil {
		t.Error(got, err)
	}
}
