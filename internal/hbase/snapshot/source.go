package snapshot

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"bulkload/internal/model/keyrange"
	"bulkload/pkg/hfile"
)

// cells iterates over the cells of one file in order, each with its sequence
// id. The slices of a cell are valid until the next call of Next.
type cells interface {
	Next() bool
	Cell() *hfile.Cell
	Sequence() int64
	SameRow() bool // the cell is known to have the row of the cell before it
	Err() error
}

// fileCells iterates over the cells of a region's file, or of half of a file.
type fileCells struct {
	*hfile.Scanner
	reader *hfile.Reader
	name   string
	file   placedFile
	half   half
	from   []byte           // the first row, nil: the file's
	to     []byte           // the row after the last, nil: the file's end
	more   []keyrange.Range // further ranges, in order
	ids    sequences
	done   bool
}

// sequences holds the properties that determine a file's age. Among otherwise
// equal cells the one with the higher sequence id is the newer. If the ids are
// equal too, the cell of the later file in [compareAge] is.
type sequences struct {
	file     int64 // sequence id, −1 without one
	loaded   bool  // the file's id counts for all cells, in place of their own ids
	single   bool  // all cells have one timestamp
	size     int64 // of the file
	loadTime int64 // BULKLOAD_TIMESTAMP, math.MaxInt64 without one
	name     string
}

// openCells opens a file at its first cell in the view. It returns nil if the view has no row of the file.
func (s *Snapshot) openCells(ctx context.Context, r *Region, family string, f *storeFile, v *View) (*fileCells, error) {
	places := []string{f.name}
	if !s.loose {
		t, err := s.target(r, f)
		if err != nil {
			return nil, err
		}
		places = t.places(s.root, family)
	}
	c := &fileCells{name: f.name, half: f.half, from: v.Start, to: v.Stop}
	if f.half == top && bytes.Compare(f.row, c.from) > 0 {
		c.from = f.row
	}
	if f.half == bottom && (len(c.to) == 0 || bytes.Compare(f.row, c.to) < 0) {
		c.to = f.row
	}
	ranges := keyrange.Within(v.Choice.Ranges, keyrange.Range{Start: c.from, Stop: c.to})
	if len(ranges) == 0 {
		return nil, nil
	}
	c.from, c.to, c.more = ranges[0].Start, ranges[0].Stop, ranges[1:]
	c.file = placedFile{ctx: ctx, fsys: s.fsys, places: places, size: f.size}
	if err := c.file.open(); err != nil {
		return nil, err
	}
	if err := c.start(family, v.ReadAhead); err != nil {
		c.file.close()
		return nil, fmt.Errorf("%s: %w", c.file.places[0], err)
	}
	return c, nil
}

func (c *fileCells) start(family string, ahead int) error {
	r, err := hfile.Open(&c.file, c.file.size, hfile.ReaderOptions{ReadAhead: ahead})
	if err != nil {
		return err
	}
	c.reader = r
	if c.ids, err = agesOf(c.name, r.Meta().Info, c.file.size, c.half); err != nil {
		return err
	}
	if has, err := r.Family(); err != nil || has != nil && string(has) != family {
		return errors.Join(err, fmt.Errorf("%w: its cells are of another family", ErrDamaged))
	}
	if len(c.from) > 0 {
		c.Scanner = r.SeekRow(c.from)
	} else {
		c.Scanner = r.Scan()
	}
	return nil
}

// agesOf reads the sequence ids of a file as HStoreFile.open of 2.6.4 does.
func agesOf(name string, info map[string][]byte, size int64, h half) (sequences, error) {
	ids := sequences{file: -1, size: size, loadTime: 1<<63 - 1, name: name}
	number := func(key string) (int64, bool, error) {
		b, ok := info[key]
		if ok && len(b) != 8 {
			return 0, false, fmt.Errorf("%w: %s of %d bytes", hfile.ErrCorrupt, key, len(b))
		}
		if !ok {
			return 0, false, nil
		}
		return int64(binary.BigEndian.Uint64(b)), true, nil
	}
	loadTime, loaded, err := number("BULKLOAD_TIMESTAMP")
	if err != nil {
		return ids, err
	}
	if loaded {
		ids.loadTime = loadTime
	}
	if id, ok, err := number("MAX_SEQ_ID_KEY"); err != nil {
		return ids, err
	} else if ok {
		ids.file = id
	}
	fromName, named := loadSequence(name)
	if named {
		ids.file = fromName
	}
	if h == top && ids.file >= 0 {
		ids.file++
	}
	if times := info["TIMERANGE"]; len(times) == 16 { // HBase's own files have a message there
		ids.single = bytes.Equal(times[:8], times[8:])
	}
	// If MOB compaction wrote the file, the cells' own ids count (SKIP_RESET_SEQ_ID).
	skip := info["SKIP_RESET_SEQ_ID"]
	ids.loaded = (loaded || named) && !(len(skip) > 0 && skip[0] != 0)
	return ids, nil
}

// Next moves to the next cell of the half or of the requested ranges.
func (c *fileCells) Next() bool {
	if c.done || !c.Scanner.Next() {
		return false
	}
	for len(c.to) > 0 && !c.Scanner.SameRow() && bytes.Compare(c.Scanner.Cell().Row, c.to) >= 0 {
		if len(c.more) == 0 {
			c.done = true
			return false
		}
		next := c.more[0]
		c.to, c.more = next.Stop, c.more[1:]
		if bytes.Compare(c.Scanner.Cell().Row, next.Start) >= 0 {
			continue
		}
		if c.Scanner = c.reader.SeekRow(next.Start); !c.Scanner.Next() {
			return false
		}
	}
	return true
}

// Sequence returns the sequence id that orders otherwise equal cells.
func (c *fileCells) Sequence() int64 {
	if c.ids.loaded {
		return c.ids.file
	}
	return c.Scanner.Sequence()
}

func (c *fileCells) Err() error {
	if err := c.Scanner.Err(); err != nil {
		return fmt.Errorf("%s: %w", c.file.places[0], err)
	}
	return nil
}
