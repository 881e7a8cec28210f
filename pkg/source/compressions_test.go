package source

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"

	"bulkload/internal/formats/compression"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/listing"
)

const (
	packedDir = "testdata/packed"
	hadoopLZ4 = "hadoop-lz4"
)

// packedSample returns a file that another program compressed.
func packedSample(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(packedDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// unpacked returns the whole text of a file, and its compression.
func unpacked(t testing.TB, name string, data []byte, o Options) ([]byte, string, error) {
	t.Helper()
	m := &memFile{"/" + name, data}
	o.AllowEmpty = true
	o = o.withDefaults()
	f := newFile(listing.File{FS: m, Name: m.name, Path: m.name, Info: m})
	_, f.compression = compression.Cut(name)
	if err := f.probePacked(t.Context(), &o); err != nil {
		return nil, f.compression, err
	}
	src, err := f.openText(t.Context(), 0)
	if err != nil {
		return nil, f.compression, err
	}
	text, err := io.ReadAll(src)
	return text, f.compression, errors.Join(err, src.Close())
}

// packedSamples are the files to read, with the names of their compressions.
var packedSamples = map[string]string{
	"one.csv.bz2": "bz2", "two.csv.bz2": "bz2", "hadoop-4096.csv.bz2": "bz2",
	"one.csv.xz": "xz", "two.csv.xz": "xz", "blocks.csv.xz": "xz",
	"two.csv.lz4": "lz4", "eight.csv.lz4": "lz4", "hadoop-4096.csv.lz4": hadoopLZ4, "hadoop-262144.csv.lz4": hadoopLZ4,
	"hadoop-4096.csv.snappy": "snappy", "hadoop-262144.csv.snappy": "snappy", "two.csv.sz": "sz",
	"two.csv.deflate": "deflate", "hadoop-4096.csv.deflate": "deflate", "hadoop-262144.csv.deflate": "deflate",
}

// TestPackedByOthers reads files that other programs compressed, recognized by the file name extension, and by the
// first bytes if the format has a magic.
func TestPackedByOthers(t *testing.T) {
	text := packedSample(t, "text.csv")
	for name, how := range packedSamples {
		data, want := packedSample(t, name), text
		if strings.HasPrefix(name, "eight") {
			want = bytes.Repeat(text, 8)
		}
		got, compression, err := unpacked(t, name, data, Options{})
		if err != nil || compression != how || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes of %s, %v", name, len(got), compression, err)
		}
		inputs := []string{name}
		if !slices.Contains([]string{"snappy", "deflate", hadoopLZ4}, how) {
			inputs = append(inputs, "part-00000")
		}
		for _, as := range inputs {
			again := func(RowError) error { return nil } // the headers of all files but the first
			rows, err := loadBytes(t, Options{Memory: 600 << 20, Reject: again}, as, data)
			if n := bytes.Count(want, []byte("\n")) - bytes.Count(want, []byte("id,name,note\n")); err != nil || len(rows) != n || rows[0].Values[1] != "n"+rows[0].Values[1][1:] {
				t.Errorf("%s as %s: %d records, %v", name, as, len(rows), err)
			}
		}
	}
	if got, err := loadBytes(t, Options{Columns: []string{"a"}}, "empty.csv.xz", packedSample(t, "empty.csv.xz")); err != nil || len(got) != 0 {
		t.Errorf("nothing: %d records, %v", len(got), err)
	}
	if got, _, err := unpacked(t, "x.snappy", packedSample(t, "two.csv.sz"), Options{}); err != nil || !bytes.Equal(got, text) {
		t.Errorf("frames of snappy as .snappy: %v", err)
	}
	if _, err := loadBytes(t, Options{}, "filter.csv.xz", packedSample(t, "filter.csv.xz")); err == nil || !strings.Contains(err.Error(), "LZMA2 alone") {
		t.Errorf("another filter: %v", err)
	}
}

// TestPackedByOthersTruncated cuts files at many positions, and checks that the text is a beginning of the whole text
// that ends with an error. There is no error only where the format marks no end: after a block, or a stream.
func TestPackedByOthersTruncated(t *testing.T) {
	for name, how := range packedSamples {
		if strings.HasPrefix(name, "eight") || strings.HasPrefix(name, "one") || strings.Contains(name, "262144") {
			continue
		}
		data := packedSample(t, name)
		text := packedSample(t, "text.csv")
		step := 1
		switch how {
		case "xz", "bz2":
			step = 499
		case "deflate", "sz":
			step = 499
		case "snappy", hadoopLZ4, "lz4":
			step = 97
		}
		if race.Reduced(t) {
			step = max(step, 499)
		}
		silent := 0
		for n := 1; n < len(data); n++ {
			if n%step > 0 && n < len(data)-20 && n > 20 {
				continue
			}
			got, _, err := unpacked(t, name, data[:n], Options{})
			if !bytes.HasPrefix(text, got) {
				t.Fatalf("%s, cut at %d: other text", name, n)
			}
			if err == nil {
				silent++
			} else if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), name) {
				t.Fatalf("%s, cut at %d: %v", name, n, err)
			}
		}
		most := 1 // at the end of the first stream
		switch how {
		case "snappy", hadoopLZ4:
			most = len(text)/2048 + 2 // after each block
		case "sz", "lz4":
			most = 4 // after chunks, or skippable frames
		case "xz":
			most = 4 // within padding after a stream, at multiples of four bytes
		}
		if silent > most {
			t.Errorf("%s: %d of its beginnings are read without an error", name, silent)
		}
	}
}

