package datatransfer

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"bulkload/internal/hadoop/frames"
)

// token returns a TokenProto.
func token(identifier, password string) []byte {
	return frames.AppendBytes(frames.AppendBytes(nil, 1, identifier), 2, password)
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

// answering returns a connection to a DataNode that answers a login with the given messages, whatever it
// receives.
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

// TestRefusals checks DataNodes that refuse a login or misbehave.
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
		_, err := LogIn(answering(t, tt.answers...), token("identifier", "s3cr3t"), Options{UnknownKey: func() { forgot = true }})
		if err == nil || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !forgot {
		t.Error("a key that is not known is not forgotten")
	}
}

// FuzzLogin runs logins with arbitrary messages of a DataNode: they must fail, since the proof cannot be
// forged.
func FuzzLogin(f *testing.F) {
	f.Add((&message{payload: []byte(`nonce="a",qop="auth-conf",cipher="rc4"`)}).append(nil), (&message{payload: []byte("rspauth=1")}).append(nil))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, []byte{})
	proof := token("identifier", "s3cr3t")
	f.Fuzz(func(t *testing.T, first, second []byte) {
		client, server := net.Pipe()
		defer client.Close()
		go func() {
			defer server.Close()
			go io.Copy(io.Discard, server)
			server.Write(first)
			server.Write(second)
		}()
		if _, err := LogIn(client, proof, Options{}); err == nil {
			t.Error("logged in")
		}
	})
}
