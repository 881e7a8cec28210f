package splits

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"bulkload/internal/formats/delimited"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/dialect"
)

// memory is a text in memory. Bytes from fails on cannot be read, if that is not 0.
type memory struct {
	*bytes.Reader
	open  *atomic.Int64
	fails int64
}

var errBroken = errors.New("the disk is broken")

func (m memory) ReadAt(p []byte, at int64) (int, error) {
	if m.fails > 0 && at+int64(len(p)) > m.fails {
		return 0, errBroken
	}
	return m.Reader.ReadAt(p, at)
}

func (m memory) Close() error { m.open.Add(-1); return nil }

func (memory) Within(int64, int64) {}

// textOf returns a text in memory, whose records begin at a byte and whose bytes from fails on cannot be read.
func textOf(t *testing.T, text string, begin, step, fails int) Text {
	var open atomic.Int64
	t.Cleanup(func() {
		if n := open.Load(); n != 0 {
			t.Errorf("%d readers of a text are open", n)
		}
	})
	return Text{Path: "a.csv", Begin: int64(begin), End: int64(len(text)), Step: int64(step), Open: func(context.Context) (Reader, error) {
		open.Add(1)
		return memory{bytes.NewReader([]byte(text)), &open, int64(fails)}, nil
	}}
}

// expected returns the places of a text: of each split the first of the starts of records that is skip bytes or more after its nominal one, up
// to a limit of nominal starts.
func expected(text Text, starts []int64, skip, limit int64) []int64 {
	places := []int64{text.Begin}
	for at := text.Begin + text.Step; at < min(text.End, limit); at += text.Step {
		i, _ := slices.BinarySearch(starts, at+skip)
		if i < len(starts) && starts[i] < text.End && starts[i] > places[len(places)-1] {
			places = append(places, starts[i])
		}
	}
	return append(places, text.End)
}

// skipQuoted is 1: Quoted does not see that a block begins with a record, and takes the next.
const skipQuoted = 1

// quoted returns a random text of records with quoted fields, and where its records after the first begin.
func quoted(r *rand.Rand, begin, records int, escape string) (string, []int64) {
	text := strings.Repeat("#", begin)
	var starts []int64
	word := func() string { return strings.Repeat("x", r.IntN(6)) }
	for i := range records {
		if i > 0 {
			starts = append(starts, int64(len(text)))
		}
		for range r.IntN(3) {
			inner := word() + []string{"", "\n", ",", escape + `"`, escape + `"` + "\n" + escape + `"`, "\r\n"}[r.IntN(6)] + word()
			text += []string{"y" + word(), `"` + inner + `"`}[r.IntN(2)] + ","
		}
		text += "z\n"
	}
	if r.IntN(2) == 0 {
		text = strings.TrimSuffix(text, "z\n") + `"z"` // the file ends after a quote
	}
	return text, starts
}

