package delimited

import (
	"math/rand/v2"
	"strings"
	"testing"

	"bulkload/internal/formats/charset"
	"bulkload/internal/test/race"
	"bulkload/pkg/source/dialect"
)

// TestBlocks follows a text in blocks of any size. It checks that, as long as quotes are only at valid places, a block that is followed from its true
// state ends in the true state, and that its first record is also found by a scan of the whole text.
func TestBlocks(t *testing.T) {
	gbk, err := charset.Lookup("gbk")
	if err != nil {
		t.Fatal(err)
	}
	rounds := 6000
	if race.Reduced(t) {
		rounds = 800
	}
	for name, d := range dialects(t) {
		if !d.Cuttable() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(11, uint64(len(name))))
			tokens := []string{d.FieldSep, d.FieldSep, "a", "bc", "\xd5\x5c", "\x81\x7c", "\xb0\xa1", "\r", " ", strings.Repeat("\xd5\x5c", 70), strings.Repeat("A", 131)}
			end := d.RecordSep
			if end == "" {
				end = "\n"
				tokens = append(tokens, "\r\n")
			}
			if d.Quote != "" {
				tokens = append(tokens, d.FieldSep+d.Quote, d.Quote+d.FieldSep, d.Quote+end, end+d.Quote, d.Quote+d.Quote)
			}
			if d.Escape != "" {
				tokens = append(tokens, d.Escape+end, d.Escape+d.FieldSep, d.Escape+d.Escape, d.Escape+"n", d.Escape+d.Quote+"x")
			}
			tokens = append(tokens, end)
			seen := 0
			for range rounds {
				var b strings.Builder
				for range r.IntN(60) {
					b.WriteString(tokens[r.IntN(len(tokens))])
				}
				text := b.String()
				var set Charset
				if r.IntN(2) == 0 {
					set = gbk
				}
				seen += followed(t, d, set, text, 1+r.IntN(150))
			}
			if seen < rounds/20 {
				t.Errorf("only %d blocks with a record", seen)
			}
		})
	}
}

// followed compares blocks of a size with the records of a scan, and returns the number of blocks in which a record began.
func followed(t *testing.T, d *dialect.Dialect, set Charset, text string, size int) (seen int) {
	t.Helper()
	data := make([]byte, len(text)+Slack)
	copy(data, text)
	s := New(d, 3, set)
	begins := map[int]bool{} // where records begin, good and bad ones
	sound := len(text)       // no quoting error before this position
	fault := len(text)       // position of the first error
	for at := 0; at < len(text); {
		next, bad := s.Scan(data, at, len(text), true)
		for _, start := range s.Starts {
			begins[int(start)] = true
		}
		if bad == nil {
			break
		}
		begins[bad.Start] = true
		if bad.Found == 0 && bad.Reason != reasonCharset && bad.Reason != reasonLast {
			sound, fault = bad.Start, bad.At
			break
		}
		at = next
	}
	state := 0
	for from := 0; from < len(text); from += size {
		to := min(from+size, len(text))
		lead, behind := max(0, from-s.Lead()), min(len(text), to+Lookahead)
		piece := make([]byte, behind-lead+Slack)
		copy(piece, text[lead:behind])
		b := New(d, 1, set).Block(piece, behind-lead, from-lead, to-lead, lead == 0, behind == len(text))
		if b.Faulty[state] {
			return seen
		}
		if start := b.Start[state]; start >= 0 && from > 0 {
			at := lead + start
			if at < sound && at < len(text) && !begins[at] && !blankAt(d, text, at) {
				t.Fatalf("%q in blocks of %d: a record begins at %d; begin: %v, sound up to %d", text, size, at, begins, sound)
			}
			if at > fault {
				t.Fatalf("%q in blocks of %d: a record begins at %d, behind the fault at %d", text, size, at, fault)
			}
			seen++
		}
		inside := b.Inside[state]
		if state = 0; inside {
			state = 1
		}
	}
	return seen
}

// blankAt reports whether a line is not a record.
func blankAt(d *dialect.Dialect, text string, at int) bool {
	rest := text[at:]
	return d.RecordSep == "" && (strings.HasPrefix(rest, "\n") || strings.HasPrefix(rest, "\r\n") || rest == "\r") ||
		d.Comment != "" && strings.HasPrefix(rest, d.Comment) || d.Map == dialect.Postgres && strings.HasPrefix(rest, `\.`)
}
