package snapshot

import (
	"bytes"
	"context"
	"fmt"
)

// Cuts are rows at which region i may be cut into n parts of about the same
// size, in order, without its ends: the first rows of blocks of its largest
// file, from that file's index. There may be fewer than n−1, and are none of a
// region without files. They depend on the snapshot alone.
func (s *Snapshot) Cuts(ctx context.Context, i, n int) ([][]byte, error) {
	r := &s.Regions[i]
	var largest *storeFile
	family := ""
	for _, f := range s.Families {
		store := r.stores[f.Name]
		for j := range store {
			if largest == nil || store[j].size > largest.size {
				largest, family = &store[j], f.Name
			}
		}
	}
	if largest == nil || n < 2 {
		return nil, nil
	}
	c, err := s.openCells(ctx, r, family, largest, &View{ReadAhead: aheadLeast})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.place(r), err)
	}
	defer c.file.close()
	rows, err := c.reader.IndexRows(indexRows * n)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", s.place(r), c.file.places[0], err)
	}
	from, to := 0, len(rows) // those within the region; the file may have a part of them
	for from < to && (bytes.Compare(rows[from], r.Start) <= 0 || bytes.Compare(rows[from], c.from) <= 0) {
		from++
	}
	for to > from && (len(r.End) > 0 && bytes.Compare(rows[to-1], r.End) >= 0) {
		to--
	}
	return evenly(rows[from:to], n), nil
}

// indexRows is how many rows of an index there should be for each part.
const indexRows = 8

// evenly takes up to n−1 of the rows that cut them into n parts.
func evenly(rows [][]byte, n int) (cuts [][]byte) {
	for k := 1; k < n; k++ {
		at := k * (len(rows) + 1) / n // the rows cut len+1 blocks
		if at < 1 {
			continue
		}
		if row := rows[at-1]; len(cuts) == 0 || bytes.Compare(cuts[len(cuts)-1], row) < 0 {
			cuts = append(cuts, row)
		}
	}
	return cuts
}
