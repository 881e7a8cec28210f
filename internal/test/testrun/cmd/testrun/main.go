// Command testrun runs all tests of the module, each once; see package testrun.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"bulkload/internal/test/testrun"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	o := testrun.Options{Out: os.Stdout}
	first := flag.String("first", "", "import paths of packages that take long, comma-separated")
	modules := flag.String("modules", "", "directories of other modules whose tests run too, comma-separated")
	events := flag.String("events", "", "file that gets the events of go test -json")
	flag.IntVar(&o.Jobs, "jobs", 0, "runs of go test at a time, the one with the race detector among them (default 3)")
	flag.DurationVar(&o.Timeout, "timeout", time.Hour, "of a package's tests")
	flag.Parse()
	o.Packages = flag.Args()
	if *first != "" {
		o.First = strings.Split(*first, ",")
	}
	if *modules != "" {
		o.Modules = strings.Split(*modules, ",")
	}
	if *events != "" {
		var f *os.File
		if f, err = os.Create(*events); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		o.Events = io.Writer(f)
	}
	return testrun.Run(ctx, o)
}
