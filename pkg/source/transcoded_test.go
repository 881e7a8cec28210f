package source

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/dialect"
)

// TestErrorsOfUTF16: what is wrong with a text in UTF-16 names the file and the place in its text, and does not say of a packed
// file that it is damaged.
func TestErrorsOfUTF16(t *testing.T) {
	big := utf16Text("a,b\n1,2\n", false)
	for _, c := range []struct{ charset, text, want string }{
		{"utf-16", big, "x: no byte order mark, and"},
		{"utf-16", "\x2f\x65\x2f\x65", "x: no byte order mark, and neither order"},
		{"utf-16le", "\xfe\xff" + big, "x: the byte order mark says utf-16be, not utf-16le"},
		{"utf-16le", utf16Text("a,b\n1,2\n", true) + "x", "x: no character of utf-16le at byte 16"},
		{"utf-16le", utf16Text("a,b\n1,", true) + "\x00\xd8" + utf16Text("\n", true), "x: no character of utf-16le at byte 12"},
	} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err := z.Write([]byte(c.text))
		testcheck.Must(t, err)
		testcheck.Must(t, z.Close())
		o := Options{Dialect: strayCSV(t, "yes", func(d *dialect.Dialect) { d.Charset = c.charset })}
		for name, data := range map[string][]byte{"x": []byte(c.text), "x.gz": packed.Bytes()} {
			want := "/" + strings.Replace(c.want, "x:", name+":", 1)
			if _, err := loadBytes(t, o, name, data); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s in %s: %v, want %s", c.charset, name, err, want)
			}
		}
	}
	// What is damaged below the text is said as before.
	if _, err := loadBytes(t, Options{Dialect: strayCSV(t, "yes", func(d *dialect.Dialect) { d.Charset = "utf-16le" })}, "x.gz", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff")); err == nil || !strings.Contains(err.Error(), "x.gz: the ") {
		t.Error(err)
	}
}
