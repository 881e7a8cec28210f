package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestBudget(t *testing.T) {
	for _, spec := range []string{"x", "-1", "101%", "-1%", "1.5", "%", "NaN%"} {
		if _, err := NewBudget(spec); err == nil || !strings.Contains(err.Error(), "neither a number of records nor a share") {
			t.Errorf("%q: error %v", spec, err)
		}
	}
	for _, tt := range []struct {
		spec       string
		read, bad  int64
		at         int64 // the bad record at which Reject fails, 0: none
		failsAtEnd bool
	}{
		{spec: "", bad: 1, at: 1, failsAtEnd: true},
		{spec: "0", bad: 1, at: 1, failsAtEnd: true},
		{spec: "0%", bad: 1, at: 1, failsAtEnd: true},
		{spec: "3", bad: 3},
		{spec: "3", bad: 4, at: 4, failsAtEnd: true},
		{spec: "1%", read: 1000, bad: 10},
		{spec: "1%", read: 1000, bad: 11, failsAtEnd: true},
		{spec: "1%", read: 20_000, bad: 200},
		{spec: "1%", read: 20_000, bad: 201, at: 201, failsAtEnd: true},
		{spec: "100%", read: 10, bad: 10},
		{spec: "29%", read: 100, bad: 29},
		{spec: "0.7%", read: 1000, bad: 7},
		{spec: "0.57%", read: 20_000, bad: 114},
		{spec: "0.57%", read: 20_000, bad: 115, at: 115, failsAtEnd: true},
		{spec: "1e-400%", read: 20_000, bad: 1, at: 1, failsAtEnd: true},
		{spec: "0x1p-1%", read: 200, bad: 1},
	} {
		b, err := NewBudget(tt.spec)
		if err != nil {
			t.Fatal(err)
		}
		b.Count(tt.read)
		cause := errors.New("key")
		for i := int64(1); i <= tt.bad; i++ {
			err := b.Reject(RowError{Path: "x.csv", Record: i, Reason: "why", Err: cause})
			if (err != nil) != (tt.at == i) {
				t.Errorf("%+v: record %d: error %v", tt, i, err)
			}
			if err == nil {
				continue
			}
			row, ok := errors.AsType[*RowError](err)
			if !ok || row.Record != i || !errors.Is(err, ErrBudget) || !errors.Is(err, cause) || !strings.Contains(err.Error(), "`bad_records`") {
				t.Errorf("%+v: error %v", tt, err)
			}
		}
		if err := b.Finish(max(tt.read, tt.bad)); errors.Is(err, ErrBudget) != tt.failsAtEnd {
			t.Errorf("%+v: at the end: %v", tt, err)
		}
		if total := max(tt.read, tt.bad); b.Allows(tt.bad, total) == tt.failsAtEnd {
			t.Errorf("%+v: %d of %d are allowed: %v", tt, tt.bad, total, tt.failsAtEnd)
		}
		if b.Bad() != tt.bad {
			t.Errorf("%+v: %d bad", tt, b.Bad())
		}
	}
}

