package keygen

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

// TestZones compares offsets with package time, from before the first clock change to long after the last stored one.
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

// TestTimesThatClocksSkipOrRepeat checks local times around each clock change against Java's LocalDateTime.atZone: a repeated time is the earlier of
// its two instants, and a skipped time is converted with the offset from before the change.
func TestTimesThatClocksSkipOrRepeat(t *testing.T) {
	skipped, repeated := 0, 0
	for _, name := range []string{"Asia/Shanghai", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia"} {
		loc, err := time.LoadLocation(name)
		testcheck.Must(t, err)
		z, err := newZone(name)
		testcheck.Must(t, err)
		for change := time.Date(1970, 1, 1, 0, 0, 0, 0, loc); change.Year() < 2040; {
			_, next := change.ZoneBounds()
			if next.IsZero() {
				break
			}
			_, before := next.Add(-time.Second).Zone()
			_, after := next.Zone()
			for local := next.Unix() + int64(min(before, after)) - 7200; local < next.Unix()+int64(max(before, after))+7200; local += 300 {
				var shown []int64
				for _, offset := range []int{before, after} {
					instant := local - int64(offset)
					if _, is := time.Unix(instant, 0).In(loc).Zone(); is == offset && !slices.Contains(shown, instant) {
						shown = append(shown, instant)
					}
				}
				want := local - int64(before)
				switch len(shown) {
				case 0:
					skipped++
				case 1:
					want = shown[0]
				case 2:
					repeated++
				}
				if got := z.instant(local); got != want {
					t.Fatalf("%s, %s: it is the instant %d, not %d", name, time.Unix(local, 0).UTC().Format(time.DateTime), got, want)
				}
			}
			change = next
		}
	}
	if skipped < 1000 || repeated < 1000 {
		t.Errorf("%d times are skipped and %d repeated", skipped, repeated)
	}
	d, err := NewDates("yyyy-MM-dd HH:mm", "Europe/Berlin")
	testcheck.Must(t, err)
	for text, want := range map[string]int64{"2026-03-29 02:30": 1774747800000, "2026-10-25 02:30": 1792888200000} { // the results of Java
		if got, err := d.Millis([]byte(text)); err != nil || got != want {
			t.Errorf("%s is %d, %v, not %d", text, got, err, want)
		}
	}
}

// TestDates checks that written dates read back equal, in all fields of the layout.
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
					// From 1990 to 2100: earlier offsets from UTC have seconds.
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

// TestYearZero checks that the year 0 is refused, as Java's DateTimeFormatter refuses it for yyyy.
func TestYearZero(t *testing.T) {
	for _, layout := range []string{"yyyy-MM-dd", "yyyyMMdd", "dd.MM.yyyy HH:mm"} {
		d, err := NewDates(layout, "")
		testcheck.Must(t, err)
		text, err := d.Append(nil, minSecond*1000, 0)
		testcheck.Must(t, err)
		if ms, err := d.Millis(text); err != nil || ms != minSecond*1000 {
			t.Errorf("%s is %d, %v", text, ms, err)
		}
		zero := bytes.Replace(text, []byte("0001"), []byte("0000"), 1)
		if ms, err := d.Millis(zero); !errors.Is(err, ErrDate) {
			t.Errorf("%s is %d, %v", zero, ms, err)
		}
	}
}
