package hdfsio

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// replicas returns the files on the DataNodes' disks that hold a block's content.
func replicas(t testing.TB, content []byte) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(testcluster.Shared(t).Dir(), "data"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasPrefix(d.Name(), "blk_") || strings.HasSuffix(p, ".meta") {
			return nil // files of other tests may disappear
		}
		if info, err := d.Info(); err != nil || info.Size() != int64(len(content)) {
			return nil
		}
		if b, err := os.ReadFile(p); err == nil && bytes.Equal(b, content) {
			found = append(found, p)
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("no block of %d bytes: %v", len(content), err)
	}
	return found
}

// TestFlippedBitOnDiskIsNotRead flips a bit in the second block of a file, on every disk that has it.
func TestFlippedBitOnDiskIsNotRead(t *testing.T) {
	h, dir := clusterFS(t, "")
	data := noise(2<<20 + 12_345)
	name := dir + "/flipped"
	writeFile(t, h, name, data, CreateOptions{BlockSize: 1 << 20})
	const at = 1<<20 + 500_001
	for _, file := range replicas(t, data[1<<20:2<<20]) {
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		testcheck.Must(t, err)
		_, err = f.WriteAt([]byte{data[at] ^ 1}, at-1<<20)
		testcheck.Must(t, errors.Join(err, f.Close()))
	}
	for _, size := range []int{100, 512, 70_000, len(data)} {
		f, err := h.Open(t.Context(), name)
		testcheck.Must(t, err)
		var got []byte
		p := make([]byte, size)
		for err == nil {
			var n int
			n, err = f.Read(p)
			got = append(got, p[:n]...)
		}
		if blockError(err) == nil || !strings.Contains(err.Error(), "hdfs fsck "+name) {
			t.Errorf("reads of %d bytes: %v", size, err)
		}
		if len(got) > at || !bytes.HasPrefix(data, got) {
			t.Errorf("reads of %d bytes: %d came, or wrong ones", size, len(got))
		}
		if n, err := f.(io.ReaderAt).ReadAt(p, at-10); blockError(err) == nil || !bytes.Equal(p[:n], data[at-10:at-10+n]) {
			t.Errorf("ReadAt of %d bytes: %d, %v", size, n, err)
		}
		rest := make([]byte, len(data)-2<<20)
		if _, err := f.(io.ReaderAt).ReadAt(rest, 2<<20); err != nil || !bytes.Equal(rest, data[2<<20:]) {
			t.Errorf("the block behind it: %v", err)
		}
		testcheck.Must(t, f.Close())
	}
}

func BenchmarkHDFSRead(b *testing.B) {
	if os.Getenv(testcluster.EnvConf) == "" {
		b.Skip("set " + testcluster.EnvConf + " to a running cluster's configuration")
	}
	h, dir := clusterFS(b, "")
	const size = 256 << 20
	testcheck.Must(b, benchWrite(b.Context(), h, dir+"/f", noise(1<<20), size))
	b.SetBytes(size)
	b.ReportAllocs()
	buf := make([]byte, 512<<10)
	for b.Loop() {
		f, err := h.Open(b.Context(), dir+"/f")
		testcheck.Must(b, err)
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, f, buf)
		testcheck.Must(b, err)
		if n != size {
			b.Fatal(n)
		}
		testcheck.Must(b, f.Close())
	}
}

// TestChecksumOfAFile checks that HDFS's checksums of the blocks give the file's checksum, for any
// number of blocks.
func TestChecksumOfAFile(t *testing.T) {
	h, dir := clusterFS(t, "")
	for i, size := range []int{0, 1, 511, 512, 70_001, 2<<20 + 12_345} {
		name, data := fmt.Sprintf("%s/sum%d", dir, i), noise(size)
		writeFile(t, h, name, data, CreateOptions{BlockSize: 1 << 20})
		sum, n, err := h.CRC32C(t.Context(), name)
		if want := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)); err != nil || sum != want || n != int64(size) {
			t.Errorf("%d bytes: %08x of %d, want %08x, %v", size, sum, n, want, err)
		}
	}
	if _, _, err := h.CRC32C(t.Context(), dir+"/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is missing: %v", err)
	}
}
