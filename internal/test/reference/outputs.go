package reference

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Outputs runs the commands of a document, the lines of its console blocks that begin with "$ ", in one shell in a
// directory, and returns the document with their current output. It ends at the first command that fails.
func Outputs(ctx context.Context, document, dir string) (string, error) {
	const begin, end = "```console\n", "\n```"
	// The shell writes the output of each command into a separate file.
	tmp, err := os.MkdirTemp("", "outputs-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	script := "set -e\n"
	n := 0
	each := func(block string, do func(line string)) {
		for line := range strings.SplitSeq(block, "\n") {
			if c, ok := strings.CutPrefix(line, "$ "); ok {
				do(c)
			}
		}
	}
	parts := strings.Split(document, begin)
	for i, p := range parts[1:] {
		block, _, ok := strings.Cut(p, end)
		if !ok {
			return "", fmt.Errorf("console block %d has no end", i+1)
		}
		each(block, func(line string) {
			script += fmt.Sprintf("{ %s\n} > %s/%d 2>&1\n", line, tmp, n)
			n++
		})
	}
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir = dir
	runErr := cmd.Run()
	n = 0
	var out strings.Builder
	out.WriteString(parts[0])
	for _, p := range parts[1:] {
		block, rest, _ := strings.Cut(p, end)
		var lines []string
		each(block, func(line string) {
			printed, err := os.ReadFile(filepath.Join(tmp, strconv.Itoa(n)))
			if err != nil && runErr == nil {
				runErr = err
			}
			if runErr != nil && len(printed) > 0 {
				runErr = errors.Join(runErr, fmt.Errorf("$ %s\n%s", line, printed))
			}
			n++
			lines = append(lines, strings.TrimRight("$ "+line+"\n"+string(printed), "\n"))
		})
		out.WriteString(begin + strings.Join(lines, "\n\n") + end + rest)
	}
	return out.String(), runErr
}
