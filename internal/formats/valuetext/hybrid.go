package valuetext

import "time"

// Days of 1970 and instants in seconds since 1970, from which on the hybrid calendar counts as the Gregorian one does.
const (
	HybridDays    = -141427     // 1582-10-15
	HybridSeconds = -2208988800 // 1900-01-01 00:00:00 UTC
)

// Hybrid is the calendar that java.util.GregorianCalendar counts in, in a time zone: Julian before 1582-10-15, with the
// zone's standard offset of today in all years before 1900. Writers that use it store the days and instants of their local
// dates by that calendar.
type Hybrid struct {
	zone     *time.Location
	standard int64 // seconds
}

// NewHybrid returns the calendar in a zone, as Java names it: Asia/Shanghai, UTC, +08:00, GMT+8. It refuses zones whose local time
// before 1900 is not certain.
func NewHybrid(zone string) (*Hybrid, error) {
	l, err := javaZone(zone)
	if err != nil {
		return nil, err
	}
	h := &Hybrid{zone: l}
	// Java takes the lowest offset of a year for the standard one, in zones with "negative" summer time too.
	for week := range 53 {
		_, offset := time.Date(2037, 1, 1+7*week, 0, 0, 0, 0, time.UTC).In(l).Zone()
		if week == 0 || int64(offset) < h.standard {
			h.standard = int64(offset)
		}
	}
	return h, nil
}

// HybridDay returns the day since 1970 with the date in the Gregorian calendar that a day has in the hybrid one. 29 February of
// a year that has none is 1 March.
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

// Second returns the instant, in seconds since 1970, whose local date and time in the Gregorian calendar are those that an instant
// has in the hybrid one.
func (h *Hybrid) Second(second int64) int64 {
	if second >= HybridSeconds {
		return second
	}
	local := second + h.standard
	day := FloorDiv(local, 86400)
	local += 86400 * (HybridDay(day) - day)
	// The offset before and after a change of the zone's offset that may be near.
	before, after := h.offset(local-2*86400), h.offset(local+2*86400)
	if h.offset(local-after) == after {
		return local - after // the later of two
	}
	return local - before
}

func (h *Hybrid) offset(second int64) int64 {
	_, offset := time.Unix(second, 0).In(h.zone).Zone()
	return int64(offset)
}
