package kerberos

import (
	"bytes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/types"
)

// sessionKeys returns a key of each supported type.
func sessionKeys() map[string]types.EncryptionKey {
	keys := map[string]types.EncryptionKey{}
	for id, size := range map[int32]int{17: 16, 18: 32, 19: 16, 20: 32} {
		e, _ := crypto.GetEtype(id)
		key := make([]byte, size)
		for i := range key {
			key[i] = byte(i*7) + byte(id)
		}
		keys[fmt.Sprintf("%d-%T", id, e)] = types.EncryptionKey{KeyType: id, KeyValue: key}
	}
	return keys
}

// acceptor returns a context of the acceptor, sufficient for its tokens.
func acceptor(t testing.TB, key types.EncryptionKey) *Context {
	t.Helper()
	out, err := newProtector(key, usageAcceptor, cipher.NewCBCEncrypter)
	if err != nil {
		t.Fatal(err)
	}
	return &Context{out: out, in: out}
}

// accepted returns a token in the form that the acceptor sends: Context.Seal marks its tokens as the initiator's.
func accepted(t testing.TB, key types.EncryptionKey, sequence uint64, data []byte, private bool) []byte {
	t.Helper()
	e, err := crypto.GetEtype(key.KeyType)
	if err != nil {
		t.Fatal(err)
	}
	header := make([]byte, headerLen)
	header[0], header[1], header[2], header[3] = 5, 4, flagAcceptor, 0xff
	binary.BigEndian.PutUint64(header[8:], sequence)
	if private {
		header[2] |= flagSealed
		_, sealed, err := e.EncryptMessage(key.KeyValue, append(bytes.Clone(data), header...), usageAcceptor)
		if err != nil {
			t.Fatal(err)
		}
		return append(header, sealed...)
	}
	sum, err := e.GetChecksumHash(key.KeyValue, append(bytes.Clone(data), header...), usageAcceptor)
	if err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint16(header[4:], uint16(len(sum)))
	return append(append(header, data...), sum...)
}

// TestTokens compares tokens of each key type and many sizes with gokrb5's encryption.
func TestTokens(t *testing.T) {
	for name, key := range sessionKeys() {
		e, _ := crypto.GetEtype(key.KeyType)
		s, err := newContext(key)
		if err != nil {
			t.Fatal(err)
		}
		sequence := uint64(1)<<32 - 3
		for _, private := range []bool{false, true} {
			for n := range 70 {
				data := bytes.Repeat([]byte("row "), n/4+1)[:n]
				token := s.Seal([]byte("before"), data, private)
				if string(token[:6]) != "before" || len(token) > 6+n+s.Overhead() {
					t.Fatalf("%s, %d bytes: %d", name, n, len(token))
				}
				token = token[6:]
				var got []byte
				if private {
					plain, err := e.DecryptMessage(key.KeyValue, token[headerLen:], usageInitiator)
					if err != nil || !bytes.Equal(plain[n:], token[:headerLen]) {
						t.Fatalf("%s, %d bytes: %v", name, n, err)
					}
					got = plain[:n]
				} else {
					header := bytes.Clone(token[:headerLen])
					size := int(binary.BigEndian.Uint16(header[4:]))
					header[4], header[5] = 0, 0
					got = token[headerLen : len(token)-size]
					if !e.VerifyChecksum(key.KeyValue, append(bytes.Clone(got), header...), token[len(token)-size:], usageInitiator) {
						t.Fatalf("%s, %d bytes: checksum", name, n)
					}
				}
				if !bytes.Equal(got, data) {
					t.Fatalf("%s, %d bytes: %q", name, n, got)
				}
				back, err := s.Open(accepted(t, key, sequence, data, private), private)
				if err != nil || !bytes.Equal(back, data) {
					t.Fatalf("%s, %d bytes from the acceptor: %q, %v", name, n, back, err)
				}
				sequence++
			}
		}
	}
}

// TestTokensRotated opens tokens in the form that SSPI sends.
func TestTokensRotated(t *testing.T) {
	for name, key := range sessionKeys() {
		for _, n := range []int{1, 28, 1000} {
			s, _ := newContext(key)
			token := accepted(t, key, 0, []byte("something"), true)
			body := token[headerLen:]
			r := n % len(body)
			copy(body, append(bytes.Clone(body[len(body)-r:]), body[:len(body)-r]...))
			binary.BigEndian.PutUint16(token[6:], uint16(n))
			if data, err := s.Open(token, true); err != nil || string(data) != "something" {
				t.Errorf("%s, rotated by %d: %q, %v", name, n, data, err)
			}
		}
	}
}

