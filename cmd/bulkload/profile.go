package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"

	"bulkload/internal/cli/settings"
	"bulkload/internal/model/fail"

	"github.com/spf13/pflag"
)

type profileFlags struct {
	cpu, mem, trace string
}

func (p *profileFlags) add(f *pflag.FlagSet) {
	settings.Bind(f, settings.To{"cpuprofile": &p.cpu, "memprofile": &p.mem, "trace": &p.trace})
}

func (p *profileFlags) start() (stop func() error, err error) {
	var stops []func() error
	stop = func() error {
		var errs []error
		for _, s := range stops {
			errs = append(errs, s())
		}
		return errors.Join(errs...)
	}
	begin := func(name string, start func(*os.File) error, end func(*os.File) error) error {
		if name == "" {
			return nil
		}
		f, err := os.Create(name)
		if err != nil {
			return fail.Usage(fmt.Errorf("profile: %w", err))
		}
		if err := start(f); err != nil {
			return errors.Join(err, f.Close())
		}
		stops = append(stops, func() error { return errors.Join(end(f), f.Close()) })
		return nil
	}
	err = errors.Join(
		begin(p.cpu, func(f *os.File) error { return pprof.StartCPUProfile(f) }, func(*os.File) error { pprof.StopCPUProfile(); return nil }),
		begin(p.trace, func(f *os.File) error { return trace.Start(f) }, func(*os.File) error { trace.Stop(); return nil }),
		begin(p.mem, func(*os.File) error { return nil }, func(f *os.File) error { runtime.GC(); return pprof.Lookup("allocs").WriteTo(f, 0) }),
	)
	return stop, err
}
