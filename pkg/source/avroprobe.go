package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"bulkload/internal/formats/avro"
	"bulkload/internal/formats/sniff"
)

// avroFormat is the format of Avro object container files.
type avroFormat struct{}

func (avroFormat) facts() facts {
	return facts{Traits: Traits{Named: true, Blocks: true}, endings: []string{".avro"}, magic: []string{"Obj\x01"}, binary: true, values: true}
}

func (avroFormat) check(o *Options) error { return o.noDialect("has no dialects") }

func (avroFormat) probe(ctx context.Context, f *inputFile, _ []byte, o *Options) (content, error) {
	a := &avroFile{file: f}
	return a, a.probe(ctx, o)
}

// avroFile is an Avro file with its parsed header.
type avroFile struct {
	file   *inputFile
	header *avro.Header
	decode *avro.Plan // of the file's columns
	holds  int64      // about the size of a reader's buffers
}

func (a *avroFile) offer([]string, string, *Options) error { return nil }

func (a *avroFile) memory(*Options) int64 { return a.holds }

// splits cuts from the header's marker up to the last marker of the file, after which there is no block. A file without blocks has no
// splits.
func (a *avroFile) splits(_ context.Context, o *Options, add func(start, end int64, group int)) error {
	from, to := a.header.Data-16, a.header.Size-16
	for start := from; start < to; start += o.SplitSize {
		add(start, min(start+o.SplitSize, to), 0)
	}
	return nil
}

// leads reports whether a path leads to a possible column.
func (a *avroFile) leads(path string) bool {
	_, err := avro.Compile(a.header, []string{path}, avro.Options{})
	return err == nil
}

// avroShare is the divisor of a reader's memory for a block, packed and unpacked each: in addition, there is the text made of its values,
// and, while a buffer grows, a second one.
const avroShare = 4

// avroBlock returns the greatest size of a block in bytes.
func (o *Options) avroBlock() int64 { return min(o.memory()/avroShare, 1<<30) }

// probe reads the header, and the first block for its size.
func (a *avroFile) probe(ctx context.Context, o *Options) (err error) {
	f := a.file
	if f.compression != "" {
		return fmt.Errorf("%s: a packed Avro file cannot be read: unpack it first", f.Path)
	}
	h, raw, err := f.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	header, err := avro.ReadHeader(raw, f.Info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	head := make([]byte, header.Data)
	if _, err := io.ReadFull(io.NewSectionReader(raw, 0, header.Data), head); err != nil {
		return fmt.Errorf("read %s: %w", f.Path, err)
	}
	header.Meta = nil // a schema may be long, and files many
	a.header, f.headSum, f.dataStart = header, addSum(0, head), header.Data
	if err := a.columns(o); err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	blocks := avro.NewBlocks(max(o.avroBlock(), 1))
	blocks.Open(header, raw, 0, header.Data) // the first
	buf, block, err := blocks.Next(nil)
	if e, ok := errors.AsType[*avro.SizeError](err); ok {
		return fmt.Errorf("%s: %w", f.Path, avroMemory(e, o))
	}
	a.holds = 2 * (block.Size + int64(len(buf))) // the reader reports damage
	return nil
}

// columns finds the columns in the header: all fields, and the requested leaves. It rejects a field without a text form, unless the field
// is not requested.
func (a *avroFile) columns(o *Options) error {
	f := a.file
	for _, name := range a.header.Columns {
		asked := slices.Contains(o.Columns, name)
		switch _, err := avro.Compile(a.header, []string{name}, avro.Options{}); {
		case err == nil:
			f.columns = append(f.columns, name)
		case asked:
			return err
		case !o.passesTextless():
			return noTextForm(err)
		default:
			f.others = append(f.others, name)
		}
	}
	for _, path := range o.Columns {
		if slices.Contains(a.header.Columns, path) {
			continue
		}
		_, err := avro.Compile(a.header, []string{path}, avro.Options{})
		if errors.Is(err, avro.ErrNoColumn) {
			continue // a missing column
		}
		if err != nil {
			return err
		}
		f.columns = slices.DeleteFunc(f.columns, func(name string) bool { // it is not requested as a whole
			return strings.HasPrefix(path, name+".") && !slices.Contains(o.Columns, name)
		})
		f.columns = append(f.columns, path)
	}
	if len(f.columns) == 0 {
		return errors.New("it has no columns that can be text")
	}
	return sniff.CheckHeader(f.columns)
}

// plan plans the decoding of the requested columns.
func (a *avroFile) plan(_ []string, o *Options) (err error) {
	f := a.file
	f.chooseColumns()
	ignored := f.ignored
	f.ignored = nil
	f.passOver(ignored)
	a.decode, err = avro.Compile(a.header, f.columns, avro.Options{Location: o.Location, MaxText: int(min(int64(o.MaxRecord), max(o.avroBlock(), 1)))})
	return err
}

// avroMemory returns the error of an object that exceeds a reader's memory, or the format's limit.
func avroMemory(e *avro.SizeError, o *Options) error {
	if e.Limit != o.avroBlock() || o.Memory <= 0 {
		return e
	}
	what := fmt.Sprintf("the %s at byte %d", e.What, e.Offset)
	if e.AtLeast {
		return &MemoryError{What: what, Have: o.memory()}
	}
	return &MemoryError{What: what, Need: avroShare * e.Need, Have: o.memory()}
}
