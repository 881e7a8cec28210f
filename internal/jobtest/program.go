package jobtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Program is the path of the program, which kills itself behind a record of its journal when a test asks for it (tag stopafter). It is for
// packages two levels below the top.
func Program(t testing.TB) string {
	t.Helper()
	name, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// built builds the program once in a process. It lies in the checkout's build directory, in a directory for each package, so that
// processes do not meet and nothing has to remove it.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "../../build/programs", filepath.Base(filepath.Dir(dir)), filepath.Base(dir), "bulkload")
	if out, err := exec.Command("go", "build", "-tags", "stopafter", "-o", name, "bulkload/cmd/bulkload").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return name, nil
})
