package kerberos

import (
	_ "embed"
	"errors"
	"strings"
	"testing"
)

//go:embed testdata/localname.tsv
var localNameTable string

// TestLocalNames compares the user names of 459 principals with those of Hadoop's own class.
func TestLocalNames(t *testing.T) {
	named, none := 0, 0
	for i, line := range strings.Split(strings.TrimSpace(localNameTable), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		rules, principal, want := strings.ReplaceAll(f[1], `\n`, "\n"), f[2], f[3]
		l, err := ParseLocalNames(rules, "EXAMPLE.COM")
		var name string
		var ok bool
		if err == nil {
			name, ok, err = l.Name(principal)
		}
		user, isName := strings.CutPrefix(want, "= ")
		switch {
		case isName && strings.Contains(rules, "(?!") && errors.Is(err, ErrLocalRule): // lookahead is not supported here
		case isName && f[1] == "" && !ok && err == nil: // without rules the principal is not mapped here
		case isName && (!ok || name != user || err != nil):
			t.Errorf("line %d, %q of %s: %q, %t, %v, want %q", i+1, rules, principal, name, ok, err, user)
		case isName:
			named++
		case want == "! PatternSyntaxException" && err == nil: // here a rule is compiled only when it is reached
		case ok:
			t.Errorf("line %d, %q of %s: %q, want %s", i+1, rules, principal, name, want)
		case want == "! NoMatchingRule" && err != nil && !strings.Contains(err.Error(), "has a / or @"):
			t.Errorf("line %d, %q of %s: %v, want no rule", i+1, rules, principal, err)
		case want != "! NoMatchingRule" && !errors.Is(err, ErrLocalRule):
			t.Errorf("line %d, %q of %s: %v, want %s", i+1, rules, principal, err, want)
		default:
			none++
		}
	}
	if named < 100 || none < 100 {
		t.Errorf("%d named, %d not", named, none)
	}
}

func FuzzLocalNames(f *testing.F) {
	f.Add("RULE:[1:$1@$0](.*@A)s/@.*///L DEFAULT", "b@A")
	f.Add(`RULE:[2:$2$1](?i)s/(.)(?<n>x)?/$2${n}\$/g`, "b/x@A")
	f.Fuzz(func(t *testing.T, rules, principal string) {
		l, err := ParseLocalNames(rules, "A")
		if err != nil {
			if !errors.Is(err, ErrLocalRule) {
				t.Fatal(err)
			}
			return
		}
		if name, ok, err := l.Name(principal); ok && (err != nil || strings.ContainsAny(name, "/@")) {
			t.Errorf("%q of %q: %q, %v", rules, principal, name, err)
		}
	})
}
