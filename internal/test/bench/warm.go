package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// warmBytes is as much memory as any of the tools takes.
const warmBytes = 6 << 30

// warmMemory touches so many bytes of memory and gives them back, so that the tool which is measured next gets pages that are ready. On a
// virtual machine the host takes idle memory away, and the first touch afterwards is three seconds a gigabyte: what
// runs after a pause would be measured by that.
func warmMemory(most int64) error {
	n := min(most, availableMemory()/2)
	if n <= 0 {
		return nil
	}
	b, err := unix.Mmap(-1, 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("map %d bytes to warm memory: %w", n, err)
	}
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	return unix.Munmap(b)
}

// availableMemory returns what the kernel could give to a new program, in bytes; 0 where it does not say.
func availableMemory() int64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	return kibField(b, "MemAvailable:")
}

// warmFiles has local files in the page cache.
func warmFiles(names ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, name := range names {
			f, err := os.Open(name)
			if err != nil {
				return err
			}
			if _, err := io.Copy(io.Discard, f); err != nil {
				return errors.Join(err, f.Close())
			}
			if err := errors.Join(f.Close(), ctx.Err()); err != nil {
				return err
			}
		}
		return nil
	}
}
