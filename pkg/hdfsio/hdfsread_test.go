package hdfsio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/hadoop/dfs"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testdfs"

	"pgregory.net/rapid"
)

// flipByte returns a function that flips a bit of one byte of a response, counted from its start, or from its end if at is negative.
func flipByte(at int) func([]byte, testdfs.Read) []byte {
	return func(a []byte, _ testdfs.Read) []byte { return testdfs.FlipByte(a, at) }
}

// blockError returns the BlockError in an error.
func blockError(err error) *BlockError {
	e, _ := errors.AsType[*BlockError](err)
	return e
}

func readAll(t testing.TB, h *HDFS) ([]byte, error) {
	t.Helper()
	f, err := h.Open(t.Context(), "/dir/file")
	testcheck.Must(t, err)
	defer f.Close()
	return io.ReadAll(f)
}

// TestDamagedBlockIsNotRead checks that a read from a single DataNode with a flipped bit ends before the bit, with an error that names the block.
func TestDamagedBlockIsNotRead(t *testing.T) {
	data := noise(200_000)
	for _, kind := range []uint64{1, 2} {
		node := newFakeDataNode(t, testdfs.Shape{Kind: kind, Chunk: 512, Packet: 64 << 10, Damage: 150_000}, nil)
		h := serveFake(t, fakeBlock{data, []*fakeDataNode{node}})
		got, err := readAll(t, h)
		if !bytes.Equal(got, data[:len(got)]) || len(got) != 128<<10 {
			t.Errorf("%d bytes came, or wrong ones", len(got))
		}
		e := blockError(err)
		if e == nil || !errors.Is(err, ErrBlockChecksum) || e.DataNode != node.listener.Addr().String() || e.Block != "blk_0_1001" || e.Offset != 150_000/512*512 {
			t.Errorf("error %v", err)
		}
		for _, word := range []string{"/dir/file", "hdfs fsck /dir/file", "blk_0_1001", node.listener.Addr().String()} {
			if !strings.Contains(fmt.Sprint(err), word) {
				t.Errorf("error does not name %s: %v", word, err)
			}
		}
		if pe, ok := errors.AsType[*fs.PathError](err); !ok || pe.Path != "/dir/file" {
			t.Errorf("error %v", err)
		}
		testcheck.Must(t, h.Close())
	}
}

// TestDamagedBlockIsBlamedAfterAnotherError checks that the error is about the damaged block even if a second DataNode cannot be reached.
func TestDamagedBlockIsBlamedAfterAnotherError(t *testing.T) {
	data := noise(1000)
	dead := newFakeDataNode(t, testdfs.UsualShape, nil)
	dead.listener.Close()
	h := serveFake(t, fakeBlock{data, []*fakeDataNode{newFakeDataNode(t, testdfs.Shape{Kind: 1, Chunk: 512, Packet: 512, Damage: 700}, nil), dead}})
	defer h.Close()
	if _, err := readAll(t, h); blockError(err) == nil {
		t.Errorf("error %v", err)
	}
}

// TestGoodReplicaIsRead fails over from a damaged replica, at the start of the file and in the middle of it.
func TestGoodReplicaIsRead(t *testing.T) {
	data := noise(300_000)
	for _, at := range []int{5, 70, 1000, 150_000, -20, -60} {
		bad := newFakeDataNode(t, testdfs.UsualShape, flipByte(at))
		good := newFakeDataNode(t, testdfs.UsualShape, nil)
		h := serveFake(t, fakeBlock{data, []*fakeDataNode{bad, good}})
		got, err := readAll(t, h)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("byte %d: %d bytes, %v", at, len(got), err)
		}
		if bad.reads != 1 || good.reads > 1 {
			t.Errorf("byte %d: %d and %d reads", at, bad.reads, good.reads)
		}
		testcheck.Must(t, h.Close())
	}
}