// TestPackedByOthersDamaged changes bytes, and checks that the text is unchanged, or that there is an error that names
// the file. Hadoop's blocks have no checksum, so for them the test only finds panics and wrong lengths.
func TestPackedByOthersDamaged(t *testing.T) {
	text := packedSample(t, "text.csv")
	r := rand.New(rand.NewPCG(1, 2))
	for name, how := range packedSamples {
		if strings.HasPrefix(name, "eight") {
			continue
		}
		whole := packedSample(t, name)
		rounds := 20
		if race.Reduced(t) {
			rounds = 4
		}
		for range rounds {
			data := bytes.Clone(whole)
			at := r.IntN(len(data))
			data[at] ^= byte(1 + r.IntN(255))
			got, _, err := unpacked(t, name, data, Options{})
			switch {
			case err != nil && !strings.Contains(err.Error(), name):
				t.Errorf("%s, byte %d: %v", name, at, err)
			case err == nil && how != "snappy" && how != hadoopLZ4 && name != "two.csv.lz4" && name != "blocks.csv.xz" && !bytes.Equal(got, text):
				t.Errorf("%s, byte %d: other text, and no error", name, at)
			}
		}
	}
}

// TestDictionaryBeyondTheBudgetIsRefused checks that a dictionary that exceeds the memory is refused before it is
// allocated, in the first block and in a later stream.
func TestDictionaryBeyondTheBudgetIsRefused(t *testing.T) {
	pack := func(dict int) []byte {
		var b bytes.Buffer
		w, err := xz.WriterConfig{DictCap: dict}.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(packedSample(t, "text.csv")); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	large, small := pack(256<<20), packedSample(t, "one.csv.xz")
	const budget = 72 << 20 // one.csv.xz requires 8 MiB, and an eighth is reserved for later streams
	for name, data := range map[string][]byte{"first": large, "second": append(bytes.Clone(small), large...)} {
		var err error
		used := testcheck.Allocated(func() { _, err = loadBytes(t, Options{Memory: budget}, "x.csv.xz", data) })
		if _, ok := errors.AsType[*MemoryError](err); !ok || !strings.Contains(err.Error(), "x.csv.xz") || !strings.Contains(err.Error(), "256 MiB") {
			t.Errorf("%s: error %v", name, err)
		}
		if used > 2*budget {
			t.Errorf("%s: %d bytes were allocated", name, used)
		}
	}
	again := func(RowError) error { return nil } // the header of the second stream
	if got, err := loadBytes(t, Options{Memory: budget, Reject: again}, "x.csv.xz", append(bytes.Clone(small), small...)); err != nil || len(got) != 2400 {
		t.Errorf("%d records, %v", len(got), err)
	}
}

// TestLyingLengths checks that lengths of blocks and chunks that exceed the file are errors, and allocate nothing.
func TestLyingLengths(t *testing.T) {
	for name, data := range map[string]string{
		"x.snappy": "\x7f\xff\xff\xff\x7f\xff\xff\xffabc", "y.snappy": "\x00\x00\x00\x05\x00\x00\x00\x05\xff\xff\xff\xff\x07", "z.lz4": "\x7f\xff\xff\xff\x00\x00\x00\x02ab",
		"text.snappy": "a,b\n1,2\n3,4\n", "text.lz4": "a,b\n1,2\n3,4\n", "text.deflate": "a,b\n1,2\n", "text.xz": "a,b\n1,2\n", "text.bz2": "a,b\n1,2\n", "text.sz": "a,b\n1,2\n",
	} {
		var err error
		used := testcheck.Allocated(func() { _, err = loadBytes(t, Options{}, name, []byte(data)) })
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: error %v", name, err)
		}
		if used > 16<<20 {
			t.Errorf("%s: %d bytes were allocated", name, used)
		}
	}
}

