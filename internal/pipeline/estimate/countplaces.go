package estimate

import (
	"math"
	"math/rand/v2"
	"slices"

	"bulkload/pkg/source"
)

const (
	// countSplit is the minimum distance between places of text, in bytes. It is
	// the length of a split in a plan's input, and smaller than a build's, so that
	// a sample of a small input is taken from many places too.
	countSplit = 1 << 20
	// countText is the number of bytes that a count reads of a large input, and countPlaces the
	// number of places: rows that are sorted by their key are then sampled as well as any others.
	countText   = 128 << 20
	countPlaces = 256
	// countWhole is the size up to which inputs without places are read whole:
	// compressed files, which can only be read from the beginning, and Parquet,
	// whose row groups are long.
	countWhole = 3 * countText
	// countSeed makes samples reproducible.
	countSeed = 1
)

// A countPlace is a counted part of the input: the beginning of a split, with
// the amount of input that it represents. Both are in the split's own unit,
// bytes of text or rows of Parquet.
type countPlace struct {
	split  int
	limit  int64   // how much to read; MaxInt64 for all
	stands float64 // how much of the input it represents; 0: only itself
}

// wholeInput returns a place for every split, each representing itself.
func wholeInput(in *source.Input) []countPlace {
	places := make([]countPlace, len(in.Splits()))
	for i := range places {
		places[i] = countPlace{split: i, limit: math.MaxInt64}
	}
	return places
}

// choosePlaces chooses the places that a count of about text bytes reads. The
// splits of each kind (text, compressed text, Parquet) are concatenated and cut
// into pieces of the same length, and a random point of each piece selects a
// split. Every row therefore has the same chance, whatever the lengths of files
// and the order of rows. packed is the uncompressed size of one byte of
// compressed text, row the bytes of a row of Parquet.
func choosePlaces(in *source.Input, text int64, packed, row float64) []countPlace {
	kinds := make([][]kindSplit, 3)
	bytes := make([]float64, 3)
	files := in.Files()
	for i, s := range in.Splits() {
		f, kind, size, each := files[s.File], 0, float64(s.End-s.Start), 1.0
		switch {
		case f.Format.Traits().Rows:
			kind, each = 2, row
		case f.Compression != "":
			kind, size = 1, float64(f.Size)*packed
		}
		kinds[kind] = append(kinds[kind], kindSplit{split: i, size: size})
		bytes[kind] += size * each
	}
	all := bytes[0] + bytes[1] + bytes[2]
	var places []countPlace
	for kind, splits := range kinds {
		most := float64(text)
		if kind > 0 {
			most *= countWhole / countText
		}
		if most >= all {
			for _, s := range splits {
				places = append(places, countPlace{split: s.split, limit: math.MaxInt64})
			}
			continue
		}
		if len(splits) == 0 {
			continue
		}
		measure := 0.0 // the kind's length in its own unit
		for _, s := range splits {
			measure += s.size
		}
		read := measure * most / all // to read of this kind, in proportion to its size
		n := countPlaces
		if kind > 0 {
			n = min(n, len(splits))
		}
		places = append(places, drawPlaces(splits, measure, read, n)...)
	}
	slices.SortFunc(places, func(a, b countPlace) int { return a.split - b.split })
	return places
}

// kindSplit is a split with its length in the unit of its kind.
type kindSplit struct {
	split int
	size  float64
}

// drawPlaces draws n places from splits of total length; read is the amount to
// read altogether. For a split that is drawn twice, twice as much is read.
func drawPlaces(splits []kindSplit, total, read float64, n int) []countPlace {
	rng := rand.New(rand.NewPCG(countSeed, uint64(len(splits))))
	var places []countPlace
	at, end := 0, splits[0].size // the current split, and its end
	for i := range n {
		point := total * (float64(i) + rng.Float64()) / float64(n)
		for point >= end && at < len(splits)-1 {
			at++
			end += splits[at].size
		}
		if k := len(places) - 1; k >= 0 && places[k].split == splits[at].split {
			places[k].limit += int64(read / float64(n))
			places[k].stands += total / float64(n)
			continue
		}
		places = append(places, countPlace{split: splits[at].split, limit: max(1, int64(read/float64(n))), stands: total / float64(n)})
	}
	return places
}
