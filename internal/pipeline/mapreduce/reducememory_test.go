package mapreduce

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/chunk"
	"bulkload/internal/pipeline/share"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/partition/extsort"
)

// packedMap writes the rows of one map, half of whose bytes cannot be packed, and returns the records.
func packedMap(t *testing.T, dir string, m, rows, size int) *chunk.FrameReader {
	t.Helper()
	s, err := extsort.New(extsort.Options{Regions: 1, Memory: extsort.MinMemory, Dir: dir})
	testcheck.Must(t, err)
	w, err := s.Writer()
	testcheck.Must(t, err)
	random := rand.New(rand.NewPCG(1, uint64(m)))
	var key [16]byte
	for i := range rows {
		binary.BigEndian.PutUint64(key[:], random.Uint64())
		binary.BigEndian.PutUint64(key[8:], uint64(m))
		payload, err := w.Add(0, uint64(m)<<40|uint64(i+1), key[:], 300)
		testcheck.Must(t, err)
		for j := 0; j < len(payload); j += 4 {
			if copy(payload[j:], "abcd"); j%8 == 0 {
				binary.BigEndian.PutUint32(payload[j:], random.Uint32())
			}
		}
	}
	testcheck.Must(t, s.Finish())
	name := filepath.Join(dir, strconv.Itoa(m))
	f, err := os.Create(name)
	testcheck.Must(t, err)
	t.Cleanup(func() { f.Close() })
	merge, err := s.Region(0)
	testcheck.Must(t, err)
	_, err = chunk.NewWriter(chunk.NewFrameWriter(f), chunk.Options{Run: uint32(m), Size: size}).Region(0, merge)
	testcheck.Must(t, err)
	merge.Close()
	testcheck.Must(t, s.Close())
	_, err = f.Seek(0, 0)
	testcheck.Must(t, err)
	return chunk.NewFrameReader(f, name)
}

// TestChunksOfAReduce merges the chunks of many maps, and checks that a reduce holds one of each within half of its memory.
func TestChunksOfAReduce(t *testing.T) {
	const maps, rows = 150, 1200
	memory := spec.Size(maps * 2 * (chunk.MinSize + openBlocks))
	dir := t.TempDir()
	var all []*chunk.FrameReader
	for m := range maps {
		all = append(all, packedMap(t, dir, m, rows, chunkSize(memory, maps)))
	}
	before, most, n := testcheck.Heap(), int64(0), 0
	r := chunk.NewReader(chunk.Join(all...), nil)
	_, err := r.Next()
	testcheck.Must(t, err)
	merge, err := r.Merge(0, chunk.RegionOptions{Duplicates: extsort.Fail})
	testcheck.Must(t, err)
	for merge.Next() {
		if n++; n%(maps*rows/10) == 0 {
			most = max(most, testcheck.Heap()-before)
		}
	}
	testcheck.Must(t, merge.Err())
	if n != maps*rows || most > int64(memory)/2 || most < int64(memory)/8 {
		t.Errorf("%d rows; a reduce of %d bytes holds %d", n, memory, most)
	}
}

// TestMostMaps checks that chosen maps fit into the memory of a reduce, in the work and in the prediction, and that more are refused, whatever was asked for.
func TestMostMaps(t *testing.T) {
	for _, c := range []struct {
		maps, memory, parts int
		want                int
		says                string
	}{
		{0, 0, 5000, 2000, ""},
		{0, MinMemory, 5000, 672, ""},
		{0, MinMemory, 3, 3, ""},
		{672, MinMemory, 5000, 672, ""},
		{673, MinMemory, 5000, 673, "673 maps are too many: the containers of reduces hold the rows of 672 at a time"},
		{20_000, 0, 5000, 5000, "hold the rows of 2464 at a time"},
		{20_000, 0, 300, 300, ""},
	} {
		s := Settings{Maps: c.maps, ReduceMemory: c.memory}
		p := &share.Plan{Inputs: []share.InputFile{{Size: 10 << 40}}, Parts: make([]share.InputSplit, c.parts)}
		w := s.Cut(p)
		if err := w.fits(); w.Maps != c.want || (err == nil) != (c.says == "") || err != nil && (!strings.Contains(err.Error(), c.says) || fail.KindOf(err) != fail.Config) {
			t.Errorf("%+v: %d maps, %v", c, w.Maps, err)
		}
		if n := s.Predict(10<<40, 0, []float64{1}, 0).Maps; c.parts == 5000 && c.maps == 0 && n != c.want {
			t.Errorf("%+v: %d maps are predicted", c, n)
		}
		if most := w.Maps * (w.ChunkSize + openBlocks); c.says == "" && most > int(w.ReduceMemory) || w.ChunkSize > chunk.MinSize && most > int(w.ReduceMemory)/2 {
			t.Errorf("%+v: chunks of %d bytes take %d of %d", c, w.ChunkSize, most, w.ReduceMemory)
		}
	}
}
