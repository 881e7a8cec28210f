package hfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

// testHelpers are goroutines that encode. Count returns 0 for the first calls.
type testHelpers struct {
	n     int
	after atomic.Int64
	work  chan func()
	done  atomic.Int64
}

func startHelpers(tb testing.TB, n int, after int64) *testHelpers {
	h := &testHelpers{n: n, work: make(chan func(), 2)}
	h.after.Store(after)
	ended := make(chan struct{})
	for range n {
		go func() {
			for f := range h.work {
				f()
				h.done.Add(1)
			}
			ended <- struct{}{}
		}()
	}
	tb.Cleanup(func() {
		close(h.work)
		for range n {
			<-ended
		}
	})
	return h
}

func (h *testHelpers) Count() int {
	if h.after.Add(-1) >= 0 {
		return 0
	}
	return h.n
}

func (h *testHelpers) Wait(done <-chan struct{}) {
	select {
	case <-done:
	case f := <-h.work:
		f()
		<-done
	}
}

func (h *testHelpers) Do(work func()) bool {
	if h.n == 0 {
		return false
	}
	select {
	case h.work <- work:
		return true
	default:
		return false
	}
}

// randomRows returns rows of a schema, with columns that are often missing,
// values that repeat, and occasional long values.
func randomRows(r *rand.Rand, n, columns, longest int) (Schema, [][]byte, [][][]byte) {
	s := Schema{Timestamp: r.Int64N(1 << 50)}
	seen := map[string]bool{}
	for len(s.Qualifiers) < columns {
		q := fmt.Sprintf("%.*s%d", r.IntN(12), "qualifier_of_some_length", r.IntN(1000))
		if !seen[q] {
			seen[q] = true
			s.Qualifiers = append(s.Qualifiers, []byte(q))
		}
	}
	slices.SortFunc(s.Qualifiers, bytes.Compare)
	missing := r.Float64()
	var keys [][]byte
	var rows [][][]byte
	for i := range n {
		key := binary.BigEndian.AppendUint32(nil, uint32(i))
		keys = append(keys, append(key, "suffix of the key"[:r.IntN(17)]...))
		values := make([][]byte, columns)
		for c := range values {
			switch {
			case r.Float64() < missing:
			case r.IntN(4) == 0:
				values[c] = []byte("same")
			case r.IntN(300) == 0:
				values[c] = bytes.Repeat([]byte{byte(r.Uint32())}, r.IntN(longest))
			default:
				values[c] = fmt.Appendf(nil, "%x", r.Uint64N(1<<r.IntN(60)))[:r.IntN(2)]
				values[c] = append(values[c], "behind"...)[:len(values[c])+r.IntN(7)]
			}
		}
		rows = append(rows, values)
	}
	return s, keys, rows
}

// writeRows writes a file whose batches have about batch bytes of cells.
func writeRows(o Options, s Schema, keys [][]byte, rows [][][]byte, h Helpers, batch int, together func() int) ([]byte, Stats, error) {
	var out bytes.Buffer
	w, err := NewRowWriter(&out, o, s)
	if err != nil {
		return nil, Stats{}, err
	}
	if h != nil {
		w.Share(h)
		w.batchSize = batch
	}
	if err := appendAll(w, keys, rows, together); err != nil {
		return nil, Stats{}, err
	}
	stats, err := w.Finish()
	return out.Bytes(), stats, err
}

// appendAll appends rows in groups of the sizes that together returns; 0, and a row without cells, means one by
// one.
func appendAll(w *RowWriter, keys [][]byte, rows [][][]byte, together func() int) error {
	var b *Rows
	n := 0
	give := func() error {
		if b == nil {
			return nil
		}
		err := w.AppendRows(b)
		b = nil
		return err
	}
	for i, key := range keys {
		if n == 0 && together != nil {
			if err := give(); err != nil {
				return err
			}
			if n = together(); n > 0 {
				b = w.NewRows()
			}
		}
		lens, cells := lengths(rows[i])
		if b == nil || cells == 0 {
			if err := give(); err != nil {
				return err
			}
			n = 0
			if err := w.AppendRow(key, rows[i]); err != nil {
				return err
			}
			continue
		}
		n--
		b.Add(key, lens, bytes.Join(rows[i], nil))
	}
	return give()
}

func lengths(values [][]byte) (lens []int32, cells int) {
	for _, v := range values {
		if v == nil {
			lens = append(lens, -1)
			continue
		}
		lens = append(lens, int32(len(v)))
		cells++
	}
	return lens, cells
}

