package keygen

import (
	"os"
	"strings"
	"testing"
)

// TestReference checks that docs/keys.md has every function in its written form, and every recipe.
func TestReference(t *testing.T) {
	b, err := os.ReadFile("../../docs/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(b), `\|`, "|")
	for _, f := range functions() {
		if !strings.Contains(text, "`"+f.form+"`") {
			t.Errorf("the reference has no %s", f.form)
		}
	}
	for _, r := range Recipes() {
		if !strings.Contains(text, "`"+r.Name+"`") || !strings.Contains(text, "`"+r.Spec+"`") {
			t.Errorf("the reference has no recipe %s, %s", r.Name, r.Spec)
		}
	}
}
