package delimited

import (
	"testing"

	"bulkload/pkg/source/dialect"
)

// TestCROnly checks which texts have lines that end with CR alone.
func TestCROnly(t *testing.T) {
	d, err := dialect.Preset(dialect.Excel)
	if err != nil {
		t.Fatal(err)
	}
	d.Comment, d.Doubled, d.Escape, d.FieldSep = "#", false, `\`, "||"
	for text, want := range map[string]bool{
		"": false, "a": false, "a\r": false, "a\r\r": false, "a\rb": true, "a\rb\r": true, "a\r\nb": false, "a\rb\n": false, "a||b\r1||2\r": true, "a||b\n1||2\r3": false,
		"\"a\rb\"": false, "\"a\rb\"\r": false, "\"a\n\"\rb": true, "\"a\r": false, "\"a\\\"\r\"\r1": true, "a\\\rb": false, "a\"\rb": true, "\"a\"b\rc": true, "\"a\"b\rc\n": false,
		"# x\ry\n": false, "# x\ry": false, "# x\ry\rz": true, "# x\ny\rz": true, "# x\ny\rz\n": false,
	} {
		if got := CROnly(&d, nil, []byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
