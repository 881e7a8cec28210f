package charset

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"bulkload/internal/test/race"
)

// walked returns the positions in p where characters begin, according to x/text.
func walked(c *Charset, x *xtext, p []byte) []bool {
	starts := make([]bool, len(p)+1)
	starts[len(p)] = true
	for i := 0; i < len(p); {
		_, size := x.next(p[i:])
		if lax(c, p[i:]) {
			size = 1
		}
		starts[i] = true
		i += size
	}
	return starts
}

// checkStarts compares Starts, block by block, with x/text.
func checkStarts(t *testing.T, c *Charset, x *xtext, p []byte) {
	t.Helper()
	want := walked(c, x, p)
	skip := 0
	for at := 0; at < len(p); at += blockSize {
		// Only the bytes that Starts may read, by its documentation.
		starts, next := c.Starts(p[at:min(at+blockSize+Ahead, len(p))], skip)
		for i := range blockSize {
			if got := (starts>>i)&1 != 0; got != (at+i < len(p) && want[at+i]) {
				t.Fatalf("%s: byte %d of % x: %v, skip %d", c.name, at+i, p, got, skip)
			}
		}
		skip = next
	}
	if skip != 0 {
		t.Fatalf("%s: %d bytes behind the end", c.name, skip)
	}
	for i, b := range p {
		if b < c.Safe() && !want[i] {
			t.Fatalf("%s: byte %x at %d is not itself: % x", c.name, b, i, p)
		}
	}
}

// TestStarts compares the boundaries of characters of random bytes and texts, at every place of a block, with those of
// x/text.
func TestStarts(t *testing.T) {
	r := rand.New(rand.NewPCG(18030, 2))
	texts := []string{"\xd5\x5c\n", "\xb0\x7c|", "\x81\x30\x81\x30", "\x84\x31\xa4\x37", "\xb0\xa1\xb0\xa1", "\x80\xb0\xa1", "\xb0\xff\xb0", "\x8f\xb0\xa1\xb0", "\xb1\xb1\x5c", "\xb0\x80", "\xc8\x41\x5a"}
	if race.Reduced(t) {
		texts = texts[:1]
	}
	for name, e := range pairedSets() {
		c, x := mustLookup(t, name), &xtext{decoder: e.NewDecoder()}
		for range 400 {
			checkStarts(t, c, x, randomText(r, r.IntN(4*blockSize)))
		}
		for _, text := range texts {
			for ahead := range blockSize + 4 {
				for _, fill := range []string{"a", "\xb0\xa1", "\xb0"} {
					p := append(bytes.Repeat([]byte(fill), ahead)[:ahead], text...)
					checkStarts(t, c, x, p)
					checkStarts(t, c, x, append(p, bytes.Repeat([]byte("\xb0\xa1x"), 30)...))
				}
			}
		}
	}
}

// TestStartsSkipped checks blocks without a byte above 7F after a cut character.
func TestStartsSkipped(t *testing.T) {
	c := mustLookup(t, "gbk")
	p := bytes.Repeat([]byte("|"), blockSize+Ahead)
	for skip := range 4 {
		if starts, next := c.Starts(p, skip); starts != ^uint64(0)<<skip || next != 0 {
			t.Errorf("skip %d: %x, %d", skip, starts, next)
		}
	}
}

// TestStartsUnicode checks sets whose characters have recognizable boundaries.
func TestStartsUnicode(t *testing.T) {
	p := bytes.Repeat([]byte("aé支😀"), 20)
	for _, n := range []int{0, 3, 63, 64, 67, 100} {
		for _, name := range []string{"utf-8", "cp1252", "utf-16le"} {
			c := mustLookup(t, name)
			starts, next := c.Starts(p[:n], 0)
			if next != 0 {
				t.Errorf("%s: next %d", name, next)
			}
			for i := range blockSize {
				want := i < n
				switch name {
				case "utf-8":
					want = want && p[i]&0xc0 != 0x80
				case "utf-16le":
					want = want && i%2 == 0
				}
				if got := (starts>>i)&1 != 0; got != want {
					t.Fatalf("%s, %d bytes: bit %d is %v", name, n, i, got)
				}
			}
		}
	}
}
