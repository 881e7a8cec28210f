package ui

import (
	"time"

	"bulkload/pkg/setting"
)

// Bytes prints a count of bytes for people.
func Bytes(n int64) string { return setting.Bytes(n) }

// Round leaves a duration two or three digits that mean something.
func Round(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Minute, time.Second, 10 * time.Millisecond} {
		if d >= 100*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Millisecond)
}
