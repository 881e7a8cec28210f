package arch

import (
	"flag"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write arrows.txt again, in the order that it has")

// A room is a package of this module with its imports of this module.
type room struct {
	name    string
	imports []string
}

// readArrows reads arrows.txt: a line for each package, above all of its imports. Empty lines and lines that begin
// with # are ignored.
func readArrows(t *testing.T) (rooms []room, lines []string) {
	t.Helper()
	text, err := os.ReadFile("arrows.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, line := range lines {
		if name, imports, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
			rooms = append(rooms, room{name, strings.Fields(imports)})
		}
	}
	return rooms, lines
}

// root is the directory of the module.
const root = "../../.."

// goFiles returns the names of all Go files of this module, relative to its root.
func goFiles(t *testing.T) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." {
			if _, err := os.Stat(filepath.Join(root, name, "go.mod")); err == nil || strings.HasPrefix(d.Name(), ".") || name == "build" || d.Name() == "testdata" {
				return fs.SkipDir
			}
		}
		if strings.HasSuffix(name, ".go") {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// modulePath returns the path of the module in a directory.
func modulePath(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(line, "module ")
}

// imports returns all packages of this module, without tests, each with its imports of this module.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	module := modulePath(t, root)
	all := map[string]map[string]bool{}
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		dir := path.Dir(file)
		if all[dir] == nil {
			all[dir] = map[string]bool{}
		}
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if ours, ok := strings.CutPrefix(name, module+"/"); ok {
				all[dir][ours] = true
			}
		}
	}
	sorted := map[string][]string{}
	for dir, names := range all {
		sorted[dir] = slices.Sorted(maps.Keys(names))
	}
	return sorted
}

// TestArrows compares arrows.txt with the imports: it must have every package with exactly its imports, and imports
// only packages that are below it.
func TestArrows(t *testing.T) {
	have := imports(t)
	rooms, lines := readArrows(t)
	if *update {
		for i, line := range lines {
			if name, _, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
				lines[i] = strings.TrimSuffix(name+": "+strings.Join(have[name], " "), " ")
			}
		}
		if err := os.WriteFile("arrows.txt", []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		rooms, _ = readArrows(t)
	}
	place := map[string]int{}
	for i, r := range rooms {
		if _, twice := place[r.name]; twice {
			t.Errorf("%s stands twice in arrows.txt", r.name)
		}
		place[r.name] = i
		if _, ok := have[r.name]; !ok {
			t.Errorf("%s is in arrows.txt and has no files", r.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, ok := place[name]; !ok {
			t.Errorf("%s is not in arrows.txt", name)
			continue
		}
		r := rooms[place[name]]
		if d := cmp.Diff(append([]string{}, r.imports...), append([]string{}, have[name]...)); d != "" {
			t.Errorf("%s (-arrows.txt +imports; go test ./internal/test/arch -update writes it):\n%s", name, d)
		}
		for _, ours := range have[name] {
			if at, ok := place[ours]; ok && at <= place[name] {
				t.Errorf("%s imports %s, which stands above it in arrows.txt", name, ours)
			}
		}
	}
}
