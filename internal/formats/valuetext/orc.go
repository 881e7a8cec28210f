package valuetext

import (
	"fmt"
	"time"
)

// OrcCalendar is the calendar in which an ORC file counts days and seconds.
type OrcCalendar struct {
	hybrid bool
	java   bool // before 1900, zones have their current standard offset
	doubt  bool // the file does not record its calendar
}

// CalendarOfOrc returns the calendar of a file from two numbers in its footer: the calendar, 0 if it is not recorded, and the writer. By default,
// Java's writer uses the hybrid calendar, and the C++ writer the Gregorian one.
func CalendarOfOrc(calendar, writer uint64) OrcCalendar {
	const javaWriter, cppWriter = 0, 1
	java := writer == javaWriter
	switch {
	case calendar == 1, calendar == 0 && java:
		return OrcCalendar{hybrid: true, java: java}
	case calendar == 0 && writer != cppWriter:
		return OrcCalendar{doubt: true}
	}
	return OrcCalendar{java: java}
}

// Day converts a day of the file, counted since 1970, to the day whose Gregorian date is the date that the file means.
func (c OrcCalendar) Day(day int64) (int64, error) {
	switch {
	case day >= HybridDays || !c.hybrid && !c.doubt:
		return day, nil
	case c.doubt:
		return 0, c.refuse()
	}
	return HybridDay(day), nil
}

func (c OrcCalendar) refuse() error { return doubtful("the file lacks its calendar").doubt }

// OrcClock is the local clock of the writer of a stripe.
type OrcClock struct {
	calendar OrcCalendar
	zone     *time.Location
	base     int64   // 2015-01-01 00:00:00 of the clock, in seconds since 1970
	old      *Hybrid // the clock before 1900; nil: that of the zone
	doubt    error   // the error for times before 1900
}

// Clock returns the clock of a time zone, by its name in Java.
func (c OrcCalendar) Clock(zone string) (*OrcClock, error) {
	l := time.UTC
	switch zone {
	case "UTC", "GMT", "Etc/UTC", "Etc/GMT", "Z":
		zone = "UTC"
	default:
		var err error
		if l, err = anyJavaZone(zone); err != nil {
			return nil, fmt.Errorf("the time zone %.40q of its writer: %w", zone, err)
		}
	}
	k := &OrcClock{calendar: c, zone: l, base: time.Date(2015, 1, 1, 0, 0, 0, 0, l).Unix()}
	if c.java && l != time.UTC {
		if k.old, k.doubt = NewHybrid(zone); k.doubt != nil {
			k.doubt = doubtful("the time zone of its writer is %.40q: %w", zone, k.doubt).doubt
		}
	}
	return k, nil
}

// Local returns the local time of the clock, as seconds since 1970 in the Gregorian calendar and nanoseconds. second counts from 2015, as in the file;
// Java's writer rounds it towards 1970. nanos is negative before 1970 if Arrow wrote the file.
func (k *OrcClock) Local(second, nanos int64) (int64, int64, error) {
	second += k.base
	switch {
	case nanos < 0:
		nanos += 1e9
		second--
	case second < 0 && nanos > 999_999:
		second--
	}
	switch {
	case second >= HybridSeconds || k.zone != time.UTC && k.old == nil && k.doubt == nil:
		_, offset := time.Unix(second, 0).In(k.zone).Zone()
		second += int64(offset)
	case k.doubt != nil:
		return 0, 0, k.doubt
	case k.old != nil:
		second += k.old.standard
	}
	day := FloorDiv(second, 86400)
	if day >= HybridDays {
		return second, nanos, nil
	}
	gregorian, err := k.calendar.Day(day)
	return second + 86400*(gregorian-day), nanos, err
}
