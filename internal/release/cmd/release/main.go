// Command release makes the files of a release; make release runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bulkload/internal/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var o release.Options
	flag.StringVar(&o.Root, "root", ".", "checkout")
	flag.StringVar(&o.Version, "version", "", "version, such as 0.3.0")
	flag.StringVar(&o.Out, "out", "build/release", "directory for the files")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64,darwin/arm64", "platforms, separated by commas")
	flag.Parse()
	o.Platforms = strings.Split(*platforms, ",")
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH %q is not a number of seconds", text)
		}
		o.Date = time.Unix(seconds, 0)
	}
	names, err := release.Make(ctx, o)
	if err != nil {
		return err
	}
	for _, name := range names {
		fmt.Println(filepath.Join(o.Out, name))
	}
	return nil
}
