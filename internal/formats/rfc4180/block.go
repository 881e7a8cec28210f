package rfc4180

import (
	"bytes"

	"bulkload/internal/formats/swar"
)

// Block describes a block of text for both cases: it begins outside [0] or inside [1] of quotes.
type Block struct {
	Quotes int
	Start  [2]int64 // where the first record begins, 0 when none does
	Faulty [2]bool  // a quote stands where none may
}

// Scan looks at the n bytes buf[1:1+n], which are at byte at of the file, between one byte before them and two after. The buffer is longer
// than these by [swar.Block].
func (b *Block) Scan(buf []byte, n int, at int64, comma byte) {
	data := buf[1 : 1+n]
	for i := 0; i < n; {
		if b.Start[0] != 0 && b.Start[1] != 0 {
			b.Quotes += b.judge(buf, i, n, comma)
			return
		}
		end := n
		if j := bytes.IndexByte(data[i:], '"'); j >= 0 {
			end = i + j
		}
		if case0 := b.Quotes & 1; b.Start[case0] == 0 {
			// Up to the next quote, this is outside for the case that has seen an even number of quotes.
			if j := bytes.IndexByte(data[i:end], '\n'); j >= 0 {
				b.Start[case0] = at + int64(i+j) + 1
			}
		}
		if i = end; i < n {
			b.Quotes += b.judge(buf, i, i+1, comma)
			i++
		}
	}
}

// judge counts the quotes among data[from:to] and looks at where they stand, for the cases that can still be; data begins
// at buf[1].
func (b *Block) judge(buf []byte, from, to int, comma byte) int {
	if b.Faulty[0] && b.Faulty[1] {
		return bytes.Count(buf[1+from:1+to], []byte{'"'})
	}
	count := b.Quotes & 1
	pattern := swar.Spread(comma)
	for base := from; base < to; base += swar.Block {
		q, _ := swar.QuotesAndEnds((*[swar.Block]byte)(buf[1+base:]), pattern)
		for q = swar.Tail(q, to-base); q != 0; q &= q - 1 {
			p := 1 + base + swar.Lowest(q)
			opens := count & 1 // the case for which this quote is one that opens
			if c := buf[p-1]; c != comma && c != '\n' && c != '"' {
				b.Faulty[opens] = true
			}
			if c := buf[p+1]; c != comma && c != '\n' && c != '"' && (c != '\r' || buf[p+2] != '\n') {
				b.Faulty[1-opens] = true
			}
			count++
		}
	}
	return count - b.Quotes&1
}
