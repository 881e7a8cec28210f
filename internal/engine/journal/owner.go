package journal

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// An Owner is the process that last signed a lock file. The file is kept when the
// lock is released, so the owner may not hold the lock any more.
type Owner struct {
	PID   int
	Host  string    // host name as the machine reports it
	Since time.Time // UTC, to the second
	Start int64     // start of the process in ticks since boot, which steps of the clock do not change; 0 if unknown
}

// LastOwner reads the owner that last signed the lock of a directory, without
// touching the lock: a run that starts meanwhile does not find it taken. If the
// file is missing the error is fs.ErrNotExist; if it is not signed, the error is
// about its text.
func LastOwner(dir string) (Owner, error) {
	f, err := os.Open(filepath.Join(dir, LockName))
	if err != nil {
		return Owner{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err != nil {
		return Owner{}, err
	}
	var o Owner
	var since string
	first, second, _ := strings.Cut(string(b), "\n")
	if _, err := fmt.Sscanf(first, "process %d on %s since %s", &o.PID, &o.Host, &since); err != nil {
		return Owner{}, fmt.Errorf("lock of %s: %q is not a process", dir, b)
	}
	_, _ = fmt.Sscanf(second, "start %d", &o.Start) // absent in a lock of version 0.1
	if o.Since, err = time.Parse(time.RFC3339, since); err != nil {
		return Owner{}, fmt.Errorf("lock of %s: %w", dir, err)
	}
	return o, nil
}
