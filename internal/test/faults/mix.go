package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Mix says which kinds of faults a run of rounds has, and how many of each: a kind as often as it is listed, in an order of
// its own. Rounds of successive seeds go through the list, so that each kind gets its share in them.
type Mix []string

// seamWeight is how many rounds one of [Seams] gets for one round of another kind.
const seamWeight = 3

// ParseMix reads "a,b=3,c": kinds, some with a weight. Empty or "all": every kind of a fault, those of [Seams] three times.
func ParseMix(text string) (Mix, error) {
	var m Mix
	add := func(kind string, n int) {
		for range n {
			m = append(m, kind)
		}
	}
	if text == "" || text == "all" {
		for _, kind := range Kinds()[1:] {
			if slices.Contains(Seams(), kind) {
				add(kind, seamWeight)
			} else {
				add(kind, 1)
			}
		}
	} else {
		for part := range strings.SplitSeq(text, ",") {
			kind, weight, given := strings.Cut(part, "=")
			n := 1
			if given {
				var err error
				if n, err = strconv.Atoi(weight); err != nil || n < 1 || n > 1000 {
					return nil, fmt.Errorf("weight %q of %s is not a number from 1 to 1000", weight, kind)
				}
			}
			if !slices.Contains(Kinds(), kind) {
				return nil, fmt.Errorf("no kind of fault is called %q: there are %s", kind, strings.Join(Kinds(), ", "))
			}
			add(kind, n)
		}
	}
	r := rand.New(rand.NewPCG(1, 0x6d6978))
	r.Shuffle(len(m), func(i, j int) { m[i], m[j] = m[j], m[i] })
	return m, nil
}

// Kind returns the kind of the round of a seed.
func (m Mix) Kind(seed uint64) string { return m[seed%uint64(len(m))] }
