package keyrange

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen"

	"pgregory.net/rapid"
)

// prefixSpecs are keys, and whether the value of a may be incomplete, or a complete date.
var prefixSpecs = map[string]bool{
	"a + b": true, "a + '_' + b": true, "salt(a, 7) + a + b": true, "salt(b, 3) + a + b": true, "hex(a) + b": true, "hex(a) + pad(b, 4)": true, "a + a + b": true, "a + md5hex(a) + b": true,
	"a + pad(a, 6) + b": true, "a + longbytes(a) + b": true, "substr(a, 0, 3) + b": true, "substr(a, 0) + b": true, "substr(a, 0, 2) + a + b": true, "substr(a, 0, 2) + '-' + a + b": true, "substr(a, 0, 2) + '-' + b": true,
	"pad(a, 6) + b": false, "pad(number(a), 6) + b": false, "longbytes(a) + b": false, "intbytes(a) + b": false, "revtime(a) + b": false, "revtimeraw(a) + b": false,
	"longbytes(millis(a, 'yyyy')) + b": false, "date(a, 'yyyyMMdd', 'yyyyMMdd') + b": true, "date(a, 'yyyyMMdd', 'yyyy') + b": false, "date(a, 'yyyyMMdd', 'yyyyMMdd', 'Asia/Shanghai') + b": true, "date(a, 'unix', 'yyyyMMdd') + b": false, "md5hex(a) + b": false,
}

// TestBeginning checks that every row whose value begins with a prefix is in the range of the prefix, or that the prefix is refused.
func TestBeginning(t *testing.T) {
	for spec, allowed := range prefixSpecs {
		k := parseKey(t, spec)
		given := 0
		testcheck.Check(t, func(t *rapid.T) {
			value := rapid.OneOf(rapid.StringOfN(rapid.RuneFrom([]rune("12")), 1, 6, -1), rapid.Just("20260501"), rapid.Just("2026"))
			row := map[string]string{"a": value.Draw(t, "a"), "b": value.Draw(t, "b")}
			key, err := Bytes(keygen.Parts(k.Spec), 1, row)
			if err != nil {
				return // the record is bad
			}
			cut := func(column string) string {
				v := row[column]
				return v[:rapid.IntRange(1, len(v)).Draw(t, "bytes of "+column)]
			}
			for _, values := range [][]string{{cut("a")}, {row["a"], cut("b")}} {
				r, err := k.Beginning(1, values)
				if err == nil && !r.Has(key) {
					t.Fatalf("%s: the row %q, %q is not among those that begin with %q", spec, row, key, values)
				}
				_, refused := errors.AsType[*NoRangeError](err)
				if len(values) == 1 && err == nil {
					given++
				}
				if err != nil && (!refused || fail.KindOf(err) != fail.Config) || len(values) == 2 && err != nil && !strings.Contains(spec, "pad(b") {
					t.Fatalf("%s: %q: %v", spec, values, err)
				}
			}
		})
		if (given > 0) != allowed {
			t.Errorf("%s: %d prefixes are taken", spec, given)
		}
	}
}

// TestNoPrefix checks that values are refused whose part of the key is made of the complete value, with what to give instead.
func TestNoPrefix(t *testing.T) {
	k := parseKey(t, "pad(day, 10) + substr(id, 0, 2)")
	for _, values := range [][]string{{"2026"}, {"20260501"}, {"20260501", "abc"}} {
		r, err := k.Beginning(1, values)
		want := fmt.Sprintf("a prefix of %s is not a prefix of row keys", k.Columns()[len(values)-1])
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "give complete values with `from` and `to`") {
			t.Errorf("%q: %+v, %v", values, r, err)
		}
	}
	for _, c := range []struct{ spec, day, id, want string }{{"pad(day, 10) + substr(id, 0, 2)", "20260501", "a", "0020260501a"}, {"day + '/' + substr(id, 0, 2) + id", "d", "abc", "d/ababc"}} {
		r, err := parseKey(t, c.spec).Beginning(1, []string{c.day, c.id})
		if err != nil || string(r.Lo) != c.want {
			t.Errorf("%s: %q, %v", c.spec, r.Lo, err)
		}
	}
}
