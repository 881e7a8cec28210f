package choice

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen"
)

// TestResolve checks that texts are resolved to ranges of row keys, columns and times.
func TestResolve(t *testing.T) {
	key, err := keygen.Parse("salt(id, 2) + id + '|' + md5hex(id)")
	testcheck.Must(t, err)
	k := Keys{Spec: key, Name: "parse"}
	for _, c := range []struct {
		asked Asked
		want  string // the ranges, columns and times; or a part of the error
	}{
		{Asked{}, "[] [] 0 0"},
		{Asked{FromKey: "a", ToKey: "c"}, `["0a"-"0c" "1a"-"1c"] [] 0 0`},
		{Asked{FromKey: "a"}, `["0a"-"1" "1a"-"2"] [] 0 0`},
		{Asked{ToKey: "c"}, `["0"-"0c" "1"-"1c"] [] 0 0`},
		{Asked{KeyPrefix: "ab"}, `["0ab"-"0ac" "1ab"-"1ac"] [] 0 0`},
		{Asked{StartRow: `a\x00`, StopRow: "b"}, `["a\x00"-"b"] [] 0 0`},
		{Asked{RowPrefix: `\xFF`}, `["\xff"-""] [] 0 0`},
		{Asked{Only: []string{"f", " g:a", `g:\x01`, "h:"}}, `[] [f g:"a" g:"\x01" h:""] 0 0`},
		{Asked{Since: "5", Until: "1970-01-01T00:00:01Z"}, "[] [] 5 1000"},
		{Asked{FromKey: "a", StopRow: "b"}, "only one of these at a time"},
		{Asked{KeyPrefix: "a", ToKey: "b"}, "only one of these at a time"},
		{Asked{FromKey: "c", ToKey: "a"}, "`from_key` is inclusive, `to_key` is exclusive"},
		{Asked{FromKey: `a\`}, "`from_key`: position 2"},
		{Asked{FromKey: "a,b"}, "`from_key`: 2 values are given"},
		{Asked{StartRow: "b", StopRow: "a"}, "`start_row` is not before `stop_row`"},
		{Asked{StopRow: `\x0`}, "`stop_row`: position 1"},
		{Asked{Only: []string{":a"}}, `"` + ":a" + `" has no family`},
		{Asked{Since: "yesterday"}, "`since`: \"yesterday\" is neither"},
		{Asked{Since: "9", Until: "9"}, "`since` is not before `until`"},
	} {
		got, err := c.asked.Resolve(k)
		text := fmt.Sprintf("[%s] [%s] %d %d", list(got.Ranges, func(r keyrange.Range) string { return fmt.Sprintf("%q-%q", r.Start, r.Stop) }), list(got.Columns, func(c Column) string {
			if c.Qualifier == nil {
				return c.Family
			}
			return fmt.Sprintf("%s:%q", c.Family, c.Qualifier)
		}), got.Since, got.Until)
		if err != nil {
			if text = err.Error(); fail.KindOf(err) != fail.Config {
				t.Errorf("%+v: its kind is %v", c.asked, fail.KindOf(err))
			}
		}
		if err == nil && text != c.want || err != nil && !strings.Contains(text, c.want) {
			t.Errorf("%+v: %s, want %s", c.asked, text, c.want)
		}
		if first, some := c.asked.First(); some != (c.asked.String() != "") || some && !strings.HasPrefix(c.asked.String(), string(first)+" ") {
			t.Errorf("%+v: %q, first %s", c.asked, c.asked, first)
		}
	}
	if _, err := (Asked{KeyPrefix: "a"}).Resolve(Keys{Name: "parse"}); err == nil || !strings.HasSuffix(err.Error(), "need the spec of the row keys: give it with `parse`") {
		t.Error(err)
	}
	other, err := keygen.Parse("md5hex(id) + id")
	testcheck.Must(t, err)
	if _, err := (Asked{FromKey: "a"}).Resolve(Keys{Spec: other}); err == nil || !strings.Contains(err.Error(), "does not keep the order: bound the rows with `start_row`") {
		t.Error(err)
	}
}

// TestKeyOrder checks that a choice says whether its range of keys has other rows than the range of values.
func TestKeyOrder(t *testing.T) {
	e, err := keygen.Parse("rule + '|' + id")
	testcheck.Must(t, err)
	for _, c := range []struct {
		asked Asked
		want  string
	}{{Asked{FromKey: "R10", ToKey: "R2"}, "rule + '|' + id"}, {Asked{FromKey: "R1", ToKey: "R2"}, ""}, {Asked{KeyPrefix: "R1"}, ""}, {Asked{StartRow: "R10", StopRow: "R2"}, ""}, {Asked{FromKey: "R1,5"}, "rule + '|' + id"}} {
		got, err := c.asked.Resolve(Keys{Spec: e})
		if err != nil || got.KeyOrder != c.want {
			t.Errorf("%+v: %q, %v", c.asked, got.KeyOrder, err)
		}
	}
}

func list[T any](all []T, text func(T) string) string {
	var texts []string
	for _, x := range all {
		texts = append(texts, text(x))
	}
	return strings.Join(texts, " ")
}

// TestOfFamilies checks that [Choice.Of] returns exactly the columns for which [Choice.Has] is true.
func TestOfFamilies(t *testing.T) {
	r := testcheck.Rand(t)
	names, qualifiers := []string{"f", "g", "h"}, []string{"", "a", "b"}
	for range 300 {
		var c Choice
		for range r.IntN(4) {
			x := Column{Family: names[r.IntN(3)]}
			if r.IntN(2) == 0 {
				x.Qualifier = []byte(qualifiers[r.IntN(3)])
			}
			c.Columns = append(c.Columns, x)
		}
		have := names[:1+r.IntN(3)]
		whole, single := c.Of(have)
		for _, f := range names {
			for _, q := range qualifiers {
				want := slices.Contains(have, f) && c.Has([]byte(f), []byte(q))
				got := slices.Contains(whole, f) || slices.ContainsFunc(single, func(x Column) bool { return x.Family == f && string(x.Qualifier) == q })
				if got != want || slices.Contains(c.Families(), f) && c.InFamily(f).Has([]byte(f), []byte(q)) != c.Has([]byte(f), []byte(q)) {
					t.Fatalf("%q of %q: %s:%s is read %t, want %t", c.Columns, have, f, q, got, want)
				}
			}
		}
	}
}
