package rfc4180

import (
	"bytes"

	"bulkload/internal/formats/swar"
)

// Block describes a block of text for two cases: the block begins outside of quotes (index 0) or inside of them (index 1).
type Block struct {
	Quotes int
	Start  [2]int64 // the offset in the file of the first record that begins in the block, 0 if none does
	Faulty [2]bool  // a quote is at an invalid position
}

// Scan scans the n bytes buf[1:1+n], which are at offset at of the file. buf must also have the byte before them, the two bytes after them,
// and [swar.Block] bytes of slack.
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
			// Up to the next quote, the text is outside of quotes in one of the cases: the count of quotes so far determines which.
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

// judge counts the quotes in data[from:to] and checks their positions for the cases that are still possible; data begins
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
			opens := count & 1 // the case in which this is an opening quote
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
