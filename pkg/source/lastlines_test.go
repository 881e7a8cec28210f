package source

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// TestLastLines checks that the last N lines of files and streams are left out as by `head -n -N`.
func TestLastLines(t *testing.T) {
	head := func(text string, n int) string {
		lines := strings.SplitAfter(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		return strings.Join(lines[:max(0, len(lines)-n)], "")
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		var b bytes.Buffer
		for range r.IntN(8) {
			b.WriteString(strings.Repeat("x", r.IntN(3)))
			b.WriteString([]string{"\n", "\n\n", "", "\r\n"}[r.IntN(4)])
		}
		text, n := b.String(), 1+r.IntN(3)
		want := head(text, n)
		if at := lastLines([]byte(text), n, true); text[:at] != want {
			t.Fatalf("%q without %d lines: %q, want %q", text, n, text[:at], want)
		}
		for _, in := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text))} {
			if got, err := io.ReadAll(&withoutLastLines{r: in, n: n, most: 100}); err != nil || string(got) != want {
				t.Fatalf("%q without %d lines as a stream: %q %v, want %q", text, n, got, err, want)
			}
		}
	}
}
