package jsonlines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
)

// TestPlaces checks each kind of place in a text with all kinds of escapes and blanks.
func TestPlaces(t *testing.T) {
	const text = ` { "a" : { "b c" : [ 1 , "x\n\u00e9" , { } , [ ] , null ] , "\u0064" : -1.50e3 } , "t" : true , "a" : 7, "": {"":"empty"} } `
	for place, want := range map[string]string{
		"$.a['b c'][0]": "1", `$.a["b c"][1]`: "x\né", "$.a.d": "-1.50e3", "$.t": "true", "$.a['b c'][2]": "{ }", "$.a['b c'][3]": "[ ]", `$[""][""]`: "empty",
		"$.a['b c'][4]": "NULL", "$.a['b c'][5]": "NULL", "$.b": "NULL", "$.t.x": "NULL", "$[0]": "NULL", "$.a.e": "NULL",
	} {
		p, err := ParsePlace(place)
		testcheck.Must(t, err)
		got, null, err := p.Append(nil, []byte(text))
		if null {
			got = []byte("NULL")
		}
		if err != nil || string(got) != want {
			t.Errorf("%s is %q, %v, want %q", place, got, err, want)
		}
	}
	if p, err := ParsePlace("$"); err != nil || len(p) != 0 {
		t.Error(p, err)
	}
	for _, place := range []string{"", "a", "$a", "$.", "$..a", "$[", "$[x]", "$[-1]", "$['a'", "$.a[", "$[0", "$.a "} {
		if p, err := ParsePlace(place); err == nil && place != "$.a " {
			t.Errorf("%q is %v", place, p)
		}
	}
	for _, text := range []string{"", "{", `{"a":1}x`, "nul", `{"a":1,}`, `{"a"}`, "{'a':1}", "\"\xff\""} {
		if _, _, err := (Place{}).Append(nil, []byte(text)); !errors.Is(err, ErrNoJSON) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestRandomPlaces compares places in random texts with encoding/json.
func TestRandomPlaces(t *testing.T) {
	r := testcheck.Rand(t)
	names := []string{"a", "b", "é", `q"\`, ""}
	var draw func(depth int) any
	draw = func(depth int) any {
		switch n := r.IntN(7); {
		case n == 0 && depth > 0:
			m := map[string]any{}
			for range r.IntN(4) {
				m[names[r.IntN(len(names))]] = draw(depth - 1)
			}
			return m
		case n == 1 && depth > 0:
			l := []any{}
			for range r.IntN(4) {
				l = append(l, draw(depth-1))
			}
			return l
		case n == 2:
			return nil
		case n == 3:
			return r.IntN(2) == 0
		case n == 4:
			return json.Number(fmt.Sprint(r.IntN(100)))
		}
		return strings.Repeat(names[r.IntN(len(names))], r.IntN(3))
	}
	found := 0
	for range race.Cases(t, 20_000) {
		value := any(map[string]any{"a": draw(3), "b": draw(3)})
		text, err := json.Marshal(value)
		testcheck.Must(t, err)
		var p Place
		for range r.IntN(4) {
			if name, i := names[r.IntN(len(names))], r.IntN(3); r.IntN(3) == 0 {
				p = append(p, step{index: i})
				l, ok := value.([]any)
				if value = nil; ok && i < len(l) {
					value = l[i]
				}
			} else {
				p = append(p, step{name: []byte(name)})
				m, _ := value.(map[string]any)
				value = m[name]
			}
		}
		got, null, err := p.Append(nil, text)
		testcheck.Must(t, err)
		want, isText := value.(string)
		if b, err := json.Marshal(value); !isText && err == nil {
			want = string(bytes.TrimSpace(b))
		}
		if null != (value == nil) || !null && string(got) != want {
			t.Fatalf("%v of %s is %q, NULL %v, want %v", p, text, got, null, value)
		}
		if !null && len(p) > 0 {
			found++
		}
	}
	if found == 0 {
		t.Errorf("%d places had something", found)
	}
}