// TestShortSkipThenFailover reads a little ahead of its position, and then loses the DataNode: the bytes must be
// those of the new position. The library alone returns bytes from before the skip.
func TestShortSkipThenFailover(t *testing.T) {
	data := noise(300_000)
	for _, small := range []bool{true, false} {
		bad := newFakeDataNode(t, testdfs.UsualShape, func(a []byte, _ testdfs.Read) []byte { return a[:min(len(a), 200_000)] })
		good := newFakeDataNode(t, testdfs.UsualShape, nil)
		h := serveFake(t, fakeBlock{data[:250_000], []*fakeDataNode{bad, good}}, fakeBlock{data[250_000:], []*fakeDataNode{good}})
		f, err := h.Open(t.Context(), "/f")
		testcheck.Must(t, err)
		off, size := int64(0), 50_000
		if small {
			size = 100
		}
		for p := make([]byte, size); off+int64(size) <= int64(len(data)); off += int64(size) + 10_000 {
			n, err := f.(io.ReaderAt).ReadAt(p, off)
			if err != nil || !bytes.Equal(p[:n], data[off:off+int64(n)]) {
				t.Fatalf("%d bytes at %d: %d, %v, or wrong ones", size, off, n, err)
			}
		}
		if bad.reads == 0 || good.reads == 0 {
			t.Errorf("%d and %d reads", bad.reads, good.reads)
		}
		testcheck.Must(t, f.Close())
		testcheck.Must(t, h.Close())
	}
}