// TestForeignFormatsAreRefused checks that unsupported formats are refused by their file name extensions and by their
// first bytes, and that the error says how to convert them.
func TestForeignFormatsAreRefused(t *testing.T) {
	tar := make([]byte, 1024)
	copy(tar[257:], "ustar\x0000")
	for say, files := range map[string]map[string]string{
		"a SequenceFile":       {"x.seq": "x", "part-0": "SEQ\x06\x19org.apache.hadoop.io.Text"},
		"an RCFile":            {"x.rc": "x", "part-0": "RCF\x01\x00"},
		"an Excel workbook":    {"x.XLSX": "x", "part-0": "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"},
		"a zip archive":        {"x.zip": "x", "part-0": "PK\x03\x04\x14\x00"},
		"a tar archive":        {"x.tar": "x", "x.tar.gz": "x", "x.tgz": "x", "part-0": string(tar), "x.csv.gz": string(pack(t, "gz", tar))},
		"a file of Arrow":      {"x.feather": "x", "part-0": "ARROW1\x00\x00"},
		"a database of SQLite": {"x.sqlite3": "x", "part-0": "SQLite format 3\x00"},
		"pg_restore":           {"part-0": "PGDMP\x01\x0e"},
		"PostgreSQL in SQL":    {"part-0": "--\n-- PostgreSQL database dump\n--\n", "x.sql": "--\n-- PostgreSQL database cluster dump\n--\n", "x.sql.gz": string(pack(t, "gz", []byte("--\r\n-- PostgreSQL database dump\r\n")))},
		"SQLite in SQL":        {"x.sql": "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n"},
		"statements of SQL":    {"x.sql": "CREATE TABLE t (a int);\n", "x.sql.gz": string(pack(t, "gz", []byte("x")))},
		"MySQL in SQL":         {"x.sql": "-- phpMyAdmin SQL Dump\n", "part-0": "-- MariaDB dump 10.19  Distrib\n", "part-0.gz": string(pack(t, "gz", []byte("-- MySQL dump 10.13  Distrib\n")))},
		"an HFile":             {"x.hfile": "x", "part-0": "DATABLK*\x00\x00"},
		"XML":                  {"x.xml": "x", "part-0": "<?xml version=\"1.0\"?>", "x.csv": "<html>"},
		"a RAR archive":        {"x.rar": "x", "part-0": "Rar!\x1a\x07\x00"},
		"packed with Brotli":   {"x.csv.br": "x"},
		"packed with LZMA":     {"x.csv.lzma": "x"},
		"a 7z archive":         {"x.7z": "x", "part-0": "7z\xbc\xaf\x27\x1c"},
		"packed with LZO":      {"x.csv.lzo": "x", "part-0": "\x89LZO\x00\r\n\x1a\n"},
		"lz4's legacy frame":   {"part-0": string(packedSample(t, "legacy.csv.lz4"))},
		"packed with compress": {"x.csv.Z": "x", "part-0": "\x1f\x9d\x90"},
	} {
		for name, data := range files {
			_, err := loadBytes(t, Options{}, name, []byte(data))
			wantRefused(t, say+" "+name, err, name, say, ": ")
			if how := howOf(say); err != nil && (how == "" || !strings.Contains(err.Error(), how) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%s: %v has not the one line %q that converts", name, err, how)
			}
		}
	}
	for _, text := range []string{"ORC,a\n1,2\n", "SEQ,a\n1,2\n", "RCF,a\n1,2\n", "PK,a\n1,2\n", "BZh9,a\n1,2\n", "ORCID,7z\n1,2\n"} {
		if got, err := loadBytes(t, Options{}, "x.csv", []byte(text)); err != nil || len(got) != 1 {
			t.Errorf("%q: %d records, %v", text, len(got), err)
		}
	}
}

