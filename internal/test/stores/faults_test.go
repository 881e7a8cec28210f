package stores

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source"
)

// lines returns a CSV file of about n bytes.
func lines(r *rand.Rand, n int) []byte {
	var b bytes.Buffer
	b.WriteString("id,text\n")
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%d,%x\n", i, r.Uint64())
	}
	return b.Bytes()
}

// TestHarm reads objects of many ranges from a server that returns 503, resets, truncates or is slow for 5 % of
// requests and more: every row is right.
func TestHarm(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "")
	r := testcheck.Rand(t)
	dir := t.TempDir()
	for i := range 3 {
		testcheck.Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.csv", i)), lines(r, 12<<20), 0o644))
	}
	s := &S3{Bucket: "b"}
	testcheck.Must(t, s.Serve(dir))
	proxy := NewProxy(s, rand.New(rand.NewPCG(r.Uint64(), 1)), Harm{Busy: 0.05, Reset: 0.05, Short: 0.05, Slow: 0.05})
	server := httptest.NewServer(proxy)
	defer server.Close()
	resolve := resolver(t, "s3="+server.URL+"?credentials=none")
	want, err := read(t.Context(), local, dir, []string{"/*.csv"}, source.Options{})
	testcheck.Must(t, err)
	got, err := read(t.Context(), resolve, "s3://b", []string{"/*.csv"}, source.Options{})
	testcheck.Must(t, err)
	if !slices.Equal(got, want) {
		t.Error(firstDifference(got, want))
	}
	if proxy.Harmed.Load() == 0 {
		t.Error("no request was harmed")
	}
}

// TestShortBodies ends the first answer to each Range in its middle, as a chunked body that is complete by HTTP's rules, and checks that all bytes are
// read.
func TestShortBodies(t *testing.T) {
	dir := t.TempDir()
	testcheck.Must(t, os.WriteFile(filepath.Join(dir, "x.csv"), lines(testcheck.Rand(t), 3<<20), 0o644))
	s := &S3{Bucket: "b"}
	testcheck.Must(t, s.Serve(dir))
	var short sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if _, again := short.LoadOrStore(q.Header.Get("Range"), true); again || q.Header.Get("Range") == "" {
			s.ServeHTTP(w, q)
			return
		}
		whole := httptest.NewRecorder()
		s.ServeHTTP(whole, q)
		whole.Header().Del("Content-Length")
		maps.Copy(w.Header(), whole.Header())
		w.WriteHeader(whole.Code)
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
		_ = http.NewResponseController(w).Flush()
	}))
	defer server.Close()
	want, err := read(t.Context(), local, dir, []string{"/x.csv"}, source.Options{})
	testcheck.Must(t, err)
	got, err := read(t.Context(), resolver(t, "s3="+server.URL+"?credentials=none"), "s3://b", []string{"/x.csv"}, source.Options{})
	testcheck.Must(t, err)
	if !slices.Equal(got, want) {
		t.Error(firstDifference(got, want))
	}
}

// TestReadOnce checks that a file that is read sequentially is sent about once, whatever its splits.
func TestReadOnce(t *testing.T) {
	r := testcheck.Rand(t)
	s := &S3{Bucket: "b"}
	text := lines(r, 40<<20)
	s.Put("x.csv", text, time.Now())
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { s.ServeHTTP(&countedWriter{w, &sent}, q) }))
	defer server.Close()
	resolve := resolver(t, "s3="+server.URL+"?credentials=none")
	in, err := source.Open(t.Context(), resolve, []string{"s3://b/x.csv"}, source.Options{})
	testcheck.Must(t, err)
	before := sent.Load()
	for i := range in.Splits() {
		testcheck.Must(t, in.NewReader().Read(t.Context(), i, func(*source.Batch) error { return nil }))
	}
	if n := sent.Load() - before; n < int64(len(text))*9/10 || n > int64(len(text))*11/10 {
		t.Errorf("%d bytes were sent of %d", n, len(text))
	}
	if before > 5*int64(len(text))/4 {
		t.Errorf("%d bytes were sent to plan %d", before, len(text))
	}
}

type countedWriter struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c *countedWriter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n.Add(int64(n))
	return n, err
}

// TestChangedObject replaces an object while it is read by other bytes of the same length: the error names it, and no row of the new object
// follows rows of the old one.
func TestChangedObject(t *testing.T) {
	r := testcheck.Rand(t)
	for _, change := range []string{"written", "gone", "longer"} {
		s := &S3{Bucket: "b"}
		text := lines(r, 30<<20)
		s.Put("x.csv", text, time.Unix(1e9, 0))
		server := httptest.NewServer(s)
		resolve := resolver(t, "s3="+server.URL+"?credentials=none")
		in, err := source.Open(t.Context(), resolve, []string{"s3://b/x.csv"}, source.Options{SplitSize: 100 << 20})
		testcheck.Must(t, err)
		rows := 0
		err = in.NewReader().Read(t.Context(), 0, func(b *source.Batch) error {
			if rows == 0 {
				switch change {
				case "written":
					s.Put("x.csv", bytes.ToUpper(text), time.Unix(1e9, 0))
				case "longer":
					s.Put("x.csv", append(slices.Clip(text), "1,2\n"...), time.Unix(1e9, 0))
				default:
					s.Delete("x.csv")
				}
			}
			rows += b.Rows
			for i := range b.Rows {
				if v := b.Fields[i*b.Cols+1].Of(b.Data); !bytes.Equal(v, bytes.ToLower(v)) {
					return errors.New("a row of the other object")
				}
			}
			return nil
		})
		if err == nil || rows == 0 || !strings.Contains(err.Error(), "s3://b/x.csv has changed since it was listed") {
			t.Errorf("%s: %d rows, %v", change, rows, err)
		}
		if err := in.Recheck(t.Context()); err == nil || !strings.Contains(err.Error(), "s3://b/x.csv") {
			t.Errorf("%s: looked at again: %v", change, err)
		}
		server.Close()
	}
}