// TestBlockThatEndsEarlyIsAnError checks the error of a DataNode that ends a block too early.
func TestBlockThatEndsEarlyIsAnError(t *testing.T) {
	data := noise(2000)
	short := newFakeDataNode(t, testdfs.UsualShape, func(_ []byte, req testdfs.Read) []byte {
		return testdfs.UsualShape.Answer(data[:1000], testdfs.Read{Start: req.Start, End: 1000})
	})
	h := serveFake(t, fakeBlock{data, []*fakeDataNode{short}})
	defer h.Close()
	got, err := readAll(t, h)
	if blockError(err) == nil || !strings.Contains(err.Error(), "1000 bytes too early") || !bytes.HasPrefix(data[:1000], got) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestRefusedTokenIsRenewed checks that a DataNode that refuses the token is asked again with a new one, and is not treated as
// failed.
func TestRefusedTokenIsRenewed(t *testing.T) {
	data := noise(2000)
	var refused atomic.Int64
	node := newFakeDataNode(t, testdfs.UsualShape, func(a []byte, _ testdfs.Read) []byte {
		if refused.Add(-1) >= 0 {
			return testdfs.Status(5)
		}
		return a
	})
	for _, n := range []int64{1, 2} {
		refused.Store(n)
		h, f := newFakeHDFS(t, fakeBlock{data, []*fakeDataNode{node}})
		got, err := readAll(t, h)
		if err != nil || !bytes.Equal(got, data) || n == 1 && f.calls["getBlockLocations"] != 2 {
			t.Errorf("refused %d times: %d bytes, %v after %v", n, len(got), err, f.calls)
		}
		testcheck.Must(t, h.Close())
	}
}

// TestReplacedFileIsNotRead checks that a file that was replaced or shortened after it was opened is not read. One that has grown
// is read up to its length at opening.
func TestReplacedFileIsNotRead(t *testing.T) {
	data := noise(2000)
	for what, change := range map[string]func(f *fakeHDFS){
		"replaced": func(f *fakeHDFS) { f.id++ },
		"shorter":  func(f *fakeHDFS) { f.size-- },
		"grown":    func(f *fakeHDFS) { f.size++ },
	} {
		h, f := newFakeHDFS(t, fakeBlock{append(data, 'x'), []*fakeDataNode{newFakeDataNode(t, testdfs.UsualShape, nil)}})
		f.size = len(data)
		file, err := h.Open(t.Context(), "/f")
		testcheck.Must(t, err)
		f.mu.Lock()
		change(f)
		f.mu.Unlock()
		got, err := io.ReadAll(file)
		if what == "grown" && (err != nil || !bytes.Equal(got, data)) || what != "grown" && (!errors.Is(err, dfs.ErrReplaced) || len(got) > 0) {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
		testcheck.Must(t, file.Close())
		testcheck.Must(t, h.Close())
	}
}

// TestReadEndsWithItsContext checks that a read from a DataNode that sends nothing ends with its context.
func TestReadEndsWithItsContext(t *testing.T) {
	silent := newFakeDataNode(t, testdfs.UsualShape, func([]byte, testdfs.Read) []byte {
		<-t.Context().Done()
		return nil
	})
	h := serveFake(t, fakeBlock{noise(2000), []*fakeDataNode{silent}})
	defer h.Close()
	why := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	f, err := h.Open(ctx, "/f")
	testcheck.Must(t, err)
	defer f.Close()
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	if _, err := f.Read(make([]byte, 10)); !errors.Is(err, why) {
		t.Error(err)
	}
}

// TestEmptyFile reads a file without blocks.
func TestEmptyFile(t *testing.T) {
	h := serveFake(t)
	defer h.Close()
	if got, err := readAll(t, h); len(got) > 0 || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestReadsAreRightOrFail reads files of all shapes in all ways from DataNodes, at least one of them good.
func TestReadsAreRightOrFail(t *testing.T) {
	testcheck.Check(t, func(rt *rapid.T) {
		t := subtest{TB: t}
		defer t.end()
		s := testdfs.Shape{Kind: rapid.Uint64Range(0, 2).Draw(rt, "kind"), Chunk: rapid.SampledFrom([]int64{1, 16, 100, 512, 4096}).Draw(rt, "chunk")}
		s.Packet = s.Chunk * rapid.Int64Range(1, 128).Draw(rt, "chunks")
		var blocks []fakeBlock
		var data []byte
		var nodes []*fakeDataNode
		good := rapid.IntRange(0, 2).Draw(rt, "good")
		for i := range 3 {
			var spoil func([]byte, testdfs.Read) []byte
			if i != good {
				at := rapid.IntRange(-20_000, 20_000).Draw(rt, "at")
				switch cut := rapid.Bool().Draw(rt, "cut"); {
				case cut:
					spoil = func(a []byte, _ testdfs.Read) []byte { return a[:min(len(a), max(at, -at))] }
				case s.Kind > 0: // not detectable without checksums
					spoil = flipByte(at)
				}
			}
			nodes = append(nodes, newFakeDataNode(&t, s, spoil))
		}
		for range rapid.IntRange(1, 3).Draw(rt, "blocks") {
			block := noise(rapid.IntRange(1, 150_000).Draw(rt, "size"))
			data = append(data, block...)
			blocks = append(blocks, fakeBlock{block, nodes})
		}
		h := serveFake(&t, blocks...)
		defer h.Close()
		f, err := h.Open(t.Context(), "/f")
		testcheck.Must(&t, err)
		defer f.Close()
		var seq []byte
		off := int64(0)
		for range rapid.IntRange(1, 12).Draw(rt, "reads") {
			p := make([]byte, rapid.OneOf(rapid.IntRange(1, 600), rapid.IntRange(1, 200_000)).Draw(rt, "length"))
			if rapid.Bool().Draw(rt, "forward") {
				n, err := f.Read(p)
				seq = append(seq, p[:n]...)
				if err != nil && (err != io.EOF || len(seq) != len(data)) {
					rt.Fatalf("Read at %d of %d: %v", len(seq), len(data), err)
				}
				continue
			}
			if rapid.Bool().Draw(rt, "near") {
				off = min(off+rapid.Int64Range(0, 70_000).Draw(rt, "skip"), int64(len(data)))
			} else {
				off = rapid.Int64Range(0, int64(len(data))).Draw(rt, "offset")
			}
			n, err := f.(io.ReaderAt).ReadAt(p, off)
			want := data[off:min(off+int64(len(p)), int64(len(data)))]
			if !bytes.Equal(p[:n], want) || err != nil && err != io.EOF {
				rt.Fatalf("ReadAt(%d bytes, %d) of %d: %d, %v", len(p), off, len(data), n, err)
			}
			off += int64(n)
		}
		if !bytes.Equal(seq, data[:len(seq)]) {
			rt.Fatalf("Read: other bytes in the first %d of %d", len(seq), len(data))
		}
	})
}

// subtest runs its cleanups before the test ends.
type subtest struct {
	testing.TB
	cleanups []func()
}

func (s *subtest) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

func (s *subtest) end() {
	for _, f := range s.cleanups {
		f()
	}
}
