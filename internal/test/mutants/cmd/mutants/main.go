// Command mutants runs the list of mutants against the tests: mutants [--run PART] [--cluster]. It ends with an error if a
// mutant survives. It runs in the root of the module.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"bulkload/internal/test/mutants"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	name := flags.String("list", "internal/test/mutants/testdata/list.txt", "the mutants")
	part := flags.String("run", "", "only those whose name has this")
	cluster := flags.Bool("cluster", false, "those that show on a cluster alone, too")
	atATime := flags.Int("at-a-time", 2, "how many run at a time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	b, err := os.ReadFile(*name)
	if err != nil {
		return err
	}
	list, err := mutants.Parse(string(b))
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(m mutants.Mutant) bool { return !strings.Contains(m.Name(), *part) })
	if len(list) == 0 {
		return fmt.Errorf("no mutant has %q in its name", *part)
	}
	began := time.Now()
	total, err := mutants.Run(ctx, list, mutants.Options{Root: root, AtATime: *atATime, Cluster: *cluster, Out: os.Stdout})
	fmt.Printf("%d of %d mutants are caught, %d survived, %d are left out; %s\n",
		total.Caught, len(list), total.Survived, total.LeftOut, time.Since(began).Round(time.Second))
	if total.Survived > 0 {
		err = errors.Join(err, fmt.Errorf("%d survived", total.Survived))
	}
	return err
}
