package hfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// forged is a file whose blocks have arbitrary contents with valid headers and
// checksums.
type forged struct {
	o       Options
	kind    blockKind
	data    []byte   // the one data block
	leaf    []byte   // a leaf after it, if not nil
	root    []byte   // root index
	levels  int      // of the index
	entries int      // of the root index
	info    []byte   // file info
	bloom   []byte   // general bloom metadata, if not nil
	chunk   []byte   // a bloom chunk, if not nil
	trailer *trailer // replaces the valid trailer
}

// forge returns a file with one valid data block.
func forge(o Options) *forged {
	w, err := NewWriter(io.Discard, o)
	if err != nil {
		panic(err)
	}
	cell := Cell{Row: []byte("row"), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: 7, Type: Put, Value: []byte("value")}
	if err := w.Append(&cell); err != nil {
		panic(err)
	}
	f := &forged{o: o, kind: kindEncodedData, levels: 1, entries: 1}
	if o.Encoding == EncodingNone {
		f.kind = kindData
	}
	var index indexEntries
	index.add(placed{offset: 0, size: 100}, w.prev.key)
	f.root = index.appendRoot(nil, 0, 1)
	f.info = w.fileInfo()
	return f
}

func (f *forged) bytes() []byte {
	var out bytes.Buffer
	o := f.o.withDefaults()
	w := newBlockWriter(&out, &o)
	w.buf = nil // a megabyte for each of a fuzzer's files is too much
	t := trailer{cells: 1, levels: int64(f.levels), dataIndexEntries: int64(f.entries), compression: o.Compression}
	w.write(f.kind, f.data)
	if f.leaf != nil {
		w.write(kindLeafIndex, f.leaf)
	}
	if f.chunk != nil {
		w.write(kindBloomChunk, f.chunk)
	}
	t.loadOnOpen = w.write(kindRootIndex, f.root).offset
	w.write(kindRootIndex, nil)
	t.fileInfo = w.write(kindFileInfo, f.info).offset
	if f.bloom != nil {
		w.write(kindBloomMeta, f.bloom)
	}
	if f.trailer != nil {
		t = *f.trailer
	}
	w.buf = append(w.buf, t.marshal()...)
	w.flush()
	return out.Bytes()
}

// exercise calls every method of a reader. For any bytes the calls must end,
// and every error must be ErrCorrupt or ErrUnsupported.
func exercise(t *testing.T, b []byte) {
	t.Helper()
	o := ReaderOptions{MaxBlock: 1 << 20}
	good := func(err error) {
		t.Helper()
		if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
			t.Fatalf("an error of another kind: %v", err)
		}
	}
	r, err := Open(bytes.NewReader(b), int64(len(b)), o)
	if good(err); err != nil {
		return
	}
	r.Meta()
	_, _, err = r.Rows()
	good(err)
	_, err = r.Family()
	good(err)
	_, err = r.MidKey()
	good(err)
	s := r.Scan()
	var line []byte
	for s.Next() {
		line = AppendCellText(line[:0], s.Cell())
	}
	good(s.Err())
	for _, row := range []string{"", "row", "\xff"} {
		_, err = r.MayContain([]byte(row), []byte("q"))
		good(err)
		_, _, err = r.Get([]byte(row), []byte("q"))
		good(err)
		s = r.SeekRow([]byte(row))
		for n := 0; n < 3 && s.Next(); n++ {
			line = AppendCellText(line[:0], s.Cell())
		}
		good(s.Err())
	}
	good(r.Dump(io.Discard))
	Check(bytes.NewReader(b), int64(len(b)), CheckOptions{Probes: 3, MaxBlock: o.MaxBlock})
}

// seedBlocks calls add with the payload of each block of the small golden
// files, and of one file of each encoding.
func seedBlocks(f *testing.F, add func(r *Reader, blk *block)) {
	f.Helper()
	var files [][]byte
	for _, c := range goldenCases(f) {
		b, err := os.ReadFile(filepath.Join(goldenDir, c.name+".hfile"))
		if err != nil {
			f.Fatal(err)
		}
		files = append(files, b)
	}
	cells := readCells(f, "deletes")
	for e := range encodingNames {
		files = append(files, writeFile(f, Options{Encoding: Encoding(e), Bloom: BloomRow, BlockSize: 300, IndexBlockSize: 300}, cells[:min(len(cells), 30)]))
	}
	for _, b := range files {
		r := openBytes(f, b)
		for off, n := int64(0), 0; off < r.blocks.limit && n < 40; n++ {
			blk, err := r.blocks.read(off)
			if err != nil {
				f.Fatal(err)
			}
			if len(blk.payload) < 2000 {
				add(r, blk)
			}
			off = blk.end()
		}
	}
}

