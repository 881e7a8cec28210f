package datatransfer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// request is an OpReadBlockProto with a token, after version and operation.
func request(identifier, password string) []byte {
	bytesField := func(dst []byte, n protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(dst, n, protowire.BytesType), v)
	}
	token := bytesField(bytesField(nil, 1, []byte(identifier)), 2, []byte(password))
	block := bytesField(nil, 1, []byte("BP-1"))
	base := bytesField(bytesField(nil, 1, block), 2, token)
	header := bytesField(nil, 1, base)
	return protowire.AppendBytes([]byte{0, 28, opReadBlock}, bytesField(nil, 1, header))
}

// TestRequests takes the token out of requests, however they come.
func TestRequests(t *testing.T) {
	whole := request("identifier", "secret")
	for n := range whole {
		if _, ok, err := parseRequest(whole[:n]); ok || err != nil {
			t.Fatalf("%d bytes: %v %v", n, ok, err)
		}
	}
	got, ok, err := parseRequest(append(whole, "more"...))
	if !ok || err != nil || got.pool != "BP-1" || string(got.identifier) != "identifier" || string(got.password) != "secret" {
		t.Errorf("%+v %v %v", got, ok, err)
	}
	for name, p := range map[string][]byte{
		"another version":   {0, 27, opReadBlock, 0},
		"another operation": {0, 28, 82, 0},
		"a lying length":    {0, 28, opReadBlock, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"no token":          {0, 28, opReadBlock, 0},
		"no varint":         append([]byte{0, 28, opReadBlock}, bytes.Repeat([]byte{0xff}, 11)...),
	} {
		if _, ok, err := parseRequest(p); ok || err == nil {
			t.Errorf("%s: %v %v", name, ok, err)
		}
	}
}

// pair are the two ends of a connection.
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

// answering is a DataNode that answers a login with messages that are given, whatever it hears.
func answering(t testing.TB, answers ...message) net.Conn {
	client, server := pair(t)
	t.Cleanup(func() { client.Close() })
	go func() {
		defer server.Close()
		var begin [4]byte
		io.ReadFull(server, begin[:])
		if binary.BigEndian.Uint32(begin[:]) != magic {
			return
		}
		for _, a := range answers {
			if _, err := readMessage(server); err != nil {
				return
			}
			if _, err := server.Write(a.append(nil)); err != nil {
				return
			}
		}
	}()
	return client
}

// TestRefusals are DataNodes that refuse a login, or are not what they say.
func TestRefusals(t *testing.T) {
	challenge := message{payload: []byte(`realm="0",nonce="abc",qop="auth",charset=utf-8,algorithm=md5-sess`)}
	forgot := false
	for name, tt := range map[string]struct {
		answers []message
		want    string
		is      error
	}{
		"a key that is not known":     {[]message{{status: statusUnknownKey}}, "does not know the key", ErrUnknownKey},
		"a token that is too old":     {[]message{challenge, {status: statusBadToken}}, "refuses the block token", ErrToken},
		"a refusal":                   {[]message{challenge, {status: statusError}}, "the DataNode refuses", nil},
		"the end":                     {nil, "dfs.data.transfer.protection", nil},
		"the end after the challenge": {[]message{challenge}, "dfs.data.transfer.protection", nil},
		"a server without the key":    {[]message{challenge, {payload: []byte("rspauth=00")}}, "does not know the password", nil},
	} {
		c := New(answering(t, tt.answers...), Options{UnknownKey: func() { forgot = true }})
		_, err := c.Write(request("identifier", "s3cr3t"))
		if err == nil || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !forgot {
		t.Error("a key that is not known is not forgotten")
	}
	if _, err := New(nil, Options{}).Read(make([]byte, 1)); err == nil {
		t.Error("read before a request")
	}
}

// FuzzLogin feeds what a DataNode may send: the login ends with an error, since the proof cannot be made.
func FuzzLogin(f *testing.F) {
	f.Add((&message{payload: []byte(`nonce="a",qop="auth-conf",cipher="rc4"`)}).append(nil), (&message{payload: []byte("rspauth=1")}).append(nil))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, []byte{})
	req := request("identifier", "s3cr3t")
	f.Fuzz(func(t *testing.T, first, second []byte) {
		client, server := net.Pipe()
		defer client.Close()
		go func() {
			defer server.Close()
			go io.Copy(io.Discard, server)
			server.Write(first)
			server.Write(second)
		}()
		if _, err := New(client, Options{}).Write(req); err == nil {
			t.Error("logged in")
		}
	})
}
