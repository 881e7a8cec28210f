package job

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestReverters: the text of a value's bytes makes the same bytes again, and what was written plainly is read as it was.
func TestReverters(t *testing.T) {
	for _, c := range []struct {
		spec CellSpec
		text string
	}{
		{CellSpec{Type: "short"}, "-32768"}, {CellSpec{Type: "int"}, "2147483647"}, {CellSpec{Type: "long"}, "-9223372036854775808"},
		{CellSpec{Type: "float"}, "-1.5"}, {CellSpec{Type: "float"}, "-Infinity"}, {CellSpec{Type: "double"}, "1e+100"}, {CellSpec{Type: "double"}, "NaN"},
		{CellSpec{Type: "boolean"}, "true"}, {CellSpec{Type: "boolean"}, "false"},
		{CellSpec{Type: "decimal"}, "-12.50"}, {CellSpec{Type: "decimal"}, "0.001"}, {CellSpec{Type: "decimal"}, "-0.07"}, {CellSpec{Type: "decimal"}, "255"},
		{CellSpec{Type: "decimal"}, "-128"}, {CellSpec{Type: "decimal"}, "12E3"},
		{CellSpec{Type: "date"}, "2017-10-12"}, {CellSpec{Type: "timestamp", Zone: "Asia/Shanghai"}, "1969-12-31 23:00:01"},
		{CellSpec{Type: "timestamp", Layout: "unix"}, "1483203661"}, {CellSpec{Type: "date", Layout: "unixms"}, "-5"},
		{CellSpec{Type: "timestamp", Layout: "yyyy-MM-dd'T'HH:mm:ss[.SSS]X", Zone: "Asia/Kolkata"}, "1969-12-31T23:59:59.5+0530"},
	} {
		for _, encoding := range []string{"hbase", "phoenix"} {
			c.spec.Encoding = encoding
			back := c.spec.reverter()
			if back == nil {
				continue
			}
			convert, err := c.spec.converter()
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
	rapid.Check(t, func(t *rapid.T) {
		spec := CellSpec{Type: rapid.SampledFrom([]string{"short", "int", "long", "float", "double", "decimal"}).Draw(t, "type"),
			Encoding: rapid.SampledFrom([]string{"hbase", "phoenix"}).Draw(t, "encoding")}
		text := fmt.Sprint(rapid.Int16().Draw(t, "number"))
		if spec.Type == "float" || spec.Type == "double" || spec.Type == "decimal" {
			text = fmt.Sprintf("%d.%0*d", rapid.Int32().Draw(t, "whole"), rapid.IntRange(1, 9).Draw(t, "places"), rapid.IntRange(0, 9).Draw(t, "part"))
		}
		back := spec.reverter()
		if back == nil {
			return
		}
		convert, err := spec.converter()
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
