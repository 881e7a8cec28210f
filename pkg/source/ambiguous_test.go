package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAmbiguousText checks that text without settings is not read as CSV if its beginning may be another format, and that a setting decides.
func TestAmbiguousText(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"id\tname\n1\ta\n", "with TAB as often in each"},
		{"id|name|x\n1|a|b\n", `with '|' as often in each`},
		{"id,name\n1,a\n2,\\N\n", `record 2, column 2 is \N`},
		{"id,name\n\\N,a\n", `record 1, column 1 is \N`},
		{"id,name\n1,\"a,\n\\N\"\n2,\\N\r\n", `record 2, column 2 is \N`},
		{"id,name\n1,\\N", `record 1, column 2 is \N`},
		{"id,name\n1,\"\\N\"\n", ""},
		{"id,name\n1,\\Nx\n2,x\\N\n", ""},
		{"id\n1\n2\n", ""},
		{"id\na|b\nc\n", ""},
		{"id,name\n1,a|b\n", ""},
		{"id|name\n", ""},
	} {
		name := filepath.Join(t.TempDir(), "t.txt")
		if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), disk, []string{name}, Options{})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
		if _, err := Open(t.Context(), disk, []string{name}, Options{Format: FormatCSV}); err != nil {
			t.Errorf("%q as CSV: %v", c.text, err)
		}
	}
}
