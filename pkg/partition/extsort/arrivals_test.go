package extsort

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"
)

// oneFeed has one feed of one row. After them it returns its errors.
type oneFeed struct{ feeds, rows error }

func (o *oneFeed) Next() ([]byte, Feed, error) {
	if o.feeds == nil {
		return nil, nil, io.EOF
	}
	err := o.feeds
	o.feeds = nil
	if !errors.Is(err, errFirst) {
		return nil, nil, err
	}
	return []byte("k"), &oneRow{err: o.rows}, nil
}

var errFirst = errors.New("the feed comes first")

type oneRow struct {
	given bool
	err   error
}

func (r *oneRow) Next(dst []byte) ([]byte, error) {
	if r.given {
		return nil, r.err
	}
	r.given = true
	dst = binary.LittleEndian.AppendUint64(dst[:0], 1)
	dst = binary.LittleEndian.AppendUint32(dst, 1)
	dst = binary.LittleEndian.AppendUint16(dst, 1)
	return append(dst, 'k'), nil
}

// TestArrivalsEnd checks that only io.EOF itself ends feeds and their rows: a connection that is closed fails with an error that wraps it.
func TestArrivalsEnd(t *testing.T) {
	closed := fmt.Errorf("read the host's rows: %w", io.EOF)
	for _, c := range []struct {
		name        string
		feeds, rows error
		want        error
	}{{"whole", errFirst, io.EOF, nil}, {"no feed", io.EOF, nil, nil}, {"feeds that break", closed, nil, closed}, {"a feed that breaks", errFirst, closed, closed}} {
		m, err := MergeArrivals(&oneFeed{c.feeds, c.rows}, ArrivalOptions{Duplicates: KeepFirst})
		if err == nil {
			for m.Next() {
			}
			err = m.Err()
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}
