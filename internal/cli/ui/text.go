package ui

import "time"

// Round rounds a duration to two or three significant digits.
func Round(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Minute, time.Second, 10 * time.Millisecond} {
		if d >= 100*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Millisecond)
}
