package ui

import (
	"fmt"
	"time"
)

// Bytes prints a count of bytes for people.
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n), -1
	for v >= unit && i < 3 {
		v /= unit
		i++
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGT"[i])
}

// Round leaves a duration two or three digits that mean something.
func Round(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Minute, time.Second, 10 * time.Millisecond} {
		if d >= 100*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Millisecond)
}