// TestSharedRowsAreTheSame compares files encoded by helpers with files of one
// goroutine, byte for byte, for random rows, settings, helpers, and places
// where the rows are cut.
func TestSharedRowsAreTheSame(t *testing.T) {
	var given, files atomic.Int64
	check := func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		o := Options{
			Family:         []byte(rapid.SampledFrom([]string{"f", "family"}).Draw(rt, "family")),
			Compression:    rapid.SampledFrom([]Compression{CompressionSnappy, CompressionSnappy, CompressionNone, CompressionLZ4, CompressionZSTD}).Draw(rt, "compression"),
			Level:          Level(rapid.IntRange(0, 1).Draw(rt, "level")),
			Encoding:       rapid.SampledFrom([]Encoding{EncodingFastDiff, EncodingFastDiff, EncodingNone, EncodingDiff}).Draw(rt, "encoding"),
			Bloom:          BloomType(rapid.IntRange(0, len(bloomNames)-1).Draw(rt, "bloom")),
			BloomPrefix:    rapid.SampledFrom([]int{3, 4, 20}).Draw(rt, "bloom prefix"),
			BlockSize:      rapid.SampledFrom([]int{1, 60, 500, 4096, 0, 1 << 20, 2 << 20}).Draw(rt, "block size"),
			IndexBlockSize: rapid.SampledFrom([]int{128, 1000, 0}).Draw(rt, "index block size"),
			BloomBlockSize: rapid.SampledFrom([]int{256, 0}).Draw(rt, "bloom block size"),
			EncodedRatio:   rapid.SampledFrom([]float64{0, 0, 0, 0.5}).Draw(rt, "encoded ratio"),
			CreateTime:     1, BulkloadTime: 1,
		}
		columns := rapid.SampledFrom([]int{1, 2, 7, 33, 40}).Draw(rt, "columns")
		longest := rapid.SampledFrom([]int{20, 5000, maxSharedValue + 1000}).Draw(rt, "longest")
		s, keys, rows := randomRows(r, rapid.IntRange(0, 400).Draw(rt, "rows"), columns, longest)
		want, wantStats, err := writeRows(o, s, keys, rows, nil, 0, nil)
		if err != nil {
			rt.Fatal(err)
		}
		for range 2 {
			helpers := rapid.IntRange(0, 8).Draw(rt, "helpers")
			h := startHelpers(t, helpers, int64(r.IntN(3)))
			most := rapid.SampledFrom([]int{1, 5, 100}).Draw(rt, "rows together")
			got, stats, err := writeRows(o, s, keys, rows, h, 1+r.IntN(5000), func() int { return r.IntN(most + 1) })
			if err != nil || !bytes.Equal(got, want) || fmt.Sprint(stats) != fmt.Sprint(wantStats) {
				rt.Fatalf("%d helpers: %d bytes, want %d; %+v, want %+v: %v", helpers, len(got), len(want), stats, wantStats, err)
			}
			given.Add(h.done.Load())
			files.Add(1)
		}
	}
	for range 10 { // how many batches helpers have depends on the scheduler
		if testcheck.Check(t, check); given.Load() > 0 {
			break
		}
	}
	if given.Load() == 0 {
		t.Errorf("helpers had %d batches of %d files", given.Load(), files.Load())
	}
	t.Logf("helpers had %d batches of %d files", given.Load(), files.Load())
}

// TestSharedCheckRows makes the comparison of TestSharedRowsAreTheSame for rows of the check table with the default
// batch size.
func TestSharedCheckRows(t *testing.T) {
	s, keys, rows, _ := checkRows(20000)
	for _, o := range []Options{
		{Encoding: EncodingFastDiff, Compression: CompressionSnappy, Bloom: BloomRow},
		{Encoding: EncodingNone, Compression: CompressionLZ4, Bloom: BloomRowPrefix, BloomPrefix: 3, BlockSize: 8 << 10},
	} {
		o.Family = []byte("f")
		want, _, err := writeRows(o, s, keys, rows, nil, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, together := range []func() int{nil, func() int { return 700 }} {
			h := startHelpers(t, 3, 10)
			got, _, err := writeRows(o, s, keys, rows, h, batchSize, together)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes, want %d: %v", o.Encoding, len(got), len(want), err)
			}
			if res := Check(bytes.NewReader(got), int64(len(got)), CheckOptions{Probes: 100}); !res.OK {
				t.Errorf("%s: %q", o.Encoding, res.Errors)
			}
			if h.done.Load() == 0 {
				t.Errorf("%s: nothing was given to helpers", o.Encoding)
			}
		}
	}
}

