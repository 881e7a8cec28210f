package statetable

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"bulkload/internal/engine/journal"
)

// Holder is a process that works on a job, or was the last to work on it.
type Holder struct {
	Epoch      int64     `json:"epoch"`      // the previous holder's plus one
	Generation int64     `json:"generation"` // of the records: those of earlier generations are discarded
	PID        int       `json:"pid"`
	Host       string    `json:"host"`
	Space      string    `json:"space"`           // scope of the PID: the machine's boot, and the PID namespace
	Since      time.Time `json:"since"`           // by the holder's clock
	Start      int64     `json:"start,omitempty"` // start of the process in ticks since boot, which steps of the clock do not change; 0 in records of version 0.1
	Mark       string    `json:"mark"`            // random, so that no two holders are equal
	Released   bool      `json:"released,omitempty"`
}

func (h Holder) String() string {
	return fmt.Sprintf("process %d on %s since %s", h.PID, h.Host, h.Since.UTC().Format(time.RFC3339))
}

// thisProcess returns this process as a holder, since now.
func thisProcess() (Holder, error) {
	o, err := journal.Self(time.Now())
	if err != nil {
		return Holder{}, fmt.Errorf("name of this host: %w", err)
	}
	return Holder{PID: o.PID, Host: o.Host, Since: o.Since, Start: o.Start, Space: processSpace(), Mark: rand.Text()}, nil
}

// processSpace returns the scope in which PIDs are unique: the machine since its boot, and one PID namespace. Empty if the system does not provide
// it.
func processSpace() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(boot)) + " " + space
}

// ended reports whether the holder was a process of this machine that does not run any more.
func (h Holder) ended(self Holder) bool {
	if h.Space == "" || h.Space != self.Space {
		return false
	}
	runs, here := journal.Owner{PID: h.PID, Host: h.Host, Since: h.Since, Start: h.Start}.Running()
	return here && !runs
}
