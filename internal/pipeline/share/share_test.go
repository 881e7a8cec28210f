package share

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source"
)

func TestParseFraction(t *testing.T) {
	for text, want := range map[string]Fraction{"1/1": {1, 1}, "3/7": {3, 7}, "0+1/7": {1, 7}, "6+1/7": {7, 7}, "99999/99999": {99999, 99999}} {
		if got, err := ParseFraction(text); err != nil || got != want {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "0/7", "8/7", "7+1/7", "1", "a/b", "-1/7", "1/100000", "1/7 ", "0/0", "1+2/7"} {
		if got, err := ParseFraction(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// TestPartsCoverTheInput checks that shares are consecutive, have all splits exactly once, and about the same bytes.
func TestPartsCoverTheInput(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for splits := range 60 {
		p := &Plan{Inputs: []InputFile{{Size: 1 << 40}, {Size: 1 << 20, Format: string(source.FormatParquet)}}}
		at, total := int64(0), int64(0)
		for range splits {
			size := 1 + random.Int64N(1<<20)
			p.Parts = append(p.Parts, InputSplit{0, at, at + size, 0})
			at, total = at+size, total+size
		}
		for n := 1; n < 12; n++ {
			next := 0
			for k := 1; k <= n; k++ {
				part := p.Part(Fraction{k, n})
				if part.From != next || part.To < part.From {
					t.Fatalf("%d splits, share %d of %d: %+v behind %d", splits, k, n, part, next)
				}
				bytes := int64(0)
				for _, s := range p.Parts[part.From:part.To] {
					bytes += s[2] - s[1]
				}
				if bytes > total/int64(n)+2<<20 {
					t.Errorf("%d splits, share %d of %d has %d of %d bytes", splits, k, n, bytes, total)
				}
				next = part.To
			}
			if next != splits {
				t.Fatalf("%d of %d splits are in %d shares", next, splits, n)
			}
		}
	}
}

// TestSealed checks that changed text, and text from a later version, is refused.
func TestSealed(t *testing.T) {
	type small struct {
		A        int
		Checksum string
	}
	v := small{A: 7}
	b, err := Seal(&v, &v.Checksum)
	if err != nil {
		t.Fatal(err)
	}
	var back small
	if err := Unseal(b, &back, &back.Checksum); err != nil || back != v {
		t.Fatalf("%v %v", back, err)
	}
	for _, text := range []string{
		strings.Replace(string(b), "7", "8", 1), strings.Replace(string(b), `"A"`, `"B": 1, "A"`, 1), string(b) + "{}", string(b[:len(b)/2]), "",
	} {
		var back small
		if err := Unseal([]byte(text), &back, &back.Checksum); err == nil {
			t.Errorf("%s is read", fmt.Sprintf("%.60s", text))
		}
	}
}

// TestSealedByAnotherVersion checks that text with more or fewer fields than this version's is not taken for damaged, and that changed text of another
// version is.
func TestSealedByAnotherVersion(t *testing.T) {
	type earlier struct {
		A        string
		Checksum string `json:"checksum"`
	}
	type later struct {
		A        string
		B        int
		Checksum string `json:"checksum"`
	}
	a, z := earlier{A: "<é\""}, later{A: "<é\"", B: 1}
	old, err := Seal(&a, &a.Checksum)
	testcheck.Must(t, err)
	newer, err := Seal(&z, &z.Checksum)
	testcheck.Must(t, err)
	for _, c := range []struct {
		what   string
		text   []byte
		unseal func(b []byte) error
	}{
		{"an earlier version's", old, func(b []byte) error { v := later{}; return Unseal(b, &v, &v.Checksum) }},
		{"a later version's", newer, func(b []byte) error { v := earlier{}; return Unseal(b, &v, &v.Checksum) }},
	} {
		if err := c.unseal(c.text); !errors.Is(err, errOtherVersion) || fail.KindOf(err) != fail.Config {
			t.Errorf("%s: %v", c.what, err)
		}
		if err := c.unseal(bytes.Replace(c.text, []byte("é"), []byte("è"), 1)); err == nil || errors.Is(err, errOtherVersion) {
			t.Errorf("%s, changed: %v", c.what, err)
		}
	}
}

// TestServers checks that the server of a row from a plan's text equals the one in a plain list of regions, and that a plan without servers has none.
func TestServers(t *testing.T) {
	random := testcheck.Rand(t)
	for range 100 {
		shape := build.Shape{}
		for range random.IntN(6) {
			shape.Splits = append(shape.Splits, fmt.Appendf(nil, "%02d", random.IntN(100)))
		}
		slices.SortFunc(shape.Splits, bytes.Compare)
		shape.Splits = slices.CompactFunc(shape.Splits, bytes.Equal)
		plain := func(row []byte) string {
			n := 0
			for _, s := range shape.Splits {
				if bytes.Compare(row, s) >= 0 {
					n++
				}
			}
			return fmt.Sprintf("host%d:16020", n)
		}
		shape.Near = plain
		text, err := json.Marshal(planTable(shape))
		testcheck.Must(t, err)
		var back PlanTable
		testcheck.Must(t, json.Unmarshal(text, &back))
		for range 20 {
			row := fmt.Appendf(nil, "%02d", random.IntN(100))[:random.IntN(3)]
			if got, want := back.shape().Near.Of(row), plain(row); got != want {
				t.Fatalf("row %q of %q is on %q, want %q", row, shape.Splits, got, want)
			}
		}
		shape.Near = nil
		if near := planTable(shape).shape().Near; near.Of(nil) != "" {
			t.Fatal("a server out of nothing")
		}
	}
}
