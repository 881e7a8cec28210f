package keygen

import (
	"fmt"
	"math"
	"time"
	_ "time/tzdata" // for hosts that have no zone database
)

// zone converts local times to instants and back. It is never changed, and safe for concurrent use.
type zone struct {
	loc   *time.Location
	spans []span // in order, none for UTC
	end   int64  // the end of the last span, in seconds since 1970
}

// span is a period with one UTC offset, up to the beginning of the next.
type span struct {
	from   int64 // an instant in seconds since 1970
	offset int64 // seconds east of UTC
}

// spansEnd is the year up to which a zone stores its spans. A lookup in the zone database would take longer than all other work on a date.
const spansEnd = 2100

func newZone(name string) (*zone, error) {
	if name == "" || name == "UTC" {
		return &zone{}, nil
	}
	if name == "Local" {
		return nil, fmt.Errorf("the zone %q depends on the machine: name one such as Asia/Shanghai", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("the zone %q is not known: name one such as Asia/Shanghai or UTC", name)
	}
	z := &zone{loc: loc, end: math.MaxInt64}
	from := int64(math.MinInt64)
	for at := time.Unix(minSecond, 0).In(loc); ; {
		_, offset := at.Zone()
		if n := len(z.spans); n == 0 || z.spans[n-1].offset != int64(offset) {
			z.spans = append(z.spans, span{from, int64(offset)})
		}
		_, next := at.ZoneBounds()
		if next.IsZero() {
			return z, nil
		}
		if !next.After(at) { // a defect of Go 1.26 on the last day of a leap year
			next = at.Add(time.Hour)
		}
		from = next.Unix()
		if next.Year() >= spansEnd {
			z.end = from
			return z, nil
		}
		at = next
	}
}

func (z *zone) offsetAt(instant int64) int64 {
	last := len(z.spans) - 1
	switch {
	case last < 0:
		return 0
	case instant >= z.end:
		_, offset := time.Unix(instant, 0).In(z.loc).Zone()
		return int64(offset)
	case instant >= z.spans[last].from:
		return z.spans[last].offset
	}
	// The first span begins before all time, and the last after the instant.
	least, most := 0, last
	for most-least > 1 {
		if middle := (least + most) / 2; z.spans[middle].from <= instant {
			least = middle
		} else {
			most = middle
		}
	}
	return z.spans[least].offset
}

// instant returns the instant of a local time, both in seconds. As in java.time.ZonedDateTime, the offset before a clock change counts for
// times that the change repeats or skips.
func (z *zone) instant(local int64) int64 {
	if len(z.spans) == 0 {
		return local
	}
	const day = 86400
	before, after := z.offsetAt(local-day), z.offsetAt(local+day)
	if before != after && z.offsetAt(local-before) != before && z.offsetAt(local-after) == after {
		return local - after
	}
	return local - before
}
