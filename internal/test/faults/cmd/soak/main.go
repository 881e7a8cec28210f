// Command soak runs rounds of a random job with a random fault, in sequence, on its own cluster, and prints the
// outcome of each and totals by kind of fault. It continues after a wrong outcome and exits 1 at the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bulkload/internal/test/faults"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	rounds := flag.Int("rounds", 200, "rounds to do")
	seed := flag.Uint64("seed", uint64(time.Now().Unix()), "seed of the first round; the next has the next")
	kind := flag.String("fault", "", "this kind of fault only, \"none\" too")
	kinds := flag.String("kinds", "all", "kinds of faults, each with a weight if it is to have more rounds than others: kill,bit-flip=3; \"all\" has three times as many of "+
		strings.Join(faults.Seams(), ", ")+" as of each other")
	list := flag.String("seeds", "", "these seeds and no others: 7,12,1003")
	dry := flag.Bool("dry-run", false, "only print the job and the fault of each round")
	results := flag.String("json", "", "file for all rounds and the totals as JSON, written after each round")
	dir := flag.String("dir", "", "directory for data and for what wrong rounds leave (default: a temporary one)")
	program := flag.String("program", "", "the built program (default: built now)")
	verbose := flag.Bool("v", false, "say what is done")
	flag.Parse()
	if *kind != "" {
		kinds = kind
	}
	mix, err := faults.ParseMix(*kinds)
	if err != nil {
		return err
	}
	seeds, err := seedsOf(*list, *seed, *rounds)
	if err != nil {
		return err
	}
	if *dry {
		for _, s := range seeds {
			j, f := faults.Draw(s, mix.Kind(s))
			fmt.Printf("seed %d | %s | %s\n", s, j, f)
		}
		return nil
	}
	level := slog.LevelWarn
	if *verbose {
		level = slog.LevelDebug
	}
	keep := *dir != ""
	if keep {
		if *dir, err = filepath.Abs(*dir); err == nil {
			err = os.MkdirAll(*dir, 0o755)
		}
	} else {
		*dir, err = os.MkdirTemp("", "bulkload-soak-")
	}
	if err != nil {
		return err
	}
	lab := &faults.Lab{Dir: *dir, Program: *program, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))}
	defer func() { err = errors.Join(err, lab.Close()) }()
	if err := lab.Open(ctx); err != nil {
		return err
	}
	report, started := &faults.Report{}, time.Now()
	for i, s := range seeds {
		o := lab.Round(ctx, s, mix.Kind(s))
		if ctx.Err() != nil {
			break
		}
		report.Add(o)
		if err := writeJSON(*results, report, started); err != nil {
			return err
		}
		fmt.Printf("%s round %d of %d: %s\n", time.Now().UTC().Format(time.TimeOnly), i+1, len(seeds), o)
		if !o.OK() {
			fmt.Printf("!!! seed %d is not as it must be; see the round of that seed in %s\n", o.Seed, *dir)
			for n, e := range o.Errors {
				fmt.Printf("!!! error %d: %s\n", n+1, e)
			}
		}
		if o.Broken != nil || o.Spoilt {
			fmt.Println("starting other servers")
			if err := lab.Refresh(ctx, o); err != nil {
				return errors.Join(err, report.Write(os.Stdout))
			}
		}
	}
	fmt.Printf("\n%d rounds from seed %d\n", report.Rounds, seeds[0])
	if err := report.Write(os.Stdout); err != nil {
		return err
	}
	if n := len(report.Wrong) + len(report.Broken); n > 0 {
		return fmt.Errorf("%d of %d rounds were not as they must be; what they left is in %s", n, report.Rounds, *dir)
	}
	if err := lab.Close(); err != nil || keep {
		return errors.Join(err, context.Cause(ctx))
	}
	return os.RemoveAll(*dir)
}

// seedsOf returns the seeds of the rounds: those of the list, or successive ones.
func seedsOf(list string, first uint64, rounds int) (all []uint64, err error) {
	if list == "" {
		for i := range uint64(max(1, rounds)) {
			all = append(all, first+i)
		}
		return all, nil
	}
	for text := range strings.SplitSeq(list, ",") {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("seed: %w", err)
		}
		all = append(all, seed)
	}
	return all, nil
}

// writeJSON writes the report into a file, which is complete at any time.
func writeJSON(name string, r *faults.Report, started time.Time) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name + ".new")
	if err != nil {
		return err
	}
	if err := errors.Join(r.WriteJSON(f, started), f.Close()); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}
