package listing

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"bulkload/pkg/setting"
)

// Limits of a list of inputs.
const (
	maxListed    = 1_000_000 // inputs
	longestInput = 64 << 10  // bytes of one
)

// InputsFrom reads a list of inputs, one a line, with the same meaning as inputs given one by one: relative paths are relative to the
// working directory, not to the list. It ignores blanks around an input, blank lines, lines that begin with # (write ./# for a file of such
// a name), carriage returns and a byte order mark. A list without inputs is an error.
func InputsFrom(ctx context.Context, resolve Resolve, name string) (inputs []string, err error) {
	fsys, at, err := resolve(name)
	if err != nil {
		return nil, err
	}
	info, err := fsys.Stat(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("list of inputs %s: %w", name, err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("list of inputs %s: it is a directory", name)
	}
	f, err := fsys.Open(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("list of inputs %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if pipe, ok := f.(*os.File); ok { // reads of other files end with ctx, and those may not be closed while they are read
		defer context.AfterFunc(ctx, func() { _ = pipe.Close() })() // ends the wait for what the writer of a pipe sends
	}
	if inputs, err = parseInputs(f); ctx.Err() != nil {
		return nil, context.Cause(ctx)
	} else if err != nil {
		return nil, fmt.Errorf("list of inputs %s: %w", name, err)
	}
	return inputs, nil
}

func parseInputs(r io.Reader) ([]string, error) {
	var inputs []string
	s := bufio.NewScanner(r)
	s.Buffer(nil, longestInput)
	line := 0
	for s.Scan() {
		text := s.Bytes()
		if line++; line == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff"))
		}
		if bytes.IndexByte(text, 0) >= 0 {
			return nil, fmt.Errorf("line %d has a NUL byte: it is not UTF-8 text", line)
		}
		input := strings.TrimSpace(string(text))
		if input == "" || input[0] == '#' {
			continue
		}
		if len(inputs) == maxListed {
			return nil, fmt.Errorf("line %d: it has more than %s", line, setting.Count(maxListed, "input"))
		}
		inputs = append(inputs, input)
	}
	switch err := s.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d is longer than %s", line+1, setting.Count(longestInput, "byte"))
	case err != nil:
		return nil, fmt.Errorf("line %d: %w", line+1, err)
	case len(inputs) == 0:
		return nil, errors.New("it has no inputs")
	}
	return inputs, nil
}
