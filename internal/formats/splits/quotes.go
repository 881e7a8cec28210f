package splits

import (
	"context"

	"bulkload/internal/formats/delimited"
	"bulkload/internal/formats/rfc4180"
	"bulkload/internal/formats/swar"
)

// CSV finds where splits of CSV can begin, as [rfc4180] defines it, with fields separated by comma. It returns the beginnings of all splits,
// followed by the end of the last.
//
// The text is cut into blocks of the length of a split, which are examined independently, several at a time. It is not known yet whether a
// block begins within a quoted field, so both cases are followed: each finds where the first record begins, and whether every quote of the
// block is at a position where a quote may be. Afterwards, the number of quotes in all preceding blocks decides between the cases.
//
// Why this agrees with a parser that reads the text from its beginning: let every quote that has an even number of quotes before it be at
// the beginning of a field (after a comma, a line feed, the beginning of the data) or directly after another quote, and every other quote
// at the end of a field (before a comma, a line end, the end of the file) or directly before another quote. By induction over the quotes,
// the parser then is outside of quotes exactly where their number is even: it opens at the first kind, and at the second it either closes
// or, if a quote follows, has a doubled quote and stays inside, just as two more quotes leave the parity unchanged. So it ends records at
// the line feeds with an even number of quotes before them, and meets no fault of quoting. From the first block on where the assumption does
// not hold, the text is not cut: the rest is one split, and a single reader finds its faults. So the records never depend on the size of a
// split.
func CSV(ctx context.Context, t Text, comma byte) ([]int64, error) {
	with := around{before: 1, after: 2, slack: swar.Block}
	return t.byBlocks(ctx, func(ctx context.Context, src Reader, from, to int64) (block, error) {
		var b rfc4180.Block
		if from == t.Begin {
			b.Start[0] = from
		}
		err := t.pieces(ctx, src, from, to, with, func(p piece) {
			if p.before == 0 {
				p.buf[0] = '\n' // a field may begin
			}
			if p.after < 2 {
				p.buf[1+p.n+p.after], p.buf[2+p.n+p.after] = '\n', '\n' // a field may end
			}
			if p.at == from && p.buf[0] == '\n' && b.Start[0] == 0 {
				b.Start[0] = p.at
			}
			b.Scan(p.buf, p.n, p.at, comma)
		})
		return block{[2]int{b.Quotes & 1, 1 - b.Quotes&1}, b.Start, b.Faulty}, err
	})
}

// Quoted is [CSV] for dialects with escapes within quotes. The scanner's number of columns does not matter.
func Quoted(ctx context.Context, t Text, s *delimited.Scanner) ([]int64, error) {
	with := around{before: s.Lead(), after: delimited.Lookahead, slack: delimited.Slack}
	return t.byBlocks(ctx, func(ctx context.Context, src Reader, from, to int64) (block, error) {
		q := block{inside: [2]int{0, 1}}
		err := t.pieces(ctx, src, from, to, with, func(p piece) {
			first, end := p.at-int64(p.before), p.at+int64(p.n+p.after)
			n := p.before + p.n + p.after
			text := p.buf[with.before-p.before:][:n+with.slack]
			b := s.Block(text, n, p.before, p.before+p.n, first == t.Begin, end == t.End)
			for h, now := range q.inside {
				if b.Start[now] >= 0 && q.start[h] == 0 {
					q.start[h] = first + int64(b.Start[now])
				}
				q.faulty[h] = q.faulty[h] || b.Faulty[now]
				q.inside[h] = 0
				if b.Inside[now] {
					q.inside[h] = 1
				}
			}
		})
		return q, err
	})
}
