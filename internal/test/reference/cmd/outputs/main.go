// Command outputs runs the commands of a document in a directory and writes their output into the document: outputs
// FILE DIR.
package main

import (
	"context"
	"fmt"
	"os"

	"bulkload/internal/test/reference"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "outputs:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: outputs FILE DIR")
	}
	b, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	text, err := reference.Outputs(context.Background(), string(b), args[1])
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], []byte(text), 0o644)
}