// FuzzDataBlock decodes arbitrary blocks with valid checksums in each encoding.
func FuzzDataBlock(f *testing.F) {
	seedBlocks(f, func(r *Reader, blk *block) {
		if blk.kind == kindData || blk.kind == kindEncodedData {
			f.Add(uint8(r.decoder.encoding), bytes.Clone(blk.payload))
		}
	})
	var good []*forged
	for e := range encodingNames {
		good = append(good, forge(Options{Encoding: Encoding(e)}))
	}
	f.Fuzz(func(t *testing.T, encoding uint8, payload []byte) {
		x := *good[int(encoding)%len(good)]
		x.data = payload
		exercise(t, x.bytes())
	})
}

// FuzzIndexBlock replaces a leaf and a root by arbitrary bytes.
func FuzzIndexBlock(f *testing.F) {
	var leaf []byte
	seedBlocks(f, func(r *Reader, blk *block) {
		switch blk.kind {
		case kindLeafIndex, kindIntermediateIndex:
			leaf = bytes.Clone(blk.payload)
			f.Add(uint8(2), uint8(1), leaf, forge(Options{}).root)
		case kindRootIndex:
			f.Add(uint8(r.trailer.levels), uint8(r.root.len()), leaf, bytes.Clone(blk.payload))
		}
	})
	good := forge(Options{})
	cell := flat{key: []byte("\x00\x03row\x01fq\x00\x00\x00\x00\x00\x00\x00\x07\x04"), rowLen: 3, famLen: 1, value: []byte("value")}
	good.data = appendCell(nil, EncodingNone, nil, &cell)
	f.Fuzz(func(t *testing.T, levels, entries uint8, leaf, root []byte) {
		x := *good
		x.levels, x.entries, x.root = 1+int(levels)%maxLevels, int(entries), root
		if len(leaf) > 0 {
			x.leaf = leaf
		}
		exercise(t, x.bytes())
	})
}

// FuzzBloom replaces a filter's metadata and chunk by arbitrary bytes.
func FuzzBloom(f *testing.F) {
	var chunk []byte
	seedBlocks(f, func(_ *Reader, blk *block) {
		switch blk.kind {
		case kindBloomChunk:
			chunk = bytes.Clone(blk.payload)
		case kindBloomMeta, kindDeleteBloomMeta:
			for kind := range bloomNames {
				f.Add(uint8(kind), bytes.Clone(blk.payload), chunk)
			}
		}
	})
	good := forge(Options{})
	f.Fuzz(func(t *testing.T, kind uint8, meta, chunk []byte) {
		x := *good
		x.info = infoPayload(infoEntry{infoBloomType, []byte(bloomNames[int(kind)%len(bloomNames)])}, infoEntry{infoBloomParam, []byte{0, 0, 0, kind}})
		x.bloom, x.chunk = append([]byte{}, meta...), append([]byte{}, chunk...)
		exercise(t, x.bytes())
	})
}

// FuzzFileInfo replaces the file info by arbitrary bytes.
func FuzzFileInfo(f *testing.F) {
	seedBlocks(f, func(_ *Reader, blk *block) {
		if blk.kind == kindFileInfo {
			f.Add(bytes.Clone(blk.payload))
		}
	})
	good := forge(Options{})
	f.Fuzz(func(t *testing.T, payload []byte) {
		x := *good
		x.info = payload
		exercise(t, x.bytes())
	})
}

// FuzzTrailer replaces the start of a valid file's trailer by arbitrary bytes.
func FuzzTrailer(f *testing.F) {
	var seeds [][]byte
	for _, name := range []string{"deletes-none-none-row", "levels-none-fastdiff-row", "chinese-snappy-fastdiff-row"} {
		b, err := os.ReadFile(filepath.Join(goldenDir, name+".hfile"))
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, b)
		f.Add(uint8(len(seeds)-1), b[len(b)-trailerSize:len(b)-trailerSize+200])
	}
	f.Fuzz(func(t *testing.T, file uint8, head []byte) {
		b := bytes.Clone(seeds[int(file)%len(seeds)])
		copy(b[len(b)-trailerSize:], head[:min(len(head), trailerSize-4)])
		exercise(t, b)
	})
}

// FuzzDecompress unpacks arbitrary bytes with each codec: the output has the
// expected length, or there is an error.
func FuzzDecompress(f *testing.F) {
	for codec := range codecNames {
		for _, framing := range []ZstdFraming{ZstdPlain, ZstdBlocks} {
			c := compressor{codec: Compression(codec), framing: framing}
			for _, src := range [][]byte{nil, []byte("a"), bytes.Repeat([]byte("row and column "), 30)} {
				b, err := c.append(nil, src)
				if err != nil {
					f.Fatal(err)
				}
				f.Add(uint8(codec), uint32(len(src)), b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, codec uint8, want uint32, data []byte) {
		const maxBlock = 1 << 20
		d := decompressor{codec: Compression(int(codec) % len(codecNames)), maxBlock: maxBlock}
		n := int(want % (maxBlock + 1))
		for range 2 { // state left by an error must not matter
			b, err := d.unpack(data, n)
			if err == nil && len(b) != n {
				t.Fatalf("%d bytes for %d", len(b), n)
			}
			if err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			if cap(d.payload) > 4*maxBlock {
				t.Fatalf("%d bytes kept for a block of at most %d", cap(d.payload), maxBlock)
			}
		}
	})
}