// TestSharedFailures checks that rows out of order and a failing output give the
// same errors as without helpers, whatever helpers are doing.
func TestSharedFailures(t *testing.T) {
	s, keys, rows, _ := checkRows(8000)
	o := Options{Family: []byte("f"), Encoding: EncodingFastDiff, Compression: CompressionSnappy, Bloom: BloomRow}
	w, err := NewRowWriter(io.Discard, o, s)
	if err != nil {
		t.Fatal(err)
	}
	w.Share(startHelpers(t, 2, 0))
	for i, k := range keys {
		if err := w.AppendRow(k, rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	if w.batch == nil {
		t.Error("no rows are shared")
	}
	if err := w.AppendRow(keys[len(keys)-1], rows[0]); !errors.Is(err, ErrOrder) {
		t.Errorf("a row for the second time: %v", err)
	}
	if _, err := w.Finish(); !errors.Is(err, ErrOrder) {
		t.Errorf("finish: %v", err)
	}

	full := errors.New("disk full")
	if w, err = NewRowWriter(writerFunc(func([]byte) (int, error) { return 0, full }), o, s); err != nil {
		t.Fatal(err)
	}
	w.Share(startHelpers(t, 2, 0))
	for i, k := range keys {
		if err = w.AppendRow(k, rows[i]); err != nil {
			break
		}
	}
	if _, finish := w.Finish(); !errors.Is(finish, full) || err != nil && !errors.Is(err, full) {
		t.Errorf("%v, %v", err, finish)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestSharedIsBounded checks that with slow helpers no more batches are pending
// than documented, and that the writing goroutine encodes rows itself.
func TestSharedIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, keys, rows, _ := checkRows(30000)
		want, _, err := writeRows(Options{Family: []byte("f"), Encoding: EncodingFastDiff}, s, keys, rows, nil, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w, err := NewRowWriter(&out, Options{Family: []byte("f"), Encoding: EncodingFastDiff}, s)
		if err != nil {
			t.Fatal(err)
		}
		h := &lateHelpers{}
		w.Share(h)
		most := 0
		for i, k := range keys {
			if err := w.AppendRow(k, rows[i]); err != nil {
				t.Fatal(err)
			}
			most = max(most, len(w.pending))
		}
		if _, err := w.Finish(); err != nil || !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%d bytes, want %d: %v", out.Len(), len(want), err)
		}
		if limit := 2*h.Count() + 2; most > limit || most == 0 || h.given == 0 {
			t.Errorf("%d batches were pending, at most %d may be; %d were given", most, limit, h.given)
		}
	})
}

// lateHelpers run one function whenever all other goroutines are blocked.
type lateHelpers struct {
	given int
	mu    sync.Mutex
	work  []func()
}

func (h *lateHelpers) Count() int { return 2 }

func (h *lateHelpers) Wait(done <-chan struct{}) { <-done }

func (h *lateHelpers) Do(work func()) bool {
	h.given++
	if h.given%3 == 0 {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.work = append(h.work, work); len(h.work) == 1 {
		go h.run()
	}
	return true
}

func (h *lateHelpers) run() {
	for {
		synctest.Wait()
		h.mu.Lock()
		work := h.work[0]
		h.mu.Unlock()
		work()
		h.mu.Lock()
		h.work = h.work[1:]
		none := len(h.work) == 0
		h.mu.Unlock()
		if none {
			return
		}
	}
}

// TestResetWriter checks that a reused writer writes the same files as a new one.
func TestResetWriter(t *testing.T) {
	testcheck.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		o := Options{
			Family:         []byte("f"),
			Compression:    rapid.SampledFrom([]Compression{CompressionSnappy, CompressionNone, CompressionZSTD, CompressionGZ}).Draw(rt, "compression"),
			Encoding:       rapid.SampledFrom([]Encoding{EncodingFastDiff, EncodingNone, EncodingDiff, EncodingRowIndexV1}).Draw(rt, "encoding"),
			Bloom:          BloomType(rapid.IntRange(0, len(bloomNames)-1).Draw(rt, "bloom")),
			BloomPrefix:    3,
			BlockSize:      rapid.SampledFrom([]int{60, 500, 0}).Draw(rt, "block size"),
			IndexBlockSize: rapid.SampledFrom([]int{128, 0}).Draw(rt, "index block size"),
			BloomBlockSize: rapid.SampledFrom([]int{256, 300, 0}).Draw(rt, "bloom block size"),
			CreateTime:     1, BulkloadTime: 1,
		}
		s, _, _ := randomRows(r, 1, 5, 20)
		var w *RowWriter
		var out bytes.Buffer
		for file := range rapid.IntRange(1, 5).Draw(rt, "files") {
			_, keys, rows := randomRows(r, r.IntN(300), 5, 200)
			want, wantStats, err := writeRows(o, s, keys, rows, nil, 0, nil)
			if err != nil {
				rt.Fatal(err)
			}
			out.Reset()
			if w == nil {
				if w, err = NewRowWriter(&out, o, s); err != nil {
					rt.Fatal(err)
				}
			} else {
				w.Reset(&out)
			}
			h := startHelpers(t, r.IntN(2), 0)
			if w.Share(h); w.helpers != nil {
				w.batchSize = 300
			}
			if err := appendAll(w, keys, rows, func() int { return r.IntN(3) }); err != nil {
				rt.Fatal(err)
			}
			stats, err := w.Finish()
			if err != nil || !bytes.Equal(out.Bytes(), want) || fmt.Sprint(stats) != fmt.Sprint(wantStats) {
				rt.Fatalf("file %d: %d bytes, want %d; %+v, want %+v: %v", file, out.Len(), len(want), stats, wantStats, err)
			}
		}
	})
}
