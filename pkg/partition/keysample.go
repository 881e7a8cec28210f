package partition

import (
	"bytes"
	"math/rand/v2"
	"slices"
)

const (
	// SampleKeys is how many keys split points are found from: with 2000 regions
	// a region has some 60 of them, with 100 a thousand.
	SampleKeys = 1 << 17
	// sampleKeyLen is how much of a key is remembered: more than it takes to distinguish keys.
	sampleKeyLen = 256
	// splitSlack is how far a split point may be from its quantile, in shares
	// of a region, for being shorter: 1 instead of 0fff3a.
	splitSlack = 0.05
	// saltSlack is that for keys with a salt: a table that is split elsewhere
	// does not show its readers the number of salts.
	saltSlack = 0.25
)

// KeySample is keys of a run of rows, picked at random distances, and the
// bytes of rows that each stands for. It keeps fewer than twice [SampleKeys],
// whatever the number of rows, and belongs to one goroutine.
type KeySample struct {
	step  int64 // rows from one to the next, on average
	next  int64 // rows until the next
	rng   *rand.Rand
	text  []byte
	items []sampledKey
}

type sampledKey struct {
	at, n  uint32
	weight float64
}

// NewKeySample picks every step-th row on average. The same seed and rows
// give the same keys.
func NewKeySample(step int64, seed uint64) *KeySample {
	s := &KeySample{step: max(step, 1), rng: rand.New(rand.NewPCG(seed, 0x6b6579))}
	s.next = s.rng.Int64N(s.step)
	return s
}

// Add sees a row; its key is copied if it is picked.
func (s *KeySample) Add(key []byte, size int64) {
	if s.next > 0 {
		s.next--
		return
	}
	// Distances vary, since rows may come in a rhythm of their own.
	s.next = s.rng.Int64N(2*s.step - 1)
	s.put(key, float64(size*s.step))
	if len(s.items) >= 2*SampleKeys {
		s.halve()
		s.step *= 2
	}
}

func (s *KeySample) put(key []byte, weight float64) {
	key = key[:min(len(key), sampleKeyLen)]
	s.items = append(s.items, sampledKey{at: uint32(len(s.text)), n: uint32(len(key)), weight: weight})
	s.text = append(s.text, key...)
}

func (s *KeySample) key(i int) []byte { return s.text[s.items[i].at : s.items[i].at+s.items[i].n] }

// halve leaves one of every two neighbours, which then stands for both.
func (s *KeySample) halve() {
	items, text := s.items[:0], s.text[:0]
	for i := 0; i+1 < len(s.items); i += 2 {
		a, b := s.items[i], s.items[i+1]
		sum := a.weight + b.weight
		if s.rng.Float64()*sum >= a.weight {
			a = b
		}
		at := uint32(len(text))
		text = append(text, s.text[a.at:a.at+a.n]...)
		items = append(items, sampledKey{at: at, n: a.n, weight: sum})
	}
	s.items, s.text = items, text
}

// Merge adds the keys of another sample with their weights.
func (s *KeySample) Merge(o *KeySample, factor float64) {
	for i, it := range o.items {
		s.put(o.key(i), it.weight*factor)
		if len(s.items) >= 2*SampleKeys {
			s.halve()
		}
	}
}

// Splits returns the points that cut the sampled rows into n regions of
// about the same bytes; fewer where the keys are too few for so many. A
// split point is the shortest text that is between two keys, and near the
// quantile the shortest of those is taken: so keys with a salt are split where
// a salt ends. But none is shorter than least bytes, the salt's width, by which
// a reader of split points knows salts; 0 for keys without. The sample is sorted.
func (s *KeySample) Splits(n, least int) [][]byte {
	slices.SortFunc(s.items, func(a, b sampledKey) int {
		return bytes.Compare(s.text[a.at:a.at+a.n], s.text[b.at:b.at+b.n])
	})
	slack := splitSlack
	if least > 0 {
		slack = saltSlack
	}
	total := 0.0
	before := make([]float64, len(s.items)) // weight of all keys before each
	for i, it := range s.items {
		before[i] = total
		total += it.weight
	}
	var splits [][]byte
	for region := 1; region < n; region++ {
		want := total * float64(region) / float64(n)
		at, _ := slices.BinarySearch(before, want)
		if point := s.splitNear(before, at, least, want, slack*total/float64(n)); point != nil && (len(splits) == 0 || bytes.Compare(splits[len(splits)-1], point) < 0) {
			splits = append(splits, point)
		}
	}
	return splits
}

// splitNear returns the best split point about the at-th key: the shortest within
// slack of what is wanted, else the nearest there is; nil if there is none.
func (s *KeySample) splitNear(before []float64, at, least int, want, slack float64) []byte {
	var best []byte
	bestFar := 0.0
	try := func(i int) (within bool) {
		far := before[i] - want
		if far < 0 {
			far = -far
		}
		if far > slack && best != nil {
			return false
		}
		if point := separator(s.key(i-1), s.key(i), least); point != nil &&
			(best == nil || len(point) < len(best) && far <= slack || len(point) == len(best) && far < bestFar) {
			best, bestFar = point, far
		}
		return true
	}
	lo, hi := min(at, len(before))-1, max(at, 1)
	for more := true; more; {
		more = false
		if hi < len(before) && try(hi) {
			hi, more = hi+1, true
		}
		if lo > 0 && try(lo) {
			lo, more = lo-1, true
		}
	}
	return best
}

// separator returns the shortest beginning of key above prev that has at least so
// many bytes, nil if they are the same.
func separator(prev, key []byte, least int) []byte {
	for i, c := range key {
		if i == len(prev) || prev[i] != c {
			return bytes.Clone(key[:min(max(i+1, least), len(key))])
		}
	}
	return nil
}
