package chunk

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A file of chunks consists of their frames in order, the index, and the footer:
//
//	index:  per region with chunks: uvarint regions passed over, uvarint bytes of its frames
//	footer: u32 length of the index | u32 CRC32C of it | u32 regions | "BLCHUNK1"   (little-endian)
const (
	fileMagic  = "BLCHUNK1"
	footerSize = 3*4 + len(fileMagic)
	maxIndex   = 64 << 20
	readSize   = 64 << 10 // of reads, except of chunks, which are larger
)

// FileWriter is a [Sink] that writes a file of chunks, in order. It does not buffer.
type FileWriter struct {
	frames  *FrameWriter
	w       io.Writer
	bytes   int64
	regions int
	ends    []int64 // after each region's frames, up to the current region
}

// NewFileWriter returns a writer of a file with the given number of regions.
func NewFileWriter(w io.Writer, regions int) *FileWriter {
	return &FileWriter{frames: NewFrameWriter(w), w: w, regions: regions}
}

// Chunk implements [Sink].
func (f *FileWriter) Chunk(key, value []byte) error {
	region := int(binary.BigEndian.Uint32(key))
	if region >= f.regions || region < len(f.ends)-1 {
		return fmt.Errorf("a chunk of region %d after one of %d of %d", region, len(f.ends)-1, f.regions)
	}
	f.pad(region + 1)
	if err := f.frames.Chunk(key, value); err != nil {
		return err
	}
	f.bytes += int64(4 + len(key) + 4 + len(value))
	f.ends[region] = f.bytes
	return nil
}

// pad ends the regions before region n.
func (f *FileWriter) pad(n int) {
	for len(f.ends) < n {
		f.ends = append(f.ends, f.bytes)
	}
}

// Finish writes the index. The caller finishes the file.
func (f *FileWriter) Finish() error {
	f.pad(f.regions)
	var b []byte
	empty, before := uint64(0), int64(0)
	for _, end := range f.ends {
		if end == before {
			empty++
			continue
		}
		b = binary.AppendUvarint(b, empty)
		b = binary.AppendUvarint(b, uint64(end-before))
		empty, before = 0, end
	}
	n := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[:n], crc32.MakeTable(crc32.Castagnoli)))
	b = binary.LittleEndian.AppendUint32(b, uint32(f.regions))
	_, err := f.w.Write(append(b, fileMagic...))
	return err
}

// File is an open file of chunks. It is safe for concurrent use.
type File struct {
	r    io.ReaderAt
	name string
	ends []int64
}

// OpenFile reads the index of a file of chunks with the given size and number of regions. Messages call it name.
func OpenFile(r io.ReaderAt, size int64, regions int, name string) (*File, error) {
	bad := func(what string) error { return damaged("%s: %s", name, what) }
	if size < int64(footerSize) {
		return nil, bad("it is too short to have an index")
	}
	footer := make([]byte, footerSize)
	if err := readAt(r, footer, size-int64(footerSize), name); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(footer))
	if string(footer[12:]) != fileMagic || n > min(maxIndex, size-int64(footerSize)) {
		return nil, bad("its end is missing")
	}
	if has := binary.LittleEndian.Uint32(footer[8:]); int64(has) != int64(regions) {
		return nil, bad(fmt.Sprintf("it has %d regions, not %d", has, regions))
	}
	index := make([]byte, n)
	blocks := size - int64(footerSize) - n
	if err := readAt(r, index, blocks, name); err != nil {
		return nil, err
	}
	if crc32.Checksum(index, crc32.MakeTable(crc32.Castagnoli)) != binary.LittleEndian.Uint32(footer[4:]) {
		return nil, bad("the checksum of its index is wrong")
	}
	f := &File{r: r, name: name}
	return f, f.parse(index, blocks, regions)
}

// parse reads an index.
func (f *File) parse(b []byte, bytes int64, regions int) error {
	at := int64(0)
	for len(b) > 0 {
		empty, n := binary.Uvarint(b)
		size, m := binary.Uvarint(b[max(n, 0):])
		if n <= 0 || m <= 0 || empty >= uint64(regions-len(f.ends)) || size == 0 || size > uint64(bytes-at) {
			return damaged("%s: its index does not fit it", f.name)
		}
		b = b[n+m:]
		for range empty {
			f.ends = append(f.ends, at)
		}
		at += int64(size)
		f.ends = append(f.ends, at)
	}
	if at != bytes {
		return damaged("%s: its index does not fit it", f.name)
	}
	for len(f.ends) < regions {
		f.ends = append(f.ends, at)
	}
	return nil
}

func readAt(r io.ReaderAt, b []byte, at int64, name string) error {
	if _, err := r.ReadAt(b, at); errors.Is(err, io.EOF) {
		return damaged("%s ends before byte %d", name, at+int64(len(b)))
	} else if err != nil {
		return fmt.Errorf("%w: %s at byte %d: %w", ErrRead, name, at, err)
	}
	return nil
}

// Region returns a source of the region's chunks.
func (f *File) Region(region int) *FrameReader {
	from := int64(0)
	if region > 0 {
		from = f.ends[region-1]
	}
	name := fmt.Sprintf("%s from byte %d on", f.name, from)
	size := f.ends[region] - from
	return NewFrameReader(bufio.NewReaderSize(io.NewSectionReader(f.r, from, size), int(min(size, readSize))), name)
}

// Size returns the number of bytes of a region's frames.
func (f *File) Size(region int) int64 {
	if region == 0 {
		return f.ends[0]
	}
	return f.ends[region] - f.ends[region-1]
}