// TestTokensRefused checks that changed, missing or repeated tokens, and tokens with less protection than agreed, are rejected.
func TestTokensRefused(t *testing.T) {
	for name, key := range sessionKeys() {
		for _, private := range []bool{false, true} {
			whole := accepted(t, key, 7, []byte("something to read"), private)
			for i := range whole {
				if i == 6 || i == 7 {
					continue // the rotation is not protected: a changed one is another form of the token
				}
				for bit := range 8 {
					s, _ := newContext(key)
					token := bytes.Clone(whole)
					token[i] ^= 1 << bit
					if data, err := s.Open(token, private); err == nil {
						t.Fatalf("%s: byte %d changed: %q", name, i, data)
					}
				}
			}
			for n := range whole {
				s, _ := newContext(key)
				if data, err := s.Open(bytes.Clone(whole[:n]), private); err == nil {
					t.Fatalf("%s: %d bytes: %q", name, n, data)
				}
			}
			s, _ := newContext(key)
			for i, step := range []struct {
				sequence uint64
				want     error
			}{{7, nil}, {8, nil}, {8, errSequence}, {7, errSequence}, {10, errSequence}, {9, nil}} {
				if _, err := s.Open(accepted(t, key, step.sequence, nil, private), private); err != step.want {
					t.Errorf("%s: token %d: %v", name, i, err)
				}
			}
		}
		s, _ := newContext(key)
		if _, err := s.Open(accepted(t, key, 0, []byte("open"), false), true); err != errUnsealed {
			t.Errorf("%s: a token that is not sealed: %v", name, err)
		}
		own := s.Seal(nil, []byte("our own, sent back"), true)
		if _, err := s.Open(own, true); err != errToken {
			t.Errorf("%s: our own token: %v", name, err)
		}
	}
	for _, id := range []int32{1, 3, 16, 23, 999} {
		if _, err := newContext(types.EncryptionKey{KeyType: id, KeyValue: make([]byte, 16)}); err == nil {
			t.Errorf("a session key of type %d is taken", id)
		}
	}
}

// TestTokensAllocate checks that tokens cause no allocation once buffers exist.
func TestTokensAllocate(t *testing.T) {
	for name, key := range sessionKeys() {
		s, _ := newContext(key)
		a := acceptor(t, key)
		var buf []byte
		data := make([]byte, 5000)
		for _, private := range []bool{false, true} {
			if n := testing.AllocsPerRun(50, func() { buf = s.Seal(buf[:0], data, private) }); n > 0 {
				t.Errorf("%s: Seal allocates %v times", name, n)
			}
			sequence := uint64(0)
			o, _ := newContext(key)
			if n := testing.AllocsPerRun(50, func() {
				buf = sealAsAcceptor(a, buf[:0], sequence, data, private)
				sequence++
				if _, err := o.Open(buf, private); err != nil {
					t.Fatal(err)
				}
			}); n > 0 {
				t.Errorf("%s: Open allocates %v times", name, n)
			}
		}
	}
}

// sealAsAcceptor is Seal with the acceptor's flag.
func sealAsAcceptor(a *Context, dst []byte, sequence uint64, data []byte, private bool) []byte {
	var header [headerLen]byte
	header[0], header[1], header[2], header[3] = 5, 4, flagAcceptor, 0xff
	binary.BigEndian.PutUint64(header[8:], sequence)
	if private {
		header[2] |= flagSealed
		dst = append(dst, header[:]...)
		from := len(dst)
		dst = append(dst, make([]byte, confounderLen)...)
		return a.out.encrypt(append(append(dst, data...), header[:]...), from)
	}
	dst = append(append(dst, header[:]...), data...)
	sum := a.out.mac(a.out.checksum, data, dst[:headerLen])
	binary.BigEndian.PutUint16(dst[4:], uint16(len(sum)))
	return append(dst, sum...)
}

// FuzzOpen checks that any bytes made without the key are rejected.
func FuzzOpen(f *testing.F) {
	for _, key := range sessionKeys() {
		f.Add(accepted(f, key, 3, []byte("something"), true), uint8(key.KeyType), true)
		f.Add(accepted(f, key, 3, nil, false), uint8(key.KeyType), false)
	}
	f.Add([]byte("\x05\x04\x03\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00"), uint8(20), true)
	f.Fuzz(func(t *testing.T, token []byte, kind uint8, private bool) {
		for _, key := range sessionKeys() {
			if key.KeyType != int32(kind) {
				continue
			}
			s, err := newContext(key)
			if err != nil {
				t.Fatal(err)
			}
			data, err := s.Open(bytes.Clone(token), private)
			if err == nil && len(data) > len(token) {
				t.Errorf("%d bytes of a token of %d", len(data), len(token))
			}
		}
	})
}

func BenchmarkTokens(b *testing.B) {
	for name, key := range sessionKeys() {
		for _, n := range []int{200, 64 << 10} {
			for _, private := range []bool{false, true} {
				what := map[bool]string{false: "integrity", true: "privacy"}[private]
				data := make([]byte, n)
				b.Run(fmt.Sprintf("%s/%s/%d/seal", name, what, n), func(b *testing.B) {
					s, _ := newContext(key)
					b.SetBytes(int64(n))
					var buf []byte
					for b.Loop() {
						buf = s.Seal(buf[:0], data, private)
					}
				})
				b.Run(fmt.Sprintf("%s/%s/%d/open", name, what, n), func(b *testing.B) {
					s, _ := newContext(key)
					whole := accepted(b, key, 0, data, private)
					buf := make([]byte, len(whole))
					b.SetBytes(int64(n))
					for b.Loop() {
						copy(buf, whole)
						s.opened = false
						if _, err := s.Open(buf, private); err != nil {
							b.Fatal(err)
						}
					}
				})
				if e, _ := crypto.GetEtype(key.KeyType); private {
					b.Run(fmt.Sprintf("%s/%s/%d/gokrb5", name, what, n), func(b *testing.B) {
						b.SetBytes(int64(n))
						for b.Loop() {
							e.EncryptMessage(key.KeyValue, data, usageInitiator)
						}
					})
				}
			}
		}
	}
}
