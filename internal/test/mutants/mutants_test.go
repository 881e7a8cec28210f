package mutants

import (
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

var (
	part    = flag.String("part", "", "TestMutations runs the mutants whose name has this")
	cluster = flag.Bool("cluster", false, "TestMutations also runs the mutants that only a cluster reveals")
	atATime = flag.Int("at-a-time", 0, "how many mutants TestMutations runs at a time: without it none")
)

// readList returns the list of mutants.
func readList(t *testing.T) []Mutant {
	t.Helper()
	b, err := os.ReadFile("testdata/list.txt")
	testcheck.Must(t, err)
	list, err := Parse(string(b))
	testcheck.Must(t, err)
	return list
}

// TestMutations runs the list of mutants against the tests. It fails if a mutant survives.
func TestMutations(t *testing.T) {
	if *atATime == 0 {
		t.Skip("has its own target: make test-mutations")
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	list := slices.DeleteFunc(readList(t), func(m Mutant) bool { return !strings.Contains(m.Name(), *part) })
	if len(list) == 0 {
		t.Fatalf("no mutant has %q in its name", *part)
	}
	began := time.Now()
	total, err := Run(ctx, list, Options{Root: testcheck.Path(t), AtATime: *atATime, Cluster: *cluster, Out: os.Stdout})
	t.Logf("%d of %d mutants are caught, %d survived, %d are left out; %s",
		total.Caught, len(list), total.Survived, total.LeftOut, time.Since(began).Round(time.Second))
	testcheck.Must(t, err)
	if total.Survived > 0 {
		t.Errorf("%d survived", total.Survived)
	}
}

// TestListFitsTheTree checks that each mutant of the list changes an existing file at exactly one place.
func TestListFitsTheTree(t *testing.T) {
	for _, m := range readList(t) {
		text, err := os.ReadFile(filepath.Join("../../..", m.File))
		testcheck.Must(t, err)
		if _, err := m.Apply(string(text)); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(filepath.Join("../../..", m.Package)); err != nil || !info.IsDir() {
			t.Errorf("%s: there is no package %s", m.Name(), m.Package)
		}
	}
}

func TestParse(t *testing.T) {
	list, err := Parse(`# a comment

pkg/a/b.go: no sign
-	x := -1
-
+	x := 1
test: ./pkg/c TestX|TestY
internal/d/e.go: nothing
-	f()
cluster: ./internal/d TestZ
`)
	testcheck.Must(t, err)
	want := []Mutant{
		{File: "pkg/a/b.go", What: "no sign", Old: "\tx := -1\n\n", New: "\tx := 1\n", Package: "./pkg/c", Run: "TestX|TestY"},
		{File: "internal/d/e.go", What: "nothing", Old: "\tf()\n", Package: "./internal/d", Run: "TestZ", Cluster: true},
	}
	if len(list) != len(want) || list[0] != want[0] || list[1] != want[1] {
		t.Errorf("read are %+v, not %+v", list, want)
	}
	for text, want := range map[string]string{
		"-x":                                "before any mutant",
		"pkg/a.go no words":                 "not a Go file",
		"pkg/../a.go: x":                    "not a Go file",
		"pkg/a.go: x\n":                     "changes nothing",
		"pkg/a.go: x\n-a\n+a":               "changes nothing",
		"pkg/a.go: x\n-a\npkg/a.go: x\n-b":  "line 3",
		"pkg/a.go: x\n-a\nboth":             "line 3",
		"pkg/a.go: x\n-a\ntest: pkg/a":      "line 3",
		"pkg/a.go: x\n-a\ncluster: ./pkg/a": "names no test",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, and should have %q", text, err, want)
		}
	}
}

func TestApply(t *testing.T) {
	m := Mutant{File: "a.go", What: "w", Old: "b\n", New: "c\nd\n"}
	for text, want := range map[string]string{"b\n": "c\nd\n", "a\nb\nb2\n": "a\nc\nd\nb2\n", " b\nb\n": " b\nc\nd\n"} {
		if got, err := m.Apply(text); err != nil || got != want {
			t.Errorf("%q becomes %q, %v, not %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{"": "any more", "ab\n": "any more", "b": "any more", "b\nb\n": "more than once"} {
		if _, err := m.Apply(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "a.go: w") {
			t.Errorf("%q: the error is %v, and should name the mutant and have %q", text, err, want)
		}
	}
}

// TestRun runs mutants of a small module.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod":     "module m\n\ngo 1.26\n",
		"pkg/a/a.go": "package a\n\nfunc Half(n int) int {\n\tif n < 0 {\n\t\treturn 0\n\t}\n\treturn n / 2\n}\n",
		"pkg/a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestHalf(t *testing.T) {\n\tt.Run(\"four\", func(t *testing.T) {\n\t\t" +
			"if Half(4) != 2 {\n\t\t\tt.Error()\n\t\t}\n\t})\n}\n\nfunc TestLong(t *testing.T) {\n\tif !testing.Short() && Half(-1) != 0 {\n\t\tt.Error()\n\t}\n}\n",
		"pkg/b/b.go":      "package b\n\nconst B = 1\n",
		"pkg/b/b_test.go": "package b\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) { t.Error() }\n",
	})
	list, err := Parse(`pkg/a/a.go: divided by four
-	return n / 2
+	return n / 4
pkg/a/a.go: below zero
-		return 0
+		return 1
pkg/a/a.go: divided by zero
-	return n / 2
+	return n / (n - 4)
pkg/a/a.go: no code
-	return n / 2
+	return n ? 2
pkg/a/a.go: gone
-	return n / 3
+	return n / 4
pkg/a/a.go: on a cluster
-		return 0
+		return 1
cluster: ./pkg/a TestLong
pkg/b/b.go: fails anyway
-const B = 1
+const B = 2
`)
	testcheck.Must(t, err)
	for _, cluster := range []bool{false, true} {
		var out strings.Builder
		total, err := Run(t.Context(), list, Options{Root: dir, Cluster: cluster, Out: &out})
		want := Total{Caught: 2, Survived: 1, LeftOut: 1}
		words := []string{"caught    pkg/a/a.go: divided by four: by TestHalf/four (", "SURVIVED  pkg/a/a.go: below zero (all tests of ./pkg/a, ",
			"caught    pkg/a/a.go: divided by zero: by TestHalf", "error     pkg/a/a.go: no code: its tests do not run", "error     pkg/a/a.go: gone: pkg/a/a.go: gone: the file does not have",
			"left out  pkg/a/a.go: on a cluster", "error     pkg/b/b.go: fails anyway: the tests of ./pkg/b fail without any mutant"}
		if cluster {
			want = Total{Caught: 3, Survived: 1}
			words[5] = "caught    pkg/a/a.go: on a cluster: by TestLong ("
		}
		if total != want {
			t.Errorf("the total is %+v, not %+v", total, want)
		}
		for _, w := range words {
			if !strings.Contains(out.String(), w) {
				t.Errorf("the output does not have %q:\n%s", w, out.String())
			}
		}
		for _, name := range []string{"no code", "gone", "fails anyway"} {
			if err == nil || !strings.Contains(err.Error(), name) && name != "fails anyway" && name != "no code" {
				t.Errorf("the error does not name %q: %v", name, err)
			}
		}
	}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		testcheck.Must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		testcheck.Must(t, os.WriteFile(name, []byte(text), 0o600))
	}
}
