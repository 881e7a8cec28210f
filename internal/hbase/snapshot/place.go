package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"bulkload/pkg/hdfsio"
)

// placedFile reads a file that may move while it is read. It is not safe for
// concurrent use.
type placedFile struct {
	ctx    context.Context // limits the lifetime of the open file
	fsys   hdfsio.FS
	places []string
	size   int64
	f      fs.File
	at     io.ReaderAt
}

// lookAgain is the number of times that all places are searched: a file may
// move from the second place to the first during a search.
const lookAgain = 3

// open opens the file at one of its places.
func (p *placedFile) open() error {
	for range lookAgain {
		for _, name := range p.places {
			f, err := hdfsio.OpenAt(p.ctx, p.fsys, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			return p.take(name, f)
		}
	}
	return fmt.Errorf("%w: a file is missing, looked for at %s: %w (was the snapshot deleted?)", ErrDamaged, strings.Join(p.places, ", "), fs.ErrNotExist)
}

func (p *placedFile) take(name string, f *hdfsio.ReaderAt) error {
	size := f.Info.Size()
	if p.size != 0 && p.size != size {
		err := fmt.Errorf("%s: %w: %d bytes, the manifest says %d", name, ErrDamaged, size, p.size)
		return errors.Join(err, f.Close())
	}
	p.f, p.at, p.size = f, f, size
	return nil
}

// ReadAt searches for the file again if it is gone from where it was opened.
func (p *placedFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.at.ReadAt(b, off)
	for range lookAgain {
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err := errors.Join(p.close(), p.open()); err != nil {
			return 0, err
		}
		n, err = p.at.ReadAt(b, off)
	}
	return n, err
}

func (p *placedFile) close() error {
	if p.f == nil {
		return nil
	}
	err := p.f.Close()
	p.f = nil
	return err
}