// TestQuotes cuts random texts with quoted line ends at every length of a split, and compares the splits with the records as they were written.
func TestQuotes(t *testing.T) {
	r := testcheck.Rand(t)
	escaped := dialect.Dialect{FieldSep: ",", Quote: `"`, Escape: `\`, Header: dialect.HeaderNo}
	for range race.Cases(t, 400) {
		begin := r.IntN(3)
		text, starts := quoted(r, begin, 1+r.IntN(30), `"`)
		other, others := quoted(r, begin, 1+r.IntN(30), `\`)
		for step := 1; step < 40; step += 1 + r.IntN(3) {
			a := textOf(t, text, begin, step, 0)
			places, err := CSV(t.Context(), a, ',')
			testcheck.Must(t, err)
			if want := expected(a, starts, 0, a.End); !slices.Equal(places, want) {
				t.Fatalf("%q from %d in splits of %d: %v, not %v", text, begin, step, places, want)
			}
			b := textOf(t, other, begin, step, 0)
			places, err = Quoted(t.Context(), b, delimited.New(&escaped, 1, nil))
			testcheck.Must(t, err)
			if want := expected(b, others, skipQuoted, b.End); !slices.Equal(places, want) {
				t.Fatalf("%q from %d in splits of %d: %v, not %v", other, begin, step, places, want)
			}
		}
	}
}

// TestPieces cuts texts whose blocks are read in several pieces.
func TestPieces(t *testing.T) {
	r := testcheck.Rand(t)
	for _, escape := range []string{`"`, `\`} {
		text, starts := quoted(r, 0, 200, escape)
		text = strings.TrimRight(text, `"z`+"\n") + "z\n"
		for i, line := 0, len(text); len(text) < 3*pieceSize; i++ {
			for _, at := range append([]int64{0}, starts[:199]...) {
				starts = append(starts, int64((i+1)*line)+at)
			}
			text += text[:line]
		}
		skip, cut := int64(0), func(a Text) ([]int64, error) { return CSV(t.Context(), a, ',') }
		if escape != `"` {
			d := dialect.Dialect{FieldSep: ",", Quote: `"`, Escape: escape, Header: dialect.HeaderNo}
			skip, cut = skipQuoted, func(a Text) ([]int64, error) { return Quoted(t.Context(), a, delimited.New(&d, 1, nil)) }
		}
		for _, step := range []int{pieceSize + 1, 2*pieceSize - 3, 2 * pieceSize} {
			a := textOf(t, text, 0, step, 0)
			places, err := cut(a)
			testcheck.Must(t, err)
			if want := expected(a, starts, skip, a.End); !slices.Equal(places, want) {
				t.Errorf("escape %s, splits of %d: %v, not %v", escape, step, places, want)
			}
			a = textOf(t, text[:starts[0]]+"x\"y\"\n"+text[starts[0]:], 0, step, 0)
			if places, err = cut(a); err != nil || len(places) != 2 {
				t.Errorf("escape %s, splits of %d, with a misplaced quote in the first piece: %v, %v", escape, step, places, err)
			}
		}
	}
}

// TestMisplacedQuote checks that a text is not cut from the block on that has a quote in the middle of a field.
func TestMisplacedQuote(t *testing.T) {
	const line = "abc,de\n"
	text := strings.Repeat(line, 10) + "ab\"c,de\n" + strings.Repeat(line, 10)
	for step := 1; step < len(text); step++ {
		a := textOf(t, text, 0, step, 0)
		places, err := CSV(t.Context(), a, ',')
		testcheck.Must(t, err)
		var starts []int64
		for at := len(line); at <= 10*len(line); at += len(line) {
			starts = append(starts, int64(at))
		}
		fault := int64(10*len(line) + 2)
		if want := expected(a, starts, 0, fault-fault%int64(step)); !slices.Equal(places, want) {
			t.Errorf("splits of %d: %v, not %v", step, places, want)
		}
	}
}

// lineAfter returns the first beginning of a line at or after a byte.
func lineAfter(text []byte, at int, _ bool) int {
	for ; at <= len(text); at++ {
		if text[at-1] == '\n' {
			return at
		}
	}
	return -1
}

// TestLines cuts lines of random lengths, and does not cut a text from a line on that may be longer than a record is allowed to be.
func TestLines(t *testing.T) {
	r := testcheck.Rand(t)
	for range race.Cases(t, 300) {
		text, starts := "##", []int64{}
		for range 1 + r.IntN(20) {
			text += strings.Repeat("x", r.IntN(12)) + "\n"
			starts = append(starts, int64(len(text)))
		}
		for step := 1; step < 30; step++ {
			a := textOf(t, text, 2, step, 0)
			places, err := Lines(t.Context(), a, 10, lineAfter)
			testcheck.Must(t, err)
			if want := expected(a, starts, 0, a.End); !slices.Equal(places, want) {
				t.Fatalf("%q in splits of %d: %v, not %v", text, step, places, want)
			}
		}
	}
	const most = 1000
	for extra, cuts := range map[int]int{-1: 3, 0: 2} { // the greatest window ends after the line end, or before it
		long := strings.Repeat("x", 2*window+2) + "\n" + strings.Repeat("y", 3*window) + "\n"
		at := 2*window + 3 + 10 // nominal start in the second line
		a := textOf(t, long[:len(long)-1][:at+most+window+extra]+"\n"+"z\n", 0, at, 0)
		places, err := Lines(t.Context(), a, most, lineAfter)
		testcheck.Must(t, err)
		if len(places) != cuts {
			t.Errorf("a line that ends %d bytes after the window: %v", extra+1, places)
		}
	}
}

// TestErrors checks that a read error names the file, that all readers are closed, and that a text of one split is not read.
func TestErrors(t *testing.T) {
	text := strings.Repeat("a,b\n", 100)
	cuts := map[string]func(context.Context, Text) ([]int64, error){
		"CSV":   func(ctx context.Context, a Text) ([]int64, error) { return CSV(ctx, a, ',') },
		"Lines": func(ctx context.Context, a Text) ([]int64, error) { return Lines(ctx, a, 10, lineAfter) },
		"Quoted": func(ctx context.Context, a Text) ([]int64, error) {
			d := dialect.Dialect{FieldSep: ",", Quote: `"`, Escape: `\`, Header: dialect.HeaderNo}
			return Quoted(ctx, a, delimited.New(&d, 1, nil))
		},
	}
	for name, cut := range cuts {
		_, err := cut(t.Context(), textOf(t, text, 0, 10, 200))
		if testcheck.Says(t, name, err, "find the records of a.csv"); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", name, err)
		}
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := cut(stopped, textOf(t, text, 0, 10, 0)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		places, err := cut(t.Context(), textOf(t, text, 0, len(text), 1))
		if testcheck.Must(t, err); !slices.Equal(places, []int64{0, int64(len(text))}) {
			t.Errorf("%s: one split is %v", name, places)
		}
	}
}
