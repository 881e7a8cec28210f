package estimate

import (
	"math"
	"math/rand/v2"
	"slices"

	"bulkload/pkg/source"
)

const (
	// countSplit is how far apart places of text are at least. It is the length
	// of a split in a plan's input, and smaller than a build's, so that a sample
	// of a small input comes from many places too.
	countSplit = 1 << 20
	// countText is how much of a large input a count reads, and countPlaces from
	// how many places: rows sorted by their key are then as good as any others.
	countText   = 128 << 20
	countPlaces = 256
	// countWhole is up to where inputs are read whole that have no places:
	// packed files, which can be read from the beginning only, and Parquet,
	// whose row groups are long.
	countWhole = 3 * countText
	// countSeed makes samples the same every time.
	countSeed = 1
)

// A countPlace is a part of the input that is counted: the beginning of a split,
// and what it stands for. Both are in the split's own measure, which is bytes
// of text or rows of Parquet.
type countPlace struct {
	split  int
	limit  int64   // how much of it is read; MaxInt64 for all
	stands float64 // how much of the input it stands for; 0: for itself
}

// wholeInput has every split, for itself.
func wholeInput(in *source.Input) []countPlace {
	places := make([]countPlace, len(in.Splits()))
	for i := range places {
		places[i] = countPlace{split: i, limit: math.MaxInt64}
	}
	return places
}

// choosePlaces picks what a count of about text bytes reads. The splits of
// each kind (text, packed text, Parquet) are laid end to end and cut into
// pieces of the same length, and a point of each piece, chosen by lot, names a
// split. So every row has the same chance, whatever lengths files have and in
// whatever order rows come. packed is what one byte of packed text unpacks to,
// row the bytes of a row of Parquet.
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
		measure := 0.0 // the kind's length in its own measure
		for _, s := range splits {
			measure += s.size
		}
		read := measure * most / all // of it, all kinds in proportion
		n := countPlaces
		if kind > 0 {
			n = min(n, len(splits))
		}
		places = append(places, drawPlaces(splits, measure, read, n)...)
	}
	slices.SortFunc(places, func(a, b countPlace) int { return a.split - b.split })
	return places
}

// kindSplit is a split with its length in the measure of its kind.
type kindSplit struct {
	split int
	size  float64
}

// drawPlaces draws n places from splits of total bytes, if read bytes
// are to be read in all. A split that is drawn twice is read for two.
func drawPlaces(splits []kindSplit, total, read float64, n int) []countPlace {
	rng := rand.New(rand.NewPCG(countSeed, uint64(len(splits))))
	var places []countPlace
	at, end := 0, splits[0].size // the current split, and where it ends
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
