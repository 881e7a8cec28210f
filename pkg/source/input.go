package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/formats/compression"
	"bulkload/internal/formats/jsonlines"
	"bulkload/pkg/source/listing"
)

// Input is a set of files, all with the same columns, cut into splits. It does not change; any number of goroutines may use it.
type Input struct {
	opts    Options
	columns []string
	nothing bool // no file has a record, nor names a column
	files   []*inputFile
	splits  []Split
	counts  []atomic.Int64 // records of each split, -1 while unknown
	sums    splitSums      // checksums of the data read of each split
	met     metColumns
	mu      sync.Mutex    // held while records are counted
	lookups int64         // how often the records before a split were requested
	long    chan struct{} // full while a reader has a long record

	resolve Resolve
	inputs  []string // as they were given
	left    []LeftOut
}

// Split is a part of a file that is read independently.
type Split struct {
	// File is the index of the file in [Input.Files], Path its path.
	File int
	Path string
	// Start and End bound the positions where the records of the split begin: bytes, or rows for Parquet. The one split of a compressed
	// text file has math.MaxInt64 as its end. For Avro, the split has the blocks whose preceding sync marker begins within the bounds.
	Start, End int64
	// RowGroup is the ordinal of the row group; Parquet and ORC only.
	RowGroup int
}

// FileInfo describes one input file at the time when it was listed.
type FileInfo struct {
	// Path is the file's path in messages, in the form in which the input was given.
	Path string
	// Name is the file's absolute name in its file system.
	Name string
	// Input is the ordinal of the input that led to the file.
	Input int
	// Size is the stored size in bytes: packed for a packed file.
	Size    int64
	ModTime time.Time
	// FileID is the inode of a local file, the file id on HDFS, or a digest of an object's name and ETag; 0 if not known.
	FileID uint64
	// ChangeTime is when content or attributes last changed (ctime); zero if that is not known.
	ChangeTime time.Time
	Format     Format
	// Compression of a text file: "", "gz", "zst", "bz2", "xz", "lz4", "sz" (snappy's framing format), "snappy" or "hadoop-lz4"
	// (the blocks of Hadoop's codecs) or "deflate" (zlib).
	Compression string
	// Dialect is the name of the text's dialect, Settings its full description, as applied to this file. Empty for Parquet and Avro, and
	// for JSON lines except for their character set.
	Dialect, Settings string
	// Partitions are the columns of the file from its path.
	Partitions []string
	// Missing are the columns of the input that the file lacks, Ignored its own columns that are skipped; for JSON lines, according to its
	// first lines.
	Missing, Ignored []string
}

// Open finds the files of the inputs, reads the beginning of each (for Parquet the end), and cuts them into splits. The order of files is
// that of the inputs, and within each by name.
//
// Errors of the file systems are wrapped. Those of what is read name the file: an [ErrSelection] is about a file that is no
// input, a [*MemoryError] about one that needs more than [Options.Memory].
//
// A CSV file that is larger than a split is read once for this, to find where records begin.
func Open(ctx context.Context, resolve Resolve, inputs []string, opts Options) (*Input, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	in := &Input{opts: opts.withDefaults(), resolve: resolve, inputs: inputs}
	files, left, err := listing.List(ctx, resolve, inputs, in.opts.listing())
	if err != nil {
		return nil, err
	}
	in.left = left
	for _, f := range files {
		in.files = append(in.files, newFile(*f))
	}
	if len(in.files) > 0 {
		in.files[0].first = true
	}
	if err := listing.Each(ctx, in.files, func(ctx context.Context, f *inputFile) error { return f.probe(ctx, &in.opts) }); err != nil {
		return nil, err
	}
	if err := errors.Join(in.rejectOptions(), in.schema()); err != nil {
		return nil, err
	}
	if err := in.plan(ctx); err != nil {
		return nil, err
	}
	in.long = make(chan struct{}, 1)
	in.counts = make([]atomic.Int64, len(in.splits))
	for i := range in.counts {
		in.counts[i].Store(-1)
	}
	in.sums.init(len(in.splits))
	return in, nil
}

// Columns returns the names of the columns in the order of batches. The slice is shared: do not change it. It is empty only if no file
// names its columns, which means that all are empty.
func (in *Input) Columns() []string { return in.columns }

// Splits returns the parts to read, in the order of the input. They depend only on the files and on [Options.SplitSize]. The slice is
// shared: do not change it.
func (in *Input) Splits() []Split { return in.splits }

// Files returns the files in the order of the input. The caller owns the slice.
func (in *Input) Files() []FileInfo {
	infos := make([]FileInfo, len(in.files))
	for i, f := range in.files {
		infos[i] = f.describe()
		infos[i].Dialect, infos[i].Settings = f.settings(&in.opts)
	}
	return infos
}

