package rfc4180

import (
	"bytes"
	"encoding/csv"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/formats/swar"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
)

// randomCSV returns a short text of the bytes that matter to the grammar, with a field before them, so that its first line is not blank.
func randomCSV(r *rand.Rand) []byte {
	text := []byte("x,")
	for range r.IntN(12) {
		text = append(text, []string{`"`, `"`, ",", "\n", "\r", "\r\n", "a", "bc", `""`, `"d"`}[r.IntN(10)]...)
	}
	return text
}

// reader returns encoding/csv, with records of any number of fields.
func reader(text []byte) *csv.Reader {
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = -1
	return r
}

// TestFirstRecordOfGo compares the first record of random texts, its end and its faults with encoding/csv.
func TestFirstRecordOfGo(t *testing.T) {
	r := testcheck.Rand(t)
	faults := map[string]int{}
	for range race.Cases(t, 200_000) {
		text := randomCSV(r)
		judge := reader(text)
		want, err := judge.Read()
		end := int(judge.InputOffset())
		if fault := Find(text, ',', true); fault != nil {
			e, _ := errors.AsType[*csv.ParseError](err)
			if e == nil || (fault.Reason == bare) != errors.Is(e, csv.ErrBareQuote) || fault.End(text, true) != end {
				t.Fatalf("%q: %+v, which ends at %d, want %v and %d", text, fault, fault.End(text, true), err, end)
			}
			if before := text[:fault.At]; fault.Reason == bare && (e.Line != 1+bytes.Count(before, []byte("\n")) || e.Column != fault.At-bytes.LastIndexByte(before, '\n')) {
				t.Fatalf("%q: the fault is at byte %d, want %v", text, fault.At, err)
			}
			if early := Find(text, ',', false); fault.Reason == Unclosed && (early != nil || text[fault.At] != '"') || fault.Reason != Unclosed && (early == nil || *early != *fault) {
				t.Fatalf("%q: %+v, before the text is whole %+v", text, fault, early)
			}
			faults[fault.Reason]++
			continue
		}
		got, next := FirstRecord(text, ',', true)
		for i := range got { // encoding/csv takes the CR of a line end away within quotes too
			got[i] = strings.ReplaceAll(got[i], "\r\n", "\n")
		}
		if err != nil || !slices.Equal(got, want) || next != end {
			t.Fatalf("%q: %q to %d, want %q to %d, %v", text, got, next, want, end, err)
		}
		if got, next := FirstRecord(text[:end], ',', false); (got == nil) != (text[end-1] != '\n') || got != nil && next != end {
			t.Fatalf("%q: %q to %d before the text is whole", text[:end], got, next)
		}
	}
	if len(faults) != 3 {
		t.Errorf("only these faults: %v", faults)
	}
}

// TestClosedOfGo checks with encoding/csv that the last record of a text is open if it takes in a record that comes after it.
func TestClosedOfGo(t *testing.T) {
	r := testcheck.Rand(t)
	for range race.Cases(t, 100_000) {
		text := randomCSV(r)
		judge := reader(append(bytes.Clone(text), "\nq,w\n"...))
		var last []string
		for more := true; more; {
			record, err := judge.Read()
			if e := (*csv.ParseError)(nil); err != nil && !errors.As(err, &e) {
				more = false
			} else {
				last = record
				if err != nil {
					last = nil
				}
			}
		}
		if closed := slices.Equal(last, []string{"q", "w"}); Closed(text, ',') != closed {
			t.Fatalf("%q: closed %v, but the last record is %q", text, !closed, last)
		}
	}
}

// TestBlocks cuts random texts into blocks, and checks the case of each that holds: where its first record begins, and whether a quote is misplaced.
func TestBlocks(t *testing.T) {
	r := testcheck.Rand(t)
	valid := 0
	for range race.Cases(t, 100_000) {
		var text []byte
		for range 1 + r.IntN(8) {
			text = append(append(text, randomCSV(r)...), '\n')
		}
		var starts []int64 // of records
		misplaced := false
		for at := 0; at < len(text) && !misplaced; {
			if fault := Find(text[at:], ',', true); fault != nil {
				misplaced = fault.Reason != Unclosed
				break
			}
			_, next := FirstRecord(text[at:], ',', true)
			at += next
			starts = append(starts, int64(at))
		}
		size := len(text)
		if !misplaced {
			size = 1 + r.IntN(len(text))
			valid++
		}
		for from, quotes := 0, 0; from < len(text); from += size {
			to := min(from+size, len(text))
			buf := slices.Concat([]byte{'\n'}, text, []byte{'\n', '\n'}, make([]byte, swar.Block))[from:]
			var b Block
			for at := from; at < to; { // in chunks
				n := min(1+r.IntN(80), to-at)
				b.Scan(buf[at-from:], n, int64(at), ',')
				at += n
			}
			inside, want := quotes&1, int64(0)
			if i := slices.IndexFunc(starts, func(s int64) bool { return s > int64(from) }); i >= 0 && starts[i] <= int64(to) {
				want = starts[i]
			}
			if b.Quotes != bytes.Count(text[from:to], []byte{'"'}) || b.Faulty[inside] != misplaced || !misplaced && b.Start[inside] != want {
				t.Fatalf("%q from %d to %d, inside %d: %+v, want %d, %v", text, from, to, inside, b, want, misplaced)
			}
			quotes += b.Quotes
		}
	}
	if valid == 0 {
		t.Error("no text was valid")
	}
}

// TestCROnly checks which texts have lines that end with CR alone.
func TestCROnly(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "a,b": false, "a,b\r": false, "a\rb": true, "a\rb\r": true, "a\r\nb\r\n": false, "a\rb\n": false,
		"\"a\rb\"": false, "\"a\n\"\rb": true, "\"a\"\"\n\"\rb": true, "a\"\n\"\rb": false, ",\"\r\",c": false, "\r\"\n\"\r": true,
	} {
		only, more := CROnly([]byte(text), ',', true)
		if only != want || more {
			t.Errorf("%q: %v, %v", text, only, more)
		}
		if only, more = CROnly([]byte(text), ',', false); only != want || more != want {
			t.Errorf("the beginning %q: %v, %v", text, only, more)
		}
	}
}
