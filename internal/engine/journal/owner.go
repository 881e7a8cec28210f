package journal

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// An Owner is who signed a lock's file last. The file stays when the lock is
// released, so an owner need not hold it any more.
type Owner struct {
	PID   int
	Host  string    // its name as the machine has it
	Since time.Time // UTC, to the second
}

// LastOwner reads who signed the lock of a directory last, without touching
// the lock: a run that starts meanwhile does not find it taken. A lock that
// is not signed, or that is gone, is fs.ErrNotExist or an error about its
// text.
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
	if _, err := fmt.Sscanf(string(b), "process %d on %s since %s", &o.PID, &o.Host, &since); err != nil {
		return Owner{}, fmt.Errorf("lock of %s: %q is not a process", dir, b)
	}
	if o.Since, err = time.Parse(time.RFC3339, since); err != nil {
		return Owner{}, fmt.Errorf("lock of %s: %w", dir, err)
	}
	return o, nil
}
