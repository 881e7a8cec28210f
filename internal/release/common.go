package release

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// archived lists the files of the repository that an archive contains, as git's patterns, one a line. The exports are sample data for a first
// try. A test of the documents reads the same file to check that no document in an archive links to a file that the archive lacks.
//
//go:embed archived.txt
var archived string

// commonFiles returns the files of every platform: those of the repository, completions and man pages.
func commonFiles(ctx context.Context, o Options, tmp string) ([]File, error) {
	names, err := tracked(ctx, o.Root, strings.Fields(archived)...)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, name := range names {
		f, err := readFile(filepath.Join(o.Root, name), name)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	here := filepath.Join(tmp, "bulkload-here")
	if _, err := o.build(ctx, runtime.GOOS+"/"+runtime.GOARCH, here); err != nil {
		return nil, err
	}
	for shell, name := range map[string]string{"bash": "bulkload.bash", "zsh": "_bulkload", "fish": "bulkload.fish"} {
		text, err := output(ctx, o.Root, nil, here, "completion", shell)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Name: "completions/" + name, Data: []byte(text)})
	}
	pages, err := manPages(ctx, o, filepath.Join(tmp, "man"))
	return append(files, pages...), err
}

// tracked returns the files that git tracks in a checkout and that match one of the patterns.
func tracked(ctx context.Context, root string, patterns ...string) ([]string, error) {
	list, err := output(ctx, root, nil, "git", append([]string{"ls-files", "-z", "--"}, patterns...)...)
	return strings.FieldsFunc(list, func(r rune) bool { return r == 0 }), err
}

// manPages returns the manual pages. A test of package cmd/bulkload writes them, because only that package has all commands.
func manPages(ctx context.Context, o Options, dir string) ([]File, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := output(ctx, o.Root, compiling, "go", "test", "-count=1", "-trimpath", "-vet=off", "-run", "^TestManPages$", "./cmd/bulkload",
		"-man", dir, "-man-version", o.Version, "-man-date", o.Date.UTC().Format(time.RFC3339)); err != nil {
		return nil, err
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		return nil, err
	}
	var files []File
	for _, page := range pages {
		f, err := readFile(page, "man/man1/"+filepath.Base(page))
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}
