package sasl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/pkg/kerberos"
)

// peer is the JDK's DIGEST-MD5 server.
type peer struct {
	in  io.Writer
	out io.Reader
}

func newPeer(t *testing.T, args ...string) *peer {
	t.Helper()
	return startPeer(t, nil, args...)
}

// startPeer starts a JVM with additional options.
func startPeer(t *testing.T, options []string, args ...string) *peer {
	t.Helper()
	source, err := filepath.Abs("../../../testdata/sasl/SaslPeer.java")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("java", slices.Concat([]string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}, options, []string{source}, args)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
		if t.Failed() {
			t.Logf("the server: %s", &stderr)
		}
	})
	return &peer{in, out}
}

func (p *peer) send(t *testing.T, data []byte) {
	t.Helper()
	if _, err := p.in.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)); err != nil {
		t.Fatal(err)
	}
}

// read returns nil when the server refuses.
func (p *peer) read(t *testing.T) []byte {
	t.Helper()
	var length [4]byte
	if _, err := io.ReadFull(p.out, length[:]); err != nil {
		t.Fatal(err)
	}
	n := binary.BigEndian.Uint32(length[:])
	if n == 1<<32-1 {
		return nil
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(p.out, data); err != nil {
		t.Fatal(err)
	}
	return data
}

// TestDigestMD5 tests against the JDK's server, at each quality: both sides authenticate each other, and pieces of many
// sizes are exchanged in both directions.
func TestDigestMD5(t *testing.T) {
	who := TokenCredentials([]byte("identifier \x00\xff of a token"), []byte("secret\x01"))
	for _, q := range kerberos.Qualities() {
		t.Run(q.String(), func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, "hdfs", "0", q.QOP(), who.Name, who.Password)
			c := DigestMD5(who, "hdfs", "0", nil)
			response, err := c.Step(p.read(t))
			if err != nil {
				t.Fatal(err)
			}
			p.send(t, response)
			if c.Done() {
				t.Error("done before the server has proven itself")
			}
			proof := p.read(t)
			if proof == nil {
				t.Fatal("the server refuses")
			}
			if _, err := c.Step(proof); err != nil {
				t.Fatal(err)
			}
			l := c.Layer()
			if !c.Done() || l.Quality() != q {
				t.Fatalf("done %v, quality %v", c.Done(), l.Quality())
			}
			for _, n := range []int{1, 7, 255, 4096, 40000, min(l.Most(), 65000)} {
				data := bytes.Repeat([]byte("data of a row, "), n/15+1)[:n]
				sealed := l.Seal(nil, data)
				if n > 15 && bytes.Contains(sealed, []byte("data of")) != (q != kerberos.Privacy) {
					t.Errorf("%d bytes: what is sealed does not look so", n)
				}
				p.send(t, sealed)
				back, err := l.Open(p.read(t))
				slices.Reverse(back)
				if err != nil || !bytes.Equal(back, data) {
					t.Fatalf("%d bytes came back as %d, %v", n, len(back), err)
				}
			}
			if q == kerberos.Authentication {
				return
			}
			// A piece that was altered or repeated is refused.
			for name, damage := range map[string]func([]byte) []byte{
				"altered": func(b []byte) []byte { b[3] ^= 1; return b },
				"short":   func(b []byte) []byte { return b[:9] },
				"empty":   func([]byte) []byte { return nil },
				"twice":   func(b []byte) []byte { b[len(b)-1]--; return b },
			} {
				sealed := l.Seal(nil, []byte("something to read"))
				p.send(t, sealed)
				if data, err := l.Open(damage(p.read(t))); err == nil {
					t.Errorf("%s: %q", name, data)
				}
				return // the layer is invalid now
			}
		})
	}
}

// TestDigestMD5Refusals checks exchanges that must not succeed.
func TestDigestMD5Refusals(t *testing.T) {
	who := Credentials{"user", "s3cr3t"}
	t.Run("another password", func(t *testing.T) {
		t.Parallel()
		p := newPeer(t, "hdfs", "0", "auth", who.Name, "another")
		response, err := DigestMD5(who, "hdfs", "0", nil).Step(p.read(t))
		if err != nil {
			t.Fatal(err)
		}
		p.send(t, response)
		if proof := p.read(t); proof != nil {
			t.Errorf("the server takes it: %s", proof)
		}
	})
	const challenge = `realm="0",nonce="abc",charset=utf-8,algorithm=md5-sess`
	for name, tt := range map[string]struct {
		challenge, proof string
		wanted           []kerberos.Quality
		err              string
	}{
		"a server that does not know the password": {challenge + `,qop="auth"`, "rspauth=00112233445566778899aabbccddeeff", nil, "does not know the password"},
		"a server without a proof":                 {challenge + `,qop="auth"`, "", nil, "does not know the password"},
		"less than wanted":                         {challenge + `,qop="auth"`, "", []kerberos.Quality{kerberos.Privacy, kerberos.Integrity}, "offers authentication, the configuration asks for privacy, integrity"},
		"no quality":                               {challenge, "", []kerberos.Quality{kerberos.Privacy}, "offers authentication"},
		"an unknown quality":                       {challenge + `,qop="auth-strange"`, "", nil, "want authentication"},
		"no cipher":                                {challenge + `,qop="auth-conf",cipher="3des"`, "", nil, "no cipher rc4"},
		"no nonce":                                 {`qop="auth"`, "", nil, "no nonce"},
		"another algorithm":                        {`nonce="x",algorithm=sha`, "", nil, "not md5-sess"},
		"a tiny buffer":                            {challenge + `,maxbuf=3`, "", nil, "no useful size"},
		"an open quote":                            {`nonce="abc`, "", nil, "quote is not closed"},
		"no value":                                 {`nonce`, "", nil, "without a value"},
		"too long":                                 {`nonce="` + strings.Repeat("a", 5000) + `"`, "", nil, "longer than any"},
	} {
		c := DigestMD5(who, "hdfs", "0", tt.wanted)
		_, err := c.Step([]byte(tt.challenge))
		if err == nil {
			_, err = c.Step([]byte(tt.proof))
		}
		if err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v", name, err)
		}
		if _, mismatch := errors.AsType[*kerberos.MismatchError](err); mismatch != strings.Contains(tt.err, "offers") {
			t.Errorf("%s: %T", name, err)
		}
		if err != nil && strings.Contains(err.Error(), who.Password) {
			t.Errorf("%s: the error shows the password", name)
		}
	}
}

// FuzzDigestMD5 processes arbitrary challenges: the client returns an error or a response.
func FuzzDigestMD5(f *testing.F) {
	f.Add([]byte(`realm="0",nonce="abc",qop="auth,auth-int,auth-conf",cipher="rc4",maxbuf=65536`), []byte("rspauth=12"), []byte("piece"))
	f.Add([]byte(`nonce=a,qop=auth-int`), []byte(``), []byte("0123456789\x00\x01\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, challenge, proof, piece []byte) {
		c := DigestMD5(Credentials{"user", "s3cr3t"}, "hdfs", "0", nil)
		if _, err := c.Step(challenge); err != nil {
			return
		}
		if _, err := c.Step(proof); err == nil {
			t.Error("proven without the password")
		}
		if _, err := c.Layer().Open(piece); err == nil && c.Layer().Quality() != kerberos.Authentication {
			t.Error("opened without the key")
		}
	})
}
