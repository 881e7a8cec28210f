package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestMixGivesEachKindItsShare draws 200 rounds from several first seeds.
func TestMixGivesEachKindItsShare(t *testing.T) {
	m, err := ParseMix("all")
	if err != nil {
		t.Fatal(err)
	}
	for _, first := range []uint64{0, 1, 77, 13_001} {
		n := map[string]int{}
		for i := range uint64(200) {
			n[m.Kind(first+i)]++
		}
		for _, kind := range Kinds()[1:] {
			least := 5
			if slices.Contains(Seams(), kind) {
				least = 15
			}
			if n[kind] < least {
				t.Errorf("from seed %d on: %d rounds of %s, want %d", first, n[kind], kind, least)
			}
		}
	}
	if m, err = ParseMix("kill,bit-flip=4"); err != nil || len(m) != 5 {
		t.Errorf("%v, %v", m, err)
	}
	for _, bad := range []string{"kil", "kill=0", "kill=x", "kill,,split"} {
		if _, err := ParseMix(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// Mix lists the kinds of faults of a run of rounds. The number of times that a kind is listed is its weight; the list has
// its own order. Rounds of successive seeds go through the list, so that each kind gets its share.
type Mix []string

// seamWeight is the number of rounds of a kind of [Seams] for one round of another kind.
const seamWeight = 3

// ParseMix parses "a,b=3,c": kinds, some with a weight. Empty or "all": every kind of fault, those of [Seams] three
// times.
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

// Kind returns the kind of a seed's round.
func (m Mix) Kind(seed uint64) string { return m[seed%uint64(len(m))] }
