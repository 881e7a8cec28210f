package progress

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Window is a period of every day in local time. A window from 22:00 to 06:00 spans
// midnight. The beginning is inclusive, the end exclusive.
type Window struct {
	from, to int // minutes of the day
	zone     *time.Location
}

const minutesOfDay = 24 * 60

// ParseWindow parses a window such as 22:00-06:00; 24:00 is the end of the day.
// zone is the time zone, default the machine's.
func ParseWindow(s string, zone *time.Location) (_ *Window, err error) {
	if zone == nil {
		zone = time.Local
	}
	from, to, ok := strings.Cut(s, "-")
	if !ok {
		return nil, fmt.Errorf("%q is not a window; write 22:00-06:00", s)
	}
	w := &Window{zone: zone}
	if w.from, err = parseMinute(from); err == nil {
		w.to, err = parseMinute(to)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is not a window; write 22:00-06:00: %w", s, err)
	case w.from == minutesOfDay:
		return nil, fmt.Errorf("window %q begins at the end of the day: write 00:00", s)
	case w.from == w.to:
		return nil, fmt.Errorf("window %q has no length: leave it out for the whole day", s)
	}
	return w, nil
}

// parseMinute parses HH:MM and returns minutes of the day.
func parseMinute(s string) (int, error) {
	s = strings.TrimSpace(s)
	if len(s) != len("00:00") || s[2] != ':' {
		return 0, fmt.Errorf("%q is not a time of day; write 06:00", s)
	}
	n := 0
	for _, i := range []int{0, 1, 3, 4} {
		if s[i] < '0' || s[i] > '9' {
			return 0, fmt.Errorf("%q is not a time of day; write 06:00", s)
		}
		n = 10*n + int(s[i]-'0')
	}
	hour, minute := n/100, n%100
	if minute > 59 || hour*60+minute > minutesOfDay {
		return 0, errors.New("a day is from 00:00 to 24:00")
	}
	return hour*60 + minute, nil
}

// Open reports whether the time is in the window. In autumn, both occurrences of the
// repeated hour count alike. In spring, the skipped hour does not occur on that day.
func (w *Window) Open(t time.Time) bool {
	t = t.In(w.zone)
	m := t.Hour()*60 + t.Minute()
	if w.from < w.to {
		return w.from <= m && m < w.to
	}
	return w.from <= m || m < w.to
}

// Next returns when the window opens: t itself if it is open then, else the first
// whole minute when it is open. A window within the hour that is skipped in spring
// opens a day later.
func (w *Window) Next(t time.Time) time.Time {
	if w.Open(t) {
		return t
	}
	// It tries minute by minute, because no rule of the calendar holds on the days when
	// clocks change, and zones differ by whole minutes. It is called rarely.
	for next := t.Truncate(time.Minute).Add(time.Minute); ; next = next.Add(time.Minute) {
		if w.Open(next) || next.Sub(t) > 72*time.Hour {
			return next.In(w.zone)
		}
	}
}

// String returns the window as it is written, with its zone.
func (w *Window) String() string {
	return fmt.Sprintf("%02d:%02d-%02d:%02d %s", w.from/60, w.from%60, w.to/60, w.to%60, w.zone)
}
