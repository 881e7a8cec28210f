package spool

import (
	"fmt"
	"hash/crc32"
	"strconv"
)

// Digest identifies the content of a stream: its length and its checksum (CRC32C).
type Digest struct {
	Bytes  int64 `json:"bytes"`
	CRC32C Sum   `json:"crc32c"`
}

// String returns the digest for messages.
func (d Digest) String() string {
	return fmt.Sprintf("%d bytes with the checksum %s", d.Bytes, d.CRC32C)
}

// add returns the digest of the stream extended by p.
func (d Digest) add(p []byte) Digest {
	return Digest{d.Bytes + int64(len(p)), Sum(crc32.Update(uint32(d.CRC32C), castagnoli, p))}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum is a CRC32C. Its text is eight hexadecimal digits.
type Sum uint32

func (s Sum) String() string { return fmt.Sprintf("%08x", uint32(s)) }

// MarshalText returns the digits.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the digits.
func (s *Sum) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 16, 32)
	if err != nil || len(text) != 8 {
		return fmt.Errorf("%q is not a checksum", text)
	}
	*s = Sum(n)
	return nil
}
