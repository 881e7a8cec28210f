package streaming

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/iotest"
)

type record struct{ key, value []byte }

// frame is a second implementation of the writer.
func frame(records []record) []byte {
	var b bytes.Buffer
	for _, r := range records {
		for _, part := range [][]byte{r.key, r.value} {
			binary.Write(&b, binary.BigEndian, int32(len(part)))
			b.Write(part)
		}
	}
	return b.Bytes()
}

func randomRecords(seed uint64, n int) []record {
	r := rand.New(rand.NewPCG(seed, 1))
	records := make([]record, n)
	for i := range records {
		records[i].key = make([]byte, r.IntN(40))
		records[i].value = make([]byte, r.IntN(300))
		for _, part := range [][]byte{records[i].key, records[i].value} {
			for j := range part {
				part[j] = byte(r.Uint32())
			}
		}
	}
	records[n/2].value = make([]byte, 3<<20) // more than one step
	return records
}

func readAll(t *testing.T, r *Reader) []record {
	t.Helper()
	var all []record
	for {
		key, value, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, record{bytes.Clone(key), bytes.Clone(value)})
	}
}

func TestRawBytes(t *testing.T) {
	records := randomRecords(7, 200)
	var b bytes.Buffer
	w := NewWriter(&b)
	for _, r := range records {
		if err := w.Write(r.key, r.value); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), frame(records)) {
		t.Fatal("written otherwise than framed")
	}
	for name, in := range map[string]io.Reader{"whole": bytes.NewReader(b.Bytes()), "halves": iotest.HalfReader(bytes.NewReader(b.Bytes()))} {
		got := readAll(t, NewReader(in))
		if len(got) != len(records) {
			t.Fatalf("%s: %d records, not %d", name, len(got), len(records))
		}
		for i := range got {
			if !bytes.Equal(got[i].key, records[i].key) || !bytes.Equal(got[i].value, records[i].value) {
				t.Fatalf("%s: record %d is another", name, i)
			}
		}
	}
}

// Every end but one between records is an error, also an end after a key.
func TestRawBytesCut(t *testing.T) {
	whole := frame([]record{{[]byte("key"), []byte("value")}, {nil, nil}, {[]byte("k"), nil}})
	ends := map[int]int64{0: 0, 16: 1, 24: 2, len(whole): 3}
	for n := range len(whole) + 1 {
		r := NewReader(bytes.NewReader(whole[:n]))
		var err error
		for err == nil {
			_, _, err = r.Next()
		}
		want, clean := ends[n]
		if clean && (err != io.EOF || r.Records() != want) {
			t.Errorf("cut at %d, between records: %v after %d", n, err, r.Records())
		}
		if !clean && !errors.Is(err, ErrShort) {
			t.Errorf("cut at %d, within a record: %v", n, err)
		}
		if _, _, again := r.Next(); again != err {
			t.Errorf("cut at %d: then %v", n, again)
		}
	}
}

func TestRawBytesBounds(t *testing.T) {
	for name, in := range map[string][]byte{
		"a key":         {0, 1, 0, 1},
		"a huge key":    {0xff, 0xff, 0xff, 0xff},
		"a value":       {0, 0, 0, 0, 4, 0, 0, 1},
		"a broken line": []byte("text\tline\n"),
	} {
		_, _, err := NewReader(bytes.NewReader(in)).Next()
		if err == nil || err == io.EOF || errors.Is(err, ErrShort) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A length within the bound takes no memory before its bytes come.
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := NewReader(bytes.NewReader([]byte{0, 0, 0, 0, 3, 0xff, 0xff, 0xff, 1})).Next()
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ErrShort) || after.TotalAlloc-before.TotalAlloc > 4<<20 {
		t.Errorf("%v with %d bytes", err, after.TotalAlloc-before.TotalAlloc)
	}
	broken := errors.New("broken")
	if _, _, err := NewReader(iotest.ErrReader(broken)).Next(); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	w := NewWriter(failing{})
	for range 3 {
		w.Write(make([]byte, 1<<20), nil)
	}
	if err := w.Flush(); err == nil {
		t.Error("a writer that fails is not reported")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestRawBytesAllocate(t *testing.T) {
	in := frame(randomRecords(3, 3000)[:1000])
	r := NewReader(bytes.NewReader(in))
	w := NewWriter(io.Discard)
	for range 50 {
		r.Next() // the buffers grow
	}
	if n := testing.AllocsPerRun(900, func() {
		key, value, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		w.Write(key, value)
	}); n > 0.1 {
		t.Errorf("%v allocations a record", n)
	}
}

func FuzzRawBytes(f *testing.F) {
	f.Add(frame([]record{{[]byte("k"), []byte("v")}}))
	f.Add([]byte{0, 0, 0, 1})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReader(bytes.NewReader(in))
		r.MostKey, r.MostValue = 1<<10, 1<<12
		var read []record
		for {
			key, value, err := r.Next()
			if err != nil {
				if again := frame(read); !bytes.Equal(again, in[:len(again)]) || err == io.EOF && len(again) != len(in) {
					t.Errorf("%d of %d bytes understood, %v", len(again), len(in), err)
				}
				return
			}
			read = append(read, record{bytes.Clone(key), bytes.Clone(value)})
		}
	})
}

func BenchmarkRawBytesRead(b *testing.B) {
	in := frame(randomRecords(5, 20000))
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(bytes.NewReader(in))
		for {
			if _, _, err := r.Next(); err != nil {
				break
			}
		}
	}
}
