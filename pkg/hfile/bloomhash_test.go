package hfile

import "testing"

// TestBloomHashes checks the hashes against values published by their authors.
func TestBloomHashes(t *testing.T) {
	for _, c := range []struct {
		name string
		hash bloomHash
		key  string
		seed uint32
		want uint32
	}{
		{"jenkins", jenkins, "", 0, 0xdeadbeef},
		{"jenkins", jenkins, "Four score and seven years ago", 0, 0x17770551},
		{"jenkins", jenkins, "Four score and seven years ago", 1, 0xcd628161},
		{"murmur3", murmur3, "", 1, 0x514e28b7},
		{"murmur3", murmur3, "hello", 0, 0x248bfa47},
		{"murmur3", murmur3, "hello, world", 0, 0x149bbb7f},
	} {
		if got := c.hash([]byte(c.key), c.seed); got != c.want {
			t.Errorf("%s of %q, seed %d: %08x, want %08x", c.name, c.key, c.seed, got, c.want)
		}
	}
}
