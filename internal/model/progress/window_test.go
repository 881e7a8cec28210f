package progress

import (
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

func zoneNamed(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Skipf("this machine has no time zones: %v", err)
	}
	return zone
}

func TestParseWindow(t *testing.T) {
	for text, say := range map[string]string{
		"22:00-06:00":   "",
		"00:00-24:00":   "",
		" 22:00 - 6:00": "is not a ",
		"22:00 - 06:00": "",
		"22:00":         "is not a ",
		"22-06":         "is not a ",
		"22:60-06:00":   "00:00 to 24:00",
		"24:01-06:00":   "00:00 to 24:00",
		"+2:00-06:00":   "is not a ",
		"06:00-06:00":   "no length",
		"24:00-06:00":   "write 00:00",
		"":              "is not a ",
	} {
		_, err := ParseWindow(text, time.UTC)
		switch {
		case say == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case say != "" && (err == nil || !strings.Contains(err.Error(), say)):
			t.Errorf("%q: error is %v, want one with %q", text, err, say)
		}
	}
}

// TestWindowNext checks the hours when clocks change: in Berlin at 02:00 on 26
// March 2017 it became 03:00, and at 03:00 on 29 October 02:00.
func TestWindowNext(t *testing.T) {
	berlin, shanghai := zoneNamed(t, "Europe/Berlin"), zoneNamed(t, "Asia/Shanghai")
	for _, c := range []struct {
		what, window string
		zone         *time.Location
		at, next     string // UTC
	}{
		{"before it, the same day", "22:00-23:00", time.UTC, "2017-10-12T21:59:59Z", "2017-10-12T22:00:00Z"},
		{"its first moment", "22:00-06:00", time.UTC, "2017-10-12T22:00:00Z", "2017-10-12T22:00:00Z"},
		{"over midnight", "22:00-06:00", time.UTC, "2017-10-13T05:59:59Z", "2017-10-13T05:59:59Z"},
		{"its end", "22:00-06:00", time.UTC, "2017-10-13T06:00:00Z", "2017-10-13T22:00:00Z"},
		{"after it, the next day", "01:00-02:00", time.UTC, "2017-10-12T02:00:01Z", "2017-10-13T01:00:00Z"},
		{"up to midnight", "22:00-24:00", time.UTC, "2017-10-13T00:00:00Z", "2017-10-13T22:00:00Z"},
		{"another zone", "22:00-06:00", shanghai, "2017-10-12T13:00:00Z", "2017-10-12T14:00:00Z"},
		{"it begins in the hour that is left out", "02:30-05:00", berlin, "2017-03-26T00:30:00Z", "2017-03-26T01:00:00Z"},
		{"it is in the hour that is left out", "02:15-02:45", berlin, "2017-03-26T00:30:00Z", "2017-03-27T00:15:00Z"},
		{"over the change", "22:00-06:00", berlin, "2017-03-26T04:00:00Z", "2017-03-26T20:00:00Z"},
		{"the hour that comes twice, first", "02:30-02:45", berlin, "2017-10-29T00:00:00Z", "2017-10-29T00:30:00Z"},
		{"the hour that comes twice, again", "02:30-02:45", berlin, "2017-10-29T00:45:00Z", "2017-10-29T01:30:00Z"},
	} {
		w, err := ParseWindow(c.window, c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Next(at).UTC().Format(time.RFC3339); got != c.next {
			t.Errorf("%s: %s from %s on opens at %s, want %s", c.what, w, c.at, got, c.next)
		}
	}
}

// TestWindowNextIsFirst compares Next with its definition, on days with and without
// a change of clocks: the window is open then, and at no minute before.
func TestWindowNextIsFirst(t *testing.T) {
	var zones []*time.Location
	for _, name := range []string{"UTC", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "America/St_Johns"} {
		zones = append(zones, zoneNamed(t, name))
	}
	testcheck.Check(t, func(t *rapid.T) {
		w := &Window{from: rapid.IntRange(0, minutesOfDay-1).Draw(t, "from"), to: rapid.IntRange(0, minutesOfDay).Draw(t, "to"),
			zone: rapid.SampledFrom(zones).Draw(t, "zone")}
		if w.from == w.to {
			t.Skip()
		}
		at := time.Unix(rapid.Int64Range(1483228800, 1514764800).Draw(t, "second of 2017"), 0)
		next := w.Next(at)
		if next.Before(at) || !w.Open(next) || next.Sub(at) > 50*time.Hour {
			t.Fatalf("%s from %s on: %s", w, at, next)
		}
		for m := at; m.Before(next); m = m.Add(time.Minute) {
			if w.Open(m) {
				t.Fatalf("%s is open at %s, before %s", w, m, next)
			}
		}
		again, err := ParseWindow(w.String()[:len("00:00-00:00")], w.zone)
		if err != nil || *again != *w {
			t.Fatalf("%s is read as %v, %v", w, again, err)
		}
	})
}
