package faults

import (
	"slices"
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
