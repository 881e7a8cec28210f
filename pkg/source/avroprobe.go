package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"bulkload/internal/formats/avro"
)

// avroMeta is what is kept of an Avro file's header.
type avroMeta struct {
	header *avro.Header
	plan   *avro.Plan // of the file's columns
	memory int64      // about what a reader's buffers come to hold
}

// avroShare is what part of a reader's memory a block may take, packed and unpacked each: in addition, there is the text that
// is made of its values, and, while a buffer grows, a second one.
const avroShare = 4

// avroBlock is how many bytes a block may take.
func (o *Options) avroBlock() int64 { return min(o.memory()/avroShare, 1<<30) }

// probeAvro reads the header, and the first block for its size.
func (f *inputFile) probeAvro(ctx context.Context, o *Options) (err error) {
	if f.compression != "" {
		return fmt.Errorf("%s: a packed Avro file cannot be read: unpack it first", f.path)
	}
	h, raw, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	header, err := avro.ReadHeader(raw, f.info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	head := make([]byte, header.Data)
	if _, err := io.ReadFull(io.NewSectionReader(raw, 0, header.Data), head); err != nil {
		return fmt.Errorf("read %s: %w", f.path, err)
	}
	header.Meta = nil // a schema may be long, and files many
	f.avro.header, f.headSum, f.dataStart = header, addSum(0, head), header.Data
	if err := f.avroColumns(o); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	blocks := avro.NewBlocks(max(o.avroBlock(), 1))
	blocks.Open(header, raw, 0, header.Data) // the first
	buf, block, err := blocks.Next(nil)
	if e, ok := errors.AsType[*avro.SizeError](err); ok {
		return fmt.Errorf("%s: %w", f.path, avroMemory(e, o))
	}
	f.avro.memory = 2 * (block.Size + int64(len(buf))) // damage is for the reader to find
	return nil
}

// avroColumns takes the columns from the header: all fields, and the leaves that are asked for. A field without a text is refused,
// unless it is not asked for.
func (f *inputFile) avroColumns(o *Options) error {
	for _, name := range f.avro.header.Columns {
		asked := slices.Contains(o.Columns, name)
		switch _, err := avro.Compile(f.avro.header, []string{name}, avro.Options{}); {
		case err == nil:
			f.columns = append(f.columns, name)
		case asked:
			return err
		case !o.passesTextless():
			return textless(err)
		default:
			f.others = append(f.others, name)
		}
	}
	for _, path := range o.Columns {
		if slices.Contains(f.avro.header.Columns, path) {
			continue
		}
		_, err := avro.Compile(f.avro.header, []string{path}, avro.Options{})
		if errors.Is(err, avro.ErrNoColumn) {
			continue // a missing column
		}
		if err != nil {
			return err
		}
		f.columns = slices.DeleteFunc(f.columns, func(name string) bool { // it is not wanted as a whole
			return strings.HasPrefix(path, name+".") && !slices.Contains(o.Columns, name)
		})
		f.columns = append(f.columns, path)
	}
	if len(f.columns) == 0 {
		return errors.New("it has no columns that can be text")
	}
	return checkHeader(f.columns)
}

// compile plans the decoding of columns.
func (m *avroMeta) compile(columns []string, o *Options) (err error) {
	m.plan, err = avro.Compile(m.header, columns, avro.Options{Location: o.Location, MaxText: int(min(int64(o.MaxRecord), max(o.avroBlock(), 1)))})
	return err
}

// bounds are where the markers are that stand before blocks: from the header's up to the last of the file, after which
// there is none. A file without blocks has equal ones.
func (m *avroMeta) bounds() (from, to int64) { return m.header.Data - 16, m.header.Size - 16 }

// avroMemory is the error of what takes more than a reader's memory, or than any may.
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
