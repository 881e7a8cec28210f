package celltype

import (
	"bytes"
	"testing"
)

// TestFixedDecimals checks that decimals of a fixed scale have the bytes of the text with all digits of that scale,
// whatever scale the text has.
func TestFixedDecimals(t *testing.T) {
	for _, c := range []struct{ typ, text, full string }{
		{"decimal(18,2)", "1.5", "1.50"}, {"decimal(18,2)", "-1.50", "-1.50"}, {"decimal(18,2)", "7", "7.00"}, {"decimal(18,2)", "1e3", "1000.00"}, {"decimal(18,2)", "0", "0.00"},
		{"decimal(18,2)", "-0", "0.00"}, {"decimal(18,2)", "0e9", "0.00"}, {"decimal(4,2)", "99.99", "99.99"}, {"decimal(4,2)", "0099.9", "99.90"}, {"decimal(3,0)", "-999", "-999"}, {"decimal(3,3)", ".125", "0.125"},
		{"decimal(38, 10)", "1234567890123456789012345678.0123456789", "1234567890123456789012345678.0123456789"},
	} {
		for _, encoding := range []string{"", "phoenix"} {
			typ := Type{Type: c.typ, Encoding: encoding}
			got, err := converterOf(t, typ)(nil, []byte(c.text))
			want, errWant := converterOf(t, Type{Type: "decimal", Encoding: encoding})(nil, []byte(c.full))
			if err != nil || errWant != nil || !bytes.Equal(got, want) {
				t.Errorf("%s %s: %s: %x, %v, want %x", c.typ, encoding, c.text, got, err, want)
			}
			if encoding != "" {
				continue
			}
			if text, ok := typ.Reverter()(got); !ok || text != c.full {
				t.Errorf("%s: %s is shown as %s", c.typ, c.text, text)
			}
			if text := typ.JSON().Append(nil, got); string(text) != `"`+c.full+`"` {
				t.Errorf("%s: %s is %s in JSON", c.typ, c.text, text)
			}
		}
	}
}
