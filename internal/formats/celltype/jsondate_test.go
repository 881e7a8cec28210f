package celltype

import "testing"

// TestJSONOfDatesWithOffsets checks that a date whose layout has an offset is a timestamp, and that quoted letters of a layout are no fields.
func TestJSONOfDatesWithOffsets(t *testing.T) {
	for _, c := range []struct{ layout, text, want string }{
		{"yyyy-MM-ddXXX", "2017-09-01+08:00", `"2017-08-31T16:00:00Z"`},
		{"yyyy-MM-ddXXX", "2017-09-01Z", `"2017-09-01T00:00:00Z"`},
		{"yyyy'Xh'MMdd", "2017Xh0901", `"2017-09-01"`},
		{"", "2017-09-01", `"2017-09-01"`},
	} {
		d := Type{Type: "date", Layout: c.layout}
		convert, err := d.Converter()
		if err != nil {
			t.Fatal(err)
		}
		value, err := convert(nil, []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(d.JSON().Append(nil, value)); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}
