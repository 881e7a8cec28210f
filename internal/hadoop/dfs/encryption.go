package dfs

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"math/bits"

	"bulkload/internal/hadoop/frames"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of hdfs.proto, Hadoop 3.4.
const (
	// EncryptionZones is the only encryption protocol (CryptoProtocolVersionProto).
	EncryptionZones = 2
	// AESCTR is the cipher suite AES/CTR/NoPadding (CipherSuiteProto).
	AESCTR = 2
)

// Encryption holds the encryption parameters of a file in an encryption zone, a FileEncryptionInfoProto.
type Encryption struct {
	Suite, Protocol uint64
	Key             []byte // the data key, encrypted by the zone's key
	IV              []byte
	KeyName         string // of the zone's key
	KeyVersion      string
}

func parseEncryption(m []byte) *Encryption {
	text := func(field protowire.Number) []byte {
		b, _ := frames.Bytes(m, field)
		return b
	}
	return &Encryption{Suite: frames.Number(m, 1), Protocol: frames.Number(m, 2), Key: text(3), IV: text(4), KeyName: string(text(5)), KeyVersion: string(text(6))}
}

// Cipher encrypts and decrypts the bytes of a file by their offset. Any number of goroutines may use it.
type Cipher struct {
	block cipher.Block
	iv    [aes.BlockSize]byte
}

// Cipher returns the cipher of a file, given its decrypted data key.
func (e *Encryption) Cipher(key []byte) (*Cipher, error) {
	if e.Suite != AESCTR || e.Protocol != EncryptionZones || len(e.IV) != aes.BlockSize {
		return nil, fmt.Errorf("the file's encryption (suite %d, protocol %d, IV of %d bytes) is not supported", e.Suite, e.Protocol, len(e.IV))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	c := &Cipher{block: block}
	copy(c.iv[:], e.IV)
	return c, nil
}

// At returns the key stream from an offset of the file on. The counter is the IV, as a big-endian number of 128 bits, plus the
// number of the cipher block (AesCtrCryptoCodec.calculateIV, Hadoop 3.4).
func (c *Cipher) At(off int64) cipher.Stream {
	var counter [aes.BlockSize]byte
	low, carry := bits.Add64(binary.BigEndian.Uint64(c.iv[8:]), uint64(off)/aes.BlockSize, 0)
	binary.BigEndian.PutUint64(counter[8:], low)
	binary.BigEndian.PutUint64(counter[:8], binary.BigEndian.Uint64(c.iv[:8])+carry)
	s := cipher.NewCTR(c.block, counter[:])
	if skip := off % aes.BlockSize; skip > 0 {
		var b [aes.BlockSize]byte
		s.XORKeyStream(b[:skip], b[:skip])
	}
	return s
}
