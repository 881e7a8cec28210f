package expectation

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"bulkload/internal/test/testcheck"

	"github.com/goccy/go-yaml"
)

// TestWrite checks that written expectations are read back unchanged, whatever their texts.
func TestWrite(t *testing.T) {
	r := testcheck.Rand(t)
	for range 2000 {
		var list []Asked
		for range r.IntN(4) {
			a := randomAsked(r, oddText(r))
			if r.IntN(3) == 0 {
				a.Values = []Word{Word(oddText(r)), Word(oddText(r))}
			}
			if r.IntN(3) == 0 {
				a.Min = Word(oddText(r))
			}
			list = append(list, a)
		}
		b, err := Write(list)
		testcheck.Must(t, err)
		var back struct {
			Expect []Asked `yaml:"expect"`
		}
		if err := yaml.UnmarshalWithOptions(b, &back, yaml.Strict()); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		if len(list) > 0 && !reflect.DeepEqual(back.Expect, list) {
			t.Fatalf("%s\nis %+v\nnot %+v", b, back.Expect, list)
		}
	}
}

// oddText returns a text that YAML may read as another type.
func oddText(r *rand.Rand) string {
	words := []string{"no", "null", "~", "1", "007", "1.50", "1e3", "-", "a: b", "a #b", "'", `"`, `\N`, "\n", "\t x", "", " ", "é", "日本", "\x01", "\u2028", "\U0001F600", "[a]", "{a}", "*a", "&a", "!a", "%a", "@a", "2017-10-12", "check_id", "check_1", "0x1f", "1_000", "12:30:45", "\u0085", "<<", "=", "|", ">", "0", "5%"}
	return words[r.IntN(len(words))] + map[bool]string{true: words[r.IntN(len(words))], false: ""}[r.IntN(2) == 0] + fmt.Sprint(map[bool]string{true: "x", false: ""}[r.IntN(3) == 0])
}
