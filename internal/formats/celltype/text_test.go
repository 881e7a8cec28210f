package celltype

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

// TestReverters checks that converting the text of a value's bytes gives the same bytes, and that plainly written texts
// are returned unchanged.
func TestReverters(t *testing.T) {
	for _, c := range []struct {
		spec Type
		text string
	}{
		{Type{Type: "short"}, "-32768"}, {Type{Type: "int"}, "2147483647"}, {Type{Type: "long"}, "-9223372036854775808"},
		{Type{Type: "float"}, "-1.5"}, {Type{Type: "float"}, "-Infinity"}, {Type{Type: "double"}, "1e+100"}, {Type{Type: "double"}, "NaN"},
		{Type{Type: "boolean"}, "true"}, {Type{Type: "boolean"}, "false"},
		{Type{Type: "decimal"}, "-12.50"}, {Type{Type: "decimal"}, "0.001"}, {Type{Type: "decimal"}, "-0.07"}, {Type{Type: "decimal"}, "255"},
		{Type{Type: "decimal"}, "-128"}, {Type{Type: "decimal"}, "12E3"},
		{Type{Type: "date"}, "2017-10-12"}, {Type{Type: "timestamp", Zone: "Asia/Shanghai"}, "1969-12-31 23:00:01"},
		{Type{Type: "timestamp"}, "2026-03-05 08:09:10.05"}, {Type{Type: "timestamp"}, "1900-01-01 00:00:00"}, {Type{Type: "timestamp", Layout: "unix"}, "1483203661"}, {Type{Type: "date", Layout: "unixms"}, "-5"},
		{Type{Type: "timestamp", Layout: "yyyy-MM-dd'T'HH:mm:ss[.SSS]X", Zone: "Asia/Kolkata"}, "1969-12-31T23:59:59.5+0530"},
	} {
		for _, encoding := range []string{"hbase", "phoenix"} {
			c.spec.Encoding = encoding
			back := c.spec.Reverter()
			if back == nil {
				continue
			}
			convert, err := c.spec.Converter()
			if err != nil {
				t.Fatal(err)
			}
			value, err := convert(nil, []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := back(value); !ok || got != c.text {
				t.Errorf("%s %s: %q gives %q %t", c.spec.Type, encoding, c.text, got, ok)
			}
			for _, bad := range [][]byte{{}, {1, 2, 3}} {
				if got, ok := back(bad); ok {
					t.Errorf("%s: %x is %q", c.spec.Type, bad, got)
				}
			}
		}
	}
	testcheck.Check(t, func(t *rapid.T) {
		spec := Type{Type: rapid.SampledFrom([]string{"short", "int", "long", "float", "double", "decimal"}).Draw(t, "type"),
			Encoding: rapid.SampledFrom([]string{"hbase", "phoenix"}).Draw(t, "encoding")}
		text := fmt.Sprint(rapid.Int16().Draw(t, "number"))
		if spec.Type == "float" || spec.Type == "double" || spec.Type == "decimal" {
			text = fmt.Sprintf("%d.%0*d", rapid.Int32().Draw(t, "whole"), rapid.IntRange(1, 9).Draw(t, "places"), rapid.IntRange(0, 9).Draw(t, "part"))
		}
		back := spec.Reverter()
		if back == nil {
			return
		}
		convert, err := spec.Converter()
		if err != nil {
			t.Fatal(err)
		}
		value, err := convert(nil, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		shown, ok := back(value)
		again, err := convert(nil, []byte(shown))
		if !ok || err != nil || !bytes.Equal(again, value) {
			t.Fatalf("%+v: %q is shown as %q, which gives %x %v, not %x", spec, text, shown, again, err, value)
		}
	})
}

// TestLargeDecimals checks that bytes of more digits than a decimal may have are no decimal, in time that does not depend on their square; redundant bytes of the
// sign do not count.
func TestLargeDecimals(t *testing.T) {
	spec := Type{Type: "decimal"}
	back := spec.Reverter()
	convert, err := spec.Converter()
	testcheck.Must(t, err)
	for _, text := range []string{strings.Repeat("9", MaxDigits), "-" + strings.Repeat("9", MaxDigits)} {
		value, err := convert(nil, []byte(text))
		testcheck.Must(t, err)
		if got, ok := back(value); !ok || got != text {
			t.Errorf("%.10s…: %.20s %t", text, got, ok)
		}
	}
	for _, first := range []byte{0, 0xff, 0x7f, 0x80} {
		large := bytes.Repeat([]byte{first}, 4<<20)
		copy(large, []byte{0, 0, 0, 2})
		began := time.Now()
		got, ok := back(large)
		if small := first == 0 || first == 0xff; ok != small || small && got != map[byte]string{0: "0.00", 0xff: "-0.01"}[first] {
			t.Errorf("%x: %.20s %t", first, got, ok)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%x: it took %s", first, took)
		}
	}
}