// describe returns the facts about the file that are known so far.
func (f *inputFile) describe() FileInfo {
	id := listing.IdentityOf(f.Info)
	return FileInfo{Partitions: listing.Names(f.Partitions), Missing: f.missing, Ignored: f.ignored,
		Path: f.Path, Name: f.Name, Input: f.Input, Size: id.Size, ModTime: id.Modified, FileID: id.File, ChangeTime: id.Changed,
		Format: f.format, Compression: f.compression}
}

// settings returns how a file's text is read: the name of a dialect, and all settings that affect the result.
func (f *inputFile) settings(o *Options) (dialect, settings string) {
	if f.dialect != nil {
		return f.dialect.Name, f.dialect.String()
	}
	if t, ok := f.content.(textForm); ok {
		return "", t.settings(o)
	}
	return "", ""
}

// passOver records which of a file's columns were not requested. A column that a requested path leads into counts as requested, and so does
// a path to it.
func (f *inputFile) passOver(names []string) {
	for _, name := range names {
		asked := slices.ContainsFunc(f.columns, func(want string) bool {
			return jsonlines.SameMember(want, name) || strings.HasPrefix(want, name+".") || strings.HasPrefix(name, want+".")
		})
		if !asked && !slices.Contains(f.ignored, name) {
			f.ignored = append(f.ignored, name)
		}
	}
}

// ReaderMemory returns the approximate size of the buffers of a [Reader] of this input, as long as no record is longer than a chunk.
func (in *Input) ReaderMemory() int64 {
	var most int64
	for _, f := range in.files {
		m := 4 * int64(in.opts.ChunkSize) // the chunk, its spans, values that were unquoted
		m += f.absentMemory(len(in.columns), &in.opts)
		m += f.content.memory(&in.opts)
		if f.sequential() {
			m += compression.AheadMemory + f.window
		}
		if a, ok := f.FS.(aheadFS); ok {
			m += a.ReadAheadMemory()
		}
		most = max(most, m)
	}
	return most
}

func (in *Input) plan(ctx context.Context) error {
	if in.opts.Splits != nil {
		return in.planned(ctx, slices.Clone(in.opts.Splits))
	}
	for i, f := range in.files {
		add := func(start, end int64, group int) {
			in.splits = append(in.splits, Split{File: i, Path: f.Path, Start: start, End: end, RowGroup: group})
		}
		f.firstSplit = len(in.splits)
		switch {
		case f.dataStart >= f.textEnd(), f.blank && (in.nothing || len(f.columns) > 1):
			// No records.
		case f.sequential():
			add(f.dataStart, math.MaxInt64, 0)
		default:
			if err := f.content.splits(ctx, &in.opts, add); err != nil {
				return err
			}
		}
	}
	return nil
}

// RecordsOf returns the number of records in the splits from one on and before another, as far as they were read to their end.
func (in *Input) RecordsOf(from, to int) int64 {
	var n int64
	for i := max(from, 0); i < min(to, len(in.counts)); i++ {
		n += max(0, in.counts[i].Load())
	}
	return n
}

// planned adopts splits that an earlier [Open] of the same files has found. It rejects splits that cannot belong to these files; the caller
// has compared the files otherwise.
func (in *Input) planned(ctx context.Context, splits []Split) error {
	next := 0
	for i, f := range in.files {
		f.firstSplit = next
		before := int64(0)
		groups, err := in.groups(ctx, f)
		if err != nil {
			return err
		}
		for ; next < len(splits) && splits[next].File == i; next++ {
			s := splits[next]
			end := f.textEnd()
			switch {
			case f.facts.Rows:
				if !hasGroup(groups, s) {
					return fmt.Errorf("%s has no rows %d to %d in a row group %d: the splits are those of another file", f.Path, s.Start, s.End, s.RowGroup)
				}
				continue
			case f.sequential():
				end = math.MaxInt64
			}
			if s.Start < before || s.End <= s.Start || s.End > end {
				return fmt.Errorf("%s has no bytes %d to %d: the splits are those of another file", f.Path, s.Start, s.End)
			}
			before = s.End
		}
	}
	if next != len(splits) {
		return fmt.Errorf("a split is of file %d of %d: the splits are those of other inputs", splits[next].File+1, len(in.files))
	}
	in.splits = splits
	for i := range splits {
		in.splits[i].Path = in.files[splits[i].File].Path
	}
	return nil
}

// groups returns the row groups of a file, in their order.
func (in *Input) groups(ctx context.Context, f *inputFile) (groups []Split, err error) {
	if f.facts.Rows {
		err = f.content.splits(ctx, &in.opts, func(start, end int64, group int) {
			groups = append(groups, Split{Start: start, End: end, RowGroup: group})
		})
	}
	return groups, err
}

// hasGroup reports whether a split is one of the groups.
func hasGroup(groups []Split, s Split) bool {
	at, ok := slices.BinarySearchFunc(groups, s.RowGroup, func(g Split, n int) int { return cmp.Compare(g.RowGroup, n) })
	return ok && groups[at].Start == s.Start && groups[at].End == s.End
}
