package partition

import (
	"bytes"
	"math/rand/v2"
	"slices"
)

const (
	// SampleKeys is the number of keys that split points are computed from: with
	// 2000 regions a region has about 60 of them, with 100 about a thousand.
	SampleKeys = 1 << 17
	// sampleKeyLen is the number of bytes kept of a key: more than is needed to distinguish
	// keys.
	sampleKeyLen = 256
	// splitSlack is the distance, as a fraction of a region, that a split point may
	// have from its quantile in exchange for a shorter point: 1 instead of 0fff3a.
	splitSlack = 0.05
	// saltSlack is splitSlack for keys with a salt. It is larger because readers
	// cannot derive the number of salts from a table that is split within salts.
	saltSlack = 0.25
)

// KeySample holds keys of a sequence of rows, picked at random distances, and
// the bytes of the rows that each key represents. It keeps fewer than twice
// [SampleKeys], whatever the number of rows. It must be used by one goroutine.
type KeySample struct {
	step  int64 // average number of rows from one key to the next
	next  int64 // rows until the next key
	rng   *rand.Rand
	text  []byte
	items []sampledKey
}

type sampledKey struct {
	at, n  uint32
	weight float64
}

// NewKeySample returns a sample that picks every step-th row on average. The
// same seed and rows give the same keys.
func NewKeySample(step int64, seed uint64) *KeySample {
	s := &KeySample{step: min(max(step, 1), 1<<40), rng: rand.New(rand.NewPCG(seed, 0x6b6579))}
	s.next = s.rng.Int64N(s.step)
	return s
}

// Add offers a row to the sample. Its key is copied if it is picked.
func (s *KeySample) Add(key []byte, size int64) {
	if s.next > 0 {
		s.next--
		return
	}
	// Distances vary, since rows may have a periodic pattern.
	s.next = s.rng.Int64N(2*s.step - 1)
	s.put(key, float64(size)*float64(s.step))
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

// halve keeps one of every two neighbours, with the weight of both.
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

// Merge adds the keys of another sample, with their weights multiplied by factor.
func (s *KeySample) Merge(o *KeySample, factor float64) {
	for i, it := range o.items {
		s.put(o.key(i), it.weight*factor)
		if len(s.items) >= 2*SampleKeys {
			s.halve()
		}
	}
}

// Splits returns the points that cut the sampled rows into n regions of about the
// same size; fewer if there are too few keys. A split point is the shortest text
// between two keys, and of the points near a quantile the shortest is chosen, so
// keys with a salt are split at the end of a salt. No point is shorter than least
// bytes, unless the keys are: the width of the salt, by which readers of split points recognize salts,
// or 0 for keys without a salt. Splits sorts the sample.
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

// splitNear returns the best split point around the at-th key: the shortest
// within slack of want, otherwise the nearest; nil if there is none.
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

// separator returns the shortest prefix of key that is greater than prev and has at
// least least bytes, or the whole key if it is shorter; nil if key and prev are equal.
func separator(prev, key []byte, least int) []byte {
	for i, c := range key {
		if i == len(prev) || prev[i] != c {
			return bytes.Clone(key[:min(max(i+1, least), len(key))])
		}
	}
	return nil
}