// readWithin reads lines of two columns, as a build does, within a budget.
func readWithin(t *testing.T, spec, data string) error {
	b, err := NewBudget(spec)
	if err != nil {
		t.Fatal(err)
	}
	in, err := Open(t.Context(), memory("/x.csv", []byte(data)), []string{"/x.csv"}, Options{Header: HeaderNone, Columns: []string{"a", "b"}, SplitSize: 1 << 30, ChunkSize: 4 << 10, Reject: b.RejectRead})
	if err != nil {
		t.Fatal(err)
	}
	reader := in.NewReader()
	for split := range in.Splits() {
		if err := reader.Read(t.Context(), split, func(batch *Batch) error {
			b.Count(int64(batch.Rows))
			for row := range batch.Rows {
				if string(batch.Field(row, 0)) == "late" {
					if err := b.Reject(batch.RowError(row)); err != nil {
						return err
					}
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return b.Finish(in.Records())
}

// TestSharesAreOfAllRecords checks that bad records are compared with all records read before them, also where they are in no batch, and that a record that
// spans lines counts as so many.
func TestSharesAreOfAllRecords(t *testing.T) {
	for _, tt := range []struct{ spec, some, want string }{
		{"40%", "1,2\n3,4\nbad\n", ""},
		{"40%", "1,2\nlate,4\n3,4\n", ""},
		{"40%", "1,2\nlate,4\n3,4\n5,6\nbad\n", ""},
		{"39%", "1,2\nlate,4\n3,4\n5,6\nbad\n", "more than the 39% that"},
		{"2%", strings.Repeat("1,2\n", 50) + "bad\n", ""},
		{"1.9%", strings.Repeat("1,2\n", 50) + "bad\n", "of the first"},
		{"61%", "1,2\nx,\"\ny\n\"z\n3,4\n", ""},
		{"59%", "1,2\nx,\"\ny\n\"z\n3,4\n", "of the first"},
	} {
		err := readWithin(t, tt.spec, strings.Repeat(tt.some, 10_000))
		if (err == nil) != (tt.want == "") || err != nil && (!errors.Is(err, ErrBudget) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s of %.20q: %v, want %q", tt.spec, tt.some, err, tt.want)
		}
	}
}

func TestRejectFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.jsonl")
	var first []byte
	for run := range 2 {
		f := NewRejectFile(path)
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 100 {
					split := w*10 + i/10 // each of ten records, in order
					if run == 1 {
						split = 39 - split
					}
					n := split*10 + i%10
					e := RowError{Path: fmt.Sprintf("p%d", split/20), Offset: int64(n), Record: int64(n + 1), Column: "c", Reason: "why", Raw: []byte("规,\""), split: split}
					if n == 200 {
						e.Raw = []byte{0xff, 'x'}
					}
					if err := f.Write(e); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if n, err := f.Finish(); n != 400 || err != nil {
			t.Fatal(n, err)
		}
		if n, err := f.Finish(); n != 400 || err != nil {
			t.Fatal("the second Finish:", n, err)
		}
		if err := f.Abort(); err != nil {
			t.Fatal(err)
		}
		if err := f.Write(RowError{}); !errors.Is(err, os.ErrClosed) {
			t.Errorf("error %v", err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if run == 0 {
			first = data
		} else if string(first) != string(data) {
			t.Error("the order of arrival shows")
		}
	}
	lines := strings.Split(strings.TrimSpace(string(first)), "\n")
	var e struct {
		Path           string
		Offset, Record int64
		Raw            *string
		RawBase64      []byte `json:"raw_base64"`
	}
	if lines[0] != `{"bulkload_rejects":1}` || len(lines) != 401 {
		t.Errorf("%d lines, the first is %s", len(lines), lines[0])
	}
	for i, l := range lines[1:] {
		e.Raw, e.RawBase64 = nil, nil
		if err := json.Unmarshal([]byte(l), &e); err != nil {
			t.Fatal(err)
		}
		if e.Offset != int64(i) {
			t.Fatalf("line %d: %s", i, l)
		}
		if e.Offset == 200 {
			if e.Raw != nil || string(e.RawBase64) != "\xffx" {
				t.Errorf("line %d: %s", i, l)
			}
		} else if e.Raw == nil || *e.Raw != "规,\"" {
			t.Errorf("line %d: %s", i, l)
		}
	}
	if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) != 1 {
		t.Error("left behind:", names, err)
	}
}

func TestRejectFileAbort(t *testing.T) {
	dir := t.TempDir()
	f := NewRejectFile(filepath.Join(dir, "bad.jsonl"))
	if n, err := f.Finish(); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	f = NewRejectFile(filepath.Join(dir, "bad.jsonl"))
	if err := f.Write(RowError{Path: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := f.Abort(); err != nil {
		t.Fatal(err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Error("left behind:", names, err)
	}
	f = NewRejectFile(filepath.Join(dir, "none", "bad.jsonl"))
	if err := f.Write(RowError{Path: "x"}); err == nil {
		t.Error("no error for a directory that is not there")
	}
}

func TestSep(t *testing.T) {
	for text, want := range map[string]byte{",": ',', `\t`: '\t', `\x01`: 1, "0x10": 0x10, "0X1f": 0x1f, `\\`: '\\', "0": '0', "\x01": 1} {
		s, err := ParseSep(text)
		if err != nil || s != SepOf(want) {
			t.Errorf("%q: %v, %v", text, s, err)
		}
		if again, err := ParseSep(s.String()); err != nil || again != s {
			t.Errorf("%q: %v, %v", s.String(), again, err)
		}
	}
	for _, text := range []string{"ab", "规", "0x100", `\x`, `\u1234`} {
		if s, err := ParseSep(text); err == nil {
			t.Errorf("%q: %v", text, s)
		}
	}
	if s, err := ParseSep(""); err != nil || s.or(7) != 7 {
		t.Error(s, err)
	}
}
