package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/base/abilities"
	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
)

// TestSalt checks that the secret of salted(x) is read if an expression uses it,
// and that invalid secrets are refused.
func TestSalt(t *testing.T) {
	const secret = "a secret of more than 16 bytes"
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "salt")
		testcheck.Must(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	cell := Mapping{Cells: []CellSpec{{Expr: "sha256hex(salted(a))", Qualifier: "q"}}}
	for name, s := range map[string]Spec{
		"a cell":                 {Mapping: cell},
		"a filter":               {Filter: "a is null or (b != '1' and 'x' + salted(c) > '8')"},
		"a cell of a table":      {Tables: []TableSpec{{Table: "u", Key: "a", Mapping: cell}}},
		"the filter of a table":  {Tables: []TableSpec{{Table: "u", Key: "a", Filter: "case when a = 'x' then salted(b) end = 'y'"}}},
		"none, and no file":      {Filter: "a = 'salted(b)'"},
		"none, and another file": {SaltFile: "/missing"},
	} {
		s.Table, s.Key = "t", "id"
		if strings.HasPrefix(name, "none") {
			j, err := s.Resolve()
			testcheck.Must(t, err)
			if salt, err := j.Salt(); err != nil || salt != nil || j.Divisible(abilities.YARN) != nil {
				t.Errorf("%s: %v, %v", name, salt, err)
			}
			continue
		}
		if _, err := s.Resolve(); err == nil || !strings.Contains(err.Error(), "salt_file: salted(x) needs a secret") {
			t.Errorf("%s without a file: %v", name, err)
		}
		s.SaltFile = file(secret + "\r\n")
		j, err := s.Resolve()
		testcheck.Must(t, err)
		salt, err := j.Salt()
		if string(salt) != secret || err != nil || len(salt.Digest()) != 16 || salt.Digest() == (salt[1:]).Digest() {
			t.Errorf("%s: %d bytes, digest %s, %v", name, len(salt), salt.Digest(), err)
		}
		if text := fmt.Sprintf("%v %s %x %q %#v %+v", salt, salt, salt, salt, salt, struct{ S Salt }{salt}); strings.Contains(text, "secret") || strings.Contains(text, fmt.Sprintf("%x", secret)) {
			t.Errorf("it prints %s", text)
		}
		if err := j.Divisible(abilities.YARN); err == nil || !strings.Contains(err.Error(), "which tasks on YARN do not have") {
			t.Errorf("%s on YARN: %v", name, err)
		}
		for path, want := range map[string]string{file("short\n"): "a secret of 5 bytes, and at least 16", "/missing": "no such file", t.TempDir(): "is not a file", file(strings.Repeat("x", maxSalt+1)): "at most 65536"} {
			s.SaltFile = path
			j, err := s.Resolve()
			testcheck.Must(t, err)
			if _, err := j.Salt(); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}
