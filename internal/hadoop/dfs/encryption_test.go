package dfs

import (
	"bytes"
	"crypto/aes"
	"math/big"
	"testing"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"

	"google.golang.org/protobuf/encoding/protowire"
)

// plainCTR encrypts byte by byte, with the counter as a big number, according to the definition.
func plainCTR(t *testing.T, key, iv, p []byte, off int64) []byte {
	block, err := aes.NewCipher(key)
	testcheck.Must(t, err)
	out := make([]byte, len(p))
	most := new(big.Int).Lsh(big.NewInt(1), 128)
	var counter, stream [16]byte
	for i := range p {
		at := off + int64(i)
		n := new(big.Int).SetBytes(iv)
		n.Mod(n.Add(n, big.NewInt(at/16)), most).FillBytes(counter[:])
		block.Encrypt(stream[:], counter[:])
		out[i] = p[i] ^ stream[at%16]
	}
	return out
}

// TestCipher compares the key stream at any offset with the definition, with counters that overflow into the upper half and past the
// end.
func TestCipher(t *testing.T) {
	r := testcheck.Rand(t)
	ivs := [][]byte{make([]byte, 16), bytes.Repeat([]byte{0xff}, 16), append(bytes.Repeat([]byte{0}, 8), bytes.Repeat([]byte{0xff}, 8)...),
		append(bytes.Repeat([]byte{0xff}, 15), 0xfe), append(bytes.Repeat([]byte{7}, 8), bytes.Repeat([]byte{0xff}, 8)...)}
	for range 200 {
		iv := make([]byte, 16)
		for i := range iv {
			iv[i] = byte(r.Uint32())
		}
		ivs = append(ivs, iv)
	}
	for _, iv := range ivs {
		key := make([]byte, 16+16*r.IntN(2))
		for i := range key {
			key[i] = byte(r.Uint32())
		}
		c, err := (&Encryption{Suite: AESCTR, Protocol: EncryptionZones, IV: iv}).Cipher(key)
		testcheck.Must(t, err)
		for _, off := range []int64{0, 1, 15, 16, 17, 1 << 20, 1<<40 + int64(r.IntN(1000)), 1<<62 + int64(r.IntN(100))} {
			p := make([]byte, r.IntN(70))
			for i := range p {
				p[i] = byte(r.Uint32())
			}
			got := make([]byte, len(p))
			s := c.At(off)
			cut := r.IntN(len(p) + 1)
			s.XORKeyStream(got[:cut], p[:cut])
			s.XORKeyStream(got[cut:], p[cut:])
			if want := plainCTR(t, key, iv, p, off); !bytes.Equal(got, want) {
				t.Fatalf("iv %x at %d: %x, want %x", iv, off, got, want)
			}
		}
	}
}

// TestEncryptionIsRefused checks that other encryption than AES/CTR in encryption zones is refused.
func TestEncryptionIsRefused(t *testing.T) {
	iv := make([]byte, 16)
	for name, e := range map[string]*Encryption{
		"SM4": {Suite: 3, Protocol: 2, IV: iv}, "a protocol of later": {Suite: 2, Protocol: 3, IV: iv}, "a short IV": {Suite: 2, Protocol: 2, IV: iv[:15]}, "nothing": {},
	} {
		if _, err := e.Cipher(iv); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := (&Encryption{Suite: AESCTR, Protocol: EncryptionZones, IV: iv}).Cipher(iv[:5]); err == nil {
		t.Error("a key of five bytes: no error")
	}
	m := frames.AppendNumber(frames.AppendNumber(nil, 1, 2), 2, 2)
	for field, text := range map[protowire.Number]string{3: "edek", 4: "iv", 5: "k1", 6: "k1@0"} {
		m = frames.AppendBytes(m, field, text)
	}
	if e := parseEncryption(m); e.Suite != 2 || e.Protocol != 2 || string(e.Key) != "edek" || string(e.IV) != "iv" || e.KeyName != "k1" || e.KeyVersion != "k1@0" {
		t.Errorf("%+v", e)
	}
}
