package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// warmBytes is the greatest memory of any of the tools.
const warmBytes = 6 << 30

// warmMemory touches the given number of bytes of memory and frees them, so that the next measured tool gets ready pages. On a virtual
// machine the host reclaims idle memory, and the first touch afterwards takes three seconds a gigabyte, which would affect the
// measurement after a pause.
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

// availableMemory returns the memory that the kernel could give a new program, in bytes, or 0 if it does not report
// it.
func availableMemory() int64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	return kibField(b, "MemAvailable:")
}

// warmFiles returns a function that reads local files into the page cache.
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
