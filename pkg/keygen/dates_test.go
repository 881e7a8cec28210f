package keygen

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// TestZones holds offsets to package time's, from before the first change of
// the clocks to long after the last that is held.
func TestZones(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"UTC", "Asia/Shanghai", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia"} {
		z, err := newZone(name)
		if err != nil {
			t.Fatal(err)
		}
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		check := func(s int64) {
			t.Helper()
			if _, want := time.Unix(s, 0).In(loc).Zone(); z.offsetAt(s) != int64(want) {
				t.Fatalf("%s at %d is %d s from UTC, not %d", name, s, z.offsetAt(s), want)
			}
		}
		for range 5000 {
			check(minSecond + rng.Int64N(maxSecond-minSecond))
			check(-2e9 + rng.Int64N(7e9))
		}
		for _, s := range z.spans[min(1, len(z.spans)):] {
			check(s.from - 1)
			check(s.from)
		}
		if len(z.spans) > 0 {
			check(z.end - 1)
			check(z.end)
		}
	}
}

// TestDates reads what was written, with all that the layout has.
func TestDates(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		layout, zone string
		unit         int64 // in nanoseconds
	}{
		{"unixms", "", 1e6}, {"unix", "", 1e9},
		{"yyyy-MM-dd HH:mm:ss", "", 1e9}, {"yyyy-MM-dd HH:mm", "Asia/Shanghai", 60e9},
		{"yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSSXXX", "Europe/Berlin", 1}, {"yyyyMMddHHmmssSSSSSS X", "Asia/Kolkata", 1e3},
		{"d.M.yyyy H:m:s[.SSS] XX", "America/New_York", 1}, {"SS ss mm HH dd MM yyyy X", "Asia/Kathmandu", 1e7},
	} {
		d, err := NewDates(c.layout, c.zone)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 2 {
			seed := rng.Int64()
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(seed), 0))
				var text []byte
				for range 2000 {
					// From 1990 to 2100: earlier distances from UTC have seconds.
					ns := (631152000 + rng.Int64N(3470688000)) * 1e9 / c.unit * c.unit
					if c.unit < 1e9 {
						ns += rng.Int64N(1e9) / c.unit * c.unit
					}
					ms, nanos := ns/1e6, int(ns%1e6)
					var err error
					if text, err = d.Append(text[:0], ms, nanos); err != nil {
						t.Error(err)
						return
					}
					gotMs, gotNanos, err := d.Parse(text)
					if err != nil || gotMs != ms || gotNanos != nanos {
						t.Errorf("%s: %s is %d ms and %d ns, %v, not %d and %d", c.layout, text, gotMs, gotNanos, err, ms, nanos)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	d, err := NewDates("yyyy[.S]", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, ms := range []int64{minSecond*1000 - 1, (maxSecond + 1) * 1000, 1 << 62} {
		if text, err := d.Append(nil, ms, 0); !errors.Is(err, ErrRange) || len(text) > 0 {
			t.Errorf("%d is %s, %v", ms, text, err)
		}
	}
}
