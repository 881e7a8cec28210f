package valuetext

import "time"

// The day and the second, both counted since 1970, from which on the hybrid calendar equals the Gregorian one.
const (
	HybridDays    = -141427     // 1582-10-15
	HybridSeconds = -2208988800 // 1900-01-01 00:00:00 UTC
)

// Hybrid is the calendar of java.util.GregorianCalendar in a time zone: it is Julian before 1582-10-15, and in all years before
// 1900 the zone has its current standard offset. Writers with this calendar use it to convert local dates to days and instants.
type Hybrid struct {
	zone     *time.Location
	standard int64 // seconds
}

// NewHybrid returns the calendar in a zone, by its name in Java: Asia/Shanghai, UTC, +08:00, GMT+8. A zone whose local time
// before 1900 is uncertain is an error.
func NewHybrid(zone string) (*Hybrid, error) {
	l, err := javaZone(zone)
	if err != nil {
		return nil, err
	}
	h := &Hybrid{zone: l}
	// Java uses the lowest offset of a year as the standard offset, also in zones with "negative" summer time.
	for week := range 53 {
		_, offset := time.Date(2037, 1, 1+7*week, 0, 0, 0, 0, time.UTC).In(l).Zone()
		if week == 0 || int64(offset) < h.standard {
			h.standard = int64(offset)
		}
	}
	return h, nil
}

// HybridDay converts a day since 1970 from the hybrid calendar: the result has the same date in the Gregorian calendar. 29 February
// becomes 1 March in years that have no such day.
func HybridDay(day int64) int64 {
	if day >= HybridDays {
		return day
	}
	// Years begin in March here, the first of them in 4801 BC.
	days := day + 2440588 + 32082
	year := FloorDiv(4*days+3, 1461)
	rest := days - FloorDiv(1461*year, 4)
	month := (5*rest + 2) / 153
	first := time.Date(int(year-4800), time.Month(month+3), 1, 0, 0, 0, 0, time.UTC).Unix() / 86400
	return first + rest - (153*month+2)/5
}

// Second converts an instant, in seconds since 1970, from the hybrid calendar: the result has the same local date and time in the
// Gregorian calendar.
func (h *Hybrid) Second(second int64) int64 {
	if second >= HybridSeconds {
		return second
	}
	local := second + h.standard
	day := FloorDiv(local, 86400)
	local += 86400 * (HybridDay(day) - day)
	// The offset may change near this time, so take the offsets before and after it.
	before, after := h.offset(local-2*86400), h.offset(local+2*86400)
	if h.offset(local-after) == after {
		return local - after // the offset after a change
	}
	return local - before
}

func (h *Hybrid) offset(second int64) int64 {
	_, offset := time.Unix(second, 0).In(h.zone).Zone()
	return int64(offset)
}
