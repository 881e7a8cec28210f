package span

import "testing"

// TestNull distinguishes no value from the empty one, wherever that lies.
func TestNull(t *testing.T) {
	data := []byte("abc")
	if n := Null(); !n.IsNull() || n.Len != 0 || n.Of(data) != nil {
		t.Errorf("%+v", n)
	}
	for _, s := range []Span{{}, {Off: 3}, {Off: 1, Len: 2}} {
		if v := s.Of(data); s.IsNull() || v == nil || len(v) != int(s.Len) || cap(v) != len(v) {
			t.Errorf("%+v: %q", s, v)
		}
	}
}
