package kerberos

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/subtle"
	"fmt"
	"hash"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/crypto/common"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/types"
)

// protector encrypts and signs the messages of one direction, with keys that are derived once from a session key and a usage (RFC 3961,
// section 5.3): AES with ciphertext stealing, and HMAC, over the plain text (RFC 3962) or over the ciphertext (RFC 8009). gokrb5 derives
// the keys again for each message. A protector belongs to one goroutine.
type protector struct {
	block     cipher.Block
	mode      cipher.BlockMode
	restart   interface{ SetIV([]byte) } // of mode; nil: mode is created again for each message
	newMode   func(cipher.Block, []byte) cipher.BlockMode
	integrity hash.Hash // for encrypted messages
	checksum  hash.Hash // for messages that are only signed
	overData  bool      // integrity covers the plain text
	size      int       // bytes of an HMAC
	sum       []byte
	tail      [aes.BlockSize]byte // a buffer that saves an allocation per message
}

const confounderLen = aes.BlockSize

var zeroIV [aes.BlockSize]byte

// newProtector derives the keys of a usage. newMode creates the mode of one direction: CBC encryption or decryption.
func newProtector(key types.EncryptionKey, usage uint32, newMode func(cipher.Block, []byte) cipher.BlockMode) (*protector, error) {
	switch {
	case key.KeyType == etypeID.RC4_HMAC:
		return nil, fmt.Errorf("kerberos: the session key is of arcfour-hmac, whose tokens (RFC 4757) are not supported: give the service a key of AES")
	case !isAES(key.KeyType):
		return nil, fmt.Errorf("kerberos: the session key is of encryption type %d, which is not supported: give the service a key of AES", key.KeyType)
	}
	e, err := crypto.GetEtype(key.KeyType)
	if err != nil {
		return nil, fmt.Errorf("kerberos: encryption type %d of the session key: %w", key.KeyType, err)
	}
	var keys [3][]byte
	for i, label := range [][]byte{common.GetUsageKe(usage), common.GetUsageKi(usage), common.GetUsageKc(usage)} {
		if keys[i], err = e.DeriveKey(key.KeyValue, label); err != nil {
			return nil, fmt.Errorf("kerberos: session key of encryption type %d: %w", key.KeyType, err)
		}
	}
	p := &protector{newMode: newMode, integrity: hmac.New(e.GetHashFunc(), keys[1]), checksum: hmac.New(e.GetHashFunc(), keys[2]), size: e.GetHMACBitLength() / 8,
		overData: key.KeyType == etypeID.AES256_CTS_HMAC_SHA1_96 || key.KeyType == etypeID.AES128_CTS_HMAC_SHA1_96}
	if p.block, err = aes.NewCipher(keys[0]); err != nil {
		return nil, err
	}
	p.mode = newMode(p.block, zeroIV[:])
	p.restart, _ = p.mode.(interface{ SetIV([]byte) })
	return p, nil
}

// overhead returns the number of bytes that encryption adds to a message.
func (p *protector) overhead() int { return confounderLen + p.size }

// crypt runs the mode over whole blocks, starting with a zero IV.
func (p *protector) crypt(b []byte) {
	if p.restart != nil {
		p.restart.SetIV(zeroIV[:])
	} else {
		p.mode = p.newMode(p.block, zeroIV[:])
	}
	p.mode.CryptBlocks(b, b)
}

// mac returns an HMAC of the parts, valid until the next one.
func (p *protector) mac(h hash.Hash, parts ...[]byte) []byte {
	h.Reset()
	for _, b := range parts {
		h.Write(b)
	}
	p.sum = h.Sum(p.sum[:0])
	return p.sum[:p.size]
}

// encrypt seals the bytes of dst from an offset on in place: the filled confounder and the plain text. It appends the HMAC.
func (p *protector) encrypt(dst []byte, from int) []byte {
	b := dst[from:]
	if p.overData {
		sum := p.mac(p.integrity, b)
		p.steal(b)
		return append(dst, sum...)
	}
	p.steal(b)
	return append(dst, p.mac(p.integrity, zeroIV[:], b)...)
}

// decrypt opens a message in place and returns its plain text, a part of b.
func (p *protector) decrypt(b []byte) (plain []byte, ok bool) {
	cut := len(b) - p.size
	if cut < confounderLen+aes.BlockSize {
		return nil, false
	}
	b, sum := b[:cut], b[cut:]
	if p.overData {
		p.unsteal(b)
		return b[confounderLen:], hmac.Equal(sum, p.mac(p.integrity, b))
	}
	if !hmac.Equal(sum, p.mac(p.integrity, zeroIV[:], b)) {
		return nil, false
	}
	p.unsteal(b)
	return b[confounderLen:], true
}

// steal encrypts by CBC with ciphertext stealing (RFC 3962, section 5): the last two blocks are swapped, and the last is as long as that of
// the plain text. b has more than one block.
func (p *protector) steal(b []byte) {
	full := len(b) &^ (aes.BlockSize - 1)
	p.crypt(b[:full])
	before := b[full-aes.BlockSize : full]
	if full == len(b) {
		swap(b[full-2*aes.BlockSize:full-aes.BlockSize], before)
		return
	}
	last := p.tail[:]
	clear(last[copy(last, b[full:]):])
	subtle.XORBytes(last, last, before)
	copy(b[full:], before)
	p.block.Encrypt(before, last)
}

// unsteal undoes steal.
func (p *protector) unsteal(b []byte) {
	full := len(b) &^ (aes.BlockSize - 1)
	last := b[full-aes.BlockSize : full]
	if full == len(b) {
		swap(b[full-2*aes.BlockSize:full-aes.BlockSize], last)
		p.crypt(b)
		return
	}
	plain, rest := p.tail[:], b[full:]
	p.block.Decrypt(plain, last)
	copy(last, rest)
	copy(last[len(rest):], plain[len(rest):])
	subtle.XORBytes(rest, rest, plain[:len(rest)])
	p.crypt(b[:full])
}

func swap(a, b []byte) {
	var t [aes.BlockSize]byte
	copy(t[:], a)
	copy(a, b)
	copy(b, t[:])
}