// TestChangedBetween lists an object, replaces it by one of the same name, size and time, and opens it: its ETag
// shows the change.
func TestChangedBetween(t *testing.T) {
	s := &S3{Bucket: "b"}
	s.Put("x.csv", []byte("id\n1\n"), time.Unix(1e9, 0))
	server := httptest.NewServer(s)
	defer server.Close()
	resolve := resolver(t, "s3="+server.URL+"?credentials=none")
	in, err := source.Open(t.Context(), resolve, []string{"s3://b/x.csv"}, source.Options{})
	testcheck.Must(t, err)
	was, err := source.List(t.Context(), resolve, []string{"s3://b/x.csv"}, source.Options{})
	testcheck.Must(t, err)
	s.Put("x.csv", []byte("id\n2\n"), time.Unix(1e9, 0))
	now, err := source.List(t.Context(), resolve, []string{"s3://b/x.csv"}, source.Options{})
	testcheck.Must(t, err)
	if was[0].FileID == now[0].FileID || was[0].Size != now[0].Size || !was[0].ModTime.Equal(now[0].ModTime) {
		t.Errorf("%+v, then %+v", was[0], now[0])
	}
	err = in.NewReader().Read(t.Context(), 0, func(*source.Batch) error { return errors.New("a row came") })
	if changed, ok := errors.AsType[*source.ChangedError](err); !ok || !strings.Contains(changed.What, "it is another object (tag ") {
		t.Errorf("%v", err)
	}
}

// TestStopped cancels reads that wait for a server that does not respond.
func TestStopped(t *testing.T) {
	s := &S3{Bucket: "b"}
	s.Put("x.csv", lines(testcheck.Rand(t), 1<<20), time.Now())
	release := make(chan struct{})
	var hold atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if hold.Load() {
			<-release
		}
		s.ServeHTTP(w, q)
	}))
	defer server.Close()
	defer close(release)
	fsys, name, err := resolver(t, "s3="+server.URL+"?credentials=none")("s3://b/x.csv")
	testcheck.Must(t, err)
	ctx, stop := context.WithCancelCause(t.Context())
	f, err := fsys.Open(ctx, name)
	testcheck.Must(t, err)
	hold.Store(true)
	why := errors.New("stopped")
	time.AfterFunc(10*time.Millisecond, func() { stop(why) })
	if _, err := f.Read(make([]byte, 10)); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	testcheck.Must(t, f.Close())
	hold.Store(false)
	if _, err := fsys.Stat(t.Context(), "/no"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestReadAgain reads an object in order, in pieces of any size, goes back by some bytes after each of them, and elsewhere at times, and checks all bytes.
func TestReadAgain(t *testing.T) {
	r := testcheck.Rand(t)
	s := &S3{Bucket: "b"}
	text := lines(r, 5<<20)
	s.Put("x", text, time.Now())
	server := httptest.NewServer(s)
	defer server.Close()
	fsys, name, err := resolver(t, "s3="+server.URL+"?credentials=none")("s3://b/x")
	testcheck.Must(t, err)
	f, err := fsys.Open(t.Context(), name)
	testcheck.Must(t, err)
	check := func(at, n int) {
		at = max(0, min(at, len(text)))
		p := make([]byte, min(n, len(text)-at))
		if _, err := f.(io.ReaderAt).ReadAt(p, int64(at)); err != nil || !bytes.Equal(p, text[at:][:len(p)]) {
			t.Fatalf("%d bytes at %d: %v", n, at, err)
		}
	}
	for at := 0; at < len(text); {
		n := 1 + r.IntN(1<<(8+r.IntN(12)))
		check(at, n)
		at += n
		back := 1 + r.IntN(8<<10)
		check(at-back, 1+r.IntN(2*back))
		if r.IntN(4) == 0 {
			check(r.IntN(len(text)), 1+r.IntN(100<<10))
		}
	}
	check(0, len(text))
	check(len(text)-100, 100)
	testcheck.Must(t, f.Close())
}

// TestColumnsReadOnce checks that columns that are read concurrently, in pages of some kilobytes, are sent about
// once.
func TestColumnsReadOnce(t *testing.T) {
	r := testcheck.Rand(t)
	s := &S3{Bucket: "b"}
	text := lines(r, 24<<20)
	s.Put("x", text, time.Now())
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { s.ServeHTTP(&countedWriter{w, &sent}, q) }))
	defer server.Close()
	fsys, name, err := resolver(t, "s3="+server.URL+"?credentials=none")("s3://b/x")
	testcheck.Must(t, err)
	f, err := fsys.Open(t.Context(), name)
	testcheck.Must(t, err)
	const columns = 40
	size := len(text) / columns
	for at := 0; at < size; {
		n := min(4<<10+r.IntN(12<<10), size-at)
		for c := range columns {
			p := make([]byte, n)
			if _, err := f.(io.ReaderAt).ReadAt(p, int64(c*size+at)); err != nil || !bytes.Equal(p, text[c*size+at:][:n]) {
				t.Fatalf("column %d at %d: %v", c, at, err)
			}
		}
		at += n
	}
	testcheck.Must(t, f.Close())
	if n := sent.Load(); n > int64(len(text))*13/10 {
		t.Errorf("%d bytes were sent of %d", n, len(text))
	}
}