// howOf returns the program that the message about a format must name, which converts the format.
func howOf(format string) string {
	return map[string]string{
		"a SequenceFile": "STORED AS PARQUET SELECT * FROM", "an RCFile": "STORED AS PARQUET SELECT * FROM",
		"an Excel workbook": "save each sheet as CSV", "a zip archive": "unzip ", "a tar archive": "tar -xf ", "a 7z archive": "7z x ", "a RAR archive": "unrar x ",
		"packed with LZO": "lzop -dc ", "packed with Brotli": "brotli -dc ", "packed with LZMA": "unlzma -c ", "packed with compress": "gzip -dc ", "lz4's legacy frame": "lz4 -dc ",
		"a file of Arrow": "to_parquet(", "a database of SQLite": "sqlite3 -csv -header ", "pg_restore": `psql -c "\copy`, "PostgreSQL in SQL": `psql -c "\copy`,
		"SQLite in SQL": "sqlite3 -csv -header ", "statements of SQL": "mysqldump -T ", "MySQL in SQL": "mysqldump -T ", "an HFile": "load", "XML": "CSV",
	}[format]
}

// FuzzPacked unpacks any bytes with each compression, and checks that nothing panics, that the text ends, and that the
// memory stays within the limit of the file.
func FuzzPacked(f *testing.F) {
	endings := []string{"bz2", "xz", "lz4", "snappy", "sz", "deflate"}
	for name := range packedSamples {
		data := packedSample(f, name)
		for i, ending := range endings {
			if strings.HasSuffix(name, ending) {
				f.Add(uint8(i), data[:min(len(data), 3000)])
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		if len(data) == 0 || len(data) > 1<<16 {
			return
		}
		m := &memFile{"/x." + endings[int(which)%len(endings)], data}
		o := Options{Memory: 32 << 20, ChunkSize: 4096}.withDefaults()
		file := newFile(listing.File{FS: m, Name: m.name, Path: m.name, Info: m})
		_, file.compression = compression.Cut(m.name)
		if file.probePacked(t.Context(), &o) != nil {
			return
		}
		src, err := file.openText(t.Context(), 0)
		if err != nil {
			return
		}
		_, err = io.CopyN(io.Discard, src, 8<<20)
		if closed := src.Close(); closed != nil {
			t.Error(closed)
		}
		if err != nil && err != io.EOF && !strings.Contains(err.Error(), m.name) {
			t.Errorf("error without a name: %v", err)
		}
	})
}

// BenchmarkUnpack reads the text of each compression.
func BenchmarkUnpack(b *testing.B) {
	for _, name := range []string{"one.csv.bz2", "one.csv.xz", "eight.csv.lz4", "hadoop-262144.csv.snappy", "hadoop-262144.csv.lz4", "two.csv.sz", "hadoop-262144.csv.deflate"} {
		b.Run(name, func(b *testing.B) {
			one := packedSample(b, name)
			data := bytes.Repeat(one, 64)
			text, _, err := unpacked(b, name, data, Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, _, err := unpacked(b, name, data, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
