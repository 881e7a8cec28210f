package delimited

import (
	"testing"

	"bulkload/pkg/dialect"

	"pgregory.net/rapid"
)

// TestNullWord holds the comparison of words to that of texts.
func TestNullWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]byte("\\NU\x00a")), 0, 9)
		var d dialect.Dialect
		for range rapid.IntRange(0, 2).Draw(t, "texts for NULL") {
			d.Null = append(d.Null, string(text.Draw(t, "NULL")))
		}
		w := newNullWord(d.Null)
		if fits := len(d.Null) == 0 || len(d.Null) == 1 && len(d.Null[0]) < 8; w.usable != fits {
			t.Fatalf("%q: usable %t", d.Null, w.usable)
		}
		if !w.usable {
			return
		}
		field, before, after := text.Draw(t, "field"), text.Draw(t, "before"), text.Draw(t, "after")
		data := append(append(append([]byte{}, before...), field...), after...)
		data = append(data, make([]byte, Slack)...)
		got := w.span(data, len(before), len(before)+len(field))
		if null := d.IsNull(field, false); got.IsNull() != null || !null && string(got.Of(data)) != string(field) {
			t.Fatalf("%q of %q: %+v", field, d.Null, got)
		}
	})
}
