package fail

import "testing"

// TestKinds checks that each kind has a unique word and exit code, by which it can
// be parsed.
func TestKinds(t *testing.T) {
	words, codes := map[string]bool{}, map[int]bool{}
	for _, k := range Kinds() {
		if words[k.String()] || codes[k.ExitCode()] || k.String() == "" || k.ExitCode() < 1 || k.ExitCode() > 98 {
			t.Errorf("kind %d: %q, exit code %d", k, k, k.ExitCode())
		}
		words[k.String()], codes[k.ExitCode()] = true, true
		if got, ok := ParseKind(k.String()); !ok || got != k {
			t.Errorf("%q is read as %q", k, got)
		}
		if got, ok := KindOfExit(k.ExitCode()); !ok || got != k {
			t.Errorf("exit code %d is of %q", k.ExitCode(), got)
		}
	}
	if _, ok := ParseKind("nonsense"); ok {
		t.Error("nonsense is a kind")
	}
	if _, ok := KindOfExit(0); ok {
		t.Error("success is a failure")
	}
}
