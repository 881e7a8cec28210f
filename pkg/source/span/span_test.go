package span

import "testing"

// TestNull checks that NULL differs from an empty value at any offset.
func TestNull(t *testing.T) {
	data := []byte("abc")
	if n := Null(); !n.IsNull() || n.Len != 0 || n.Of(data) != nil {
		t.Errorf("%+v", n)
	}
	if v := (Span{}).Of(nil); v == nil || len(v) != 0 {
		t.Errorf("an empty value of no memory: %v", v)
	}
	for _, s := range []Span{{}, {Off: 3}, {Off: 1, Len: 2}} {
		if v := s.Of(data); s.IsNull() || v == nil || len(v) != int(s.Len) || cap(v) != len(v) {
			t.Errorf("%+v: %q", s, v)
		}
	}
}
