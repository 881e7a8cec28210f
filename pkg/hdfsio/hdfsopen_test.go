package hdfsio

import (
	"bytes"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"
)

// locatedAnswer is the answer to a getBlockLocations.
func locatedAnswer(located []byte) []byte {
	return joinFrame([]byte("header"), appendField(nil, 1, located))
}

// TestOpenWatch gives answers in pieces of any size.
func TestOpenWatch(t *testing.T) {
	length := appendNumber(nil, 1, 17)
	for what, c := range map[string]struct {
		answer     []byte
		open, told bool
	}{
		"open":              {locatedAnswer(appendNumber(length, 3, 1)), true, true},
		"closed":            {locatedAnswer(appendNumber(length, 3, 0)), false, true},
		"without the field": {locatedAnswer(length), false, true},
		"an empty message":  {locatedAnswer(nil), false, true},
		"no locations":      {joinFrame([]byte("header"), nil), false, false},
		"an exception":      {joinFrame([]byte("header")), false, false},
		"cut off":           {locatedAnswer(appendNumber(length, 3, 1)[:3]), false, false},
		"too long to be it": {[]byte{0xff, 0xff, 0xff, 0xff}, false, false},
	} {
		t.Run(what, func(t *testing.T) {
			testcheck.Check(t, func(t *rapid.T) {
				var w openWatch
				call := testCall("getBlockLocations", appendNumber(appendNumber(appendField(nil, 1, []byte("/name")), 2, 0), 3, 17))
				if got := w.request(call); !bytes.Equal(got, call) {
					t.Fatal("another call was changed")
				}
				w.begin()
				other := testCall("getFileInfo", []byte("x"))
				if got := w.request(other); !bytes.Equal(got, other) {
					t.Fatal("another call was changed")
				}
				messages, ok := splitFrame(w.request(call))
				if !ok || len(messages) != 3 {
					t.Fatal("the call has lost its form")
				}
				fields := map[protowire.Number]uint64{}
				frames.Fields(messages[2], func(field protowire.Number, number uint64, _ []byte) { fields[field] = number })
				if name, ok := fieldBytes(messages[2], 1); !ok || string(name) != "/name" || fields[2] != 1<<63-1 || fields[3] != 0 {
					t.Fatalf("asked for %q, %v", name, fields)
				}
				for rest := c.answer; len(rest) > 0; {
					k := rapid.IntRange(1, len(rest)).Draw(t, "piece")
					w.answer(rest[:k])
					rest = rest[k:]
				}
				if open, told := w.end(); open != c.open || told != c.told {
					t.Fatalf("open %v, reported %v", open, told)
				}
				if got := w.request(call); !bytes.Equal(got, call) {
					t.Fatal("a later call was changed")
				}
				if w.begin(); w.open || w.told {
					t.Fatal("the answer was not forgotten")
				}
			})
		})
	}
}

// FuzzOpenWatch holds the watch to bytes of any kind: it never panics, and reports nothing that was not asked.
func FuzzOpenWatch(f *testing.F) {
	f.Add(testCall("getBlockLocations", nil), locatedAnswer(appendNumber(nil, 3, 1)))
	f.Add(testCall("getFileInfo", []byte("x")), []byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte("hrpc\x09\x00\x00"), []byte{0, 0, 0, 2, 1, 0})
	f.Fuzz(func(t *testing.T, call, answer []byte) {
		var w openWatch
		w.begin()
		before := slices.Clone(call)
		got := w.request(call)
		if !bytes.Equal(before, call) {
			t.Fatal("the caller's bytes were changed")
		}
		asked := w.waiting
		if asked == bytes.Equal(got, call) {
			t.Fatal("a getBlockLocations was not changed, or another call was")
		}
		w.answer(answer)
		if open, told := w.end(); told && !asked || open && !told {
			t.Fatalf("asked %v, open %v, reported %v", asked, open, told)
		}
	})
}
