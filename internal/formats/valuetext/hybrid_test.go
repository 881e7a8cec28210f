package valuetext

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestHybridDay compares each day of the Julian calendar from the year -400 on with package time.
func TestHybridDay(t *testing.T) {
	year, month, day := 1, 1, 1
	at := int64(-719164) // 0001-01-01 of Spark and Hive
	lengths := []int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	for ; year > -400; year-- {
		if at -= 365; (year-1)%4 == 0 {
			at--
		}
	}
	for ; at < HybridDays; at++ {
		want := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix() / 86400
		if got := HybridDay(at); got != want {
			t.Fatalf("day %d, which is %d-%d-%d: %d, want %d", at, year, month, day, got, want)
		}
		length := lengths[month-1]
		if month == 2 && year%4 == 0 {
			length++
		}
		if day++; day > length {
			month, day = month+1, 1
		}
		if month > 12 {
			year, month = year+1, 1
		}
	}
	if year != 1582 || month != 10 || day != 5 {
		t.Fatal(year, month, day)
	}
	for _, at := range []int64{HybridDays, HybridDays + 1, 0, 1 << 31} {
		if HybridDay(at) != at {
			t.Error(at)
		}
	}
}

// TestHybridSecond checks the differences of Spark's own table at the instants of their changes.
func TestHybridSecond(t *testing.T) {
	for _, tt := range []struct {
		zone        string
		first, last int64 // instants at which the difference begins and ends
		diff        int64
	}{
		{"UTC", -62135769600, -59006448001, 172800}, {"UTC", -14825808000, -12219292801, -864000}, {"UTC", -12219292800, 0, 0}, {"Z", -62135769600, -59006448001, 172800},
		{"Asia/Shanghai", -62135798400, -59006476801, 172457}, {"Asia/Shanghai", -14825836800, -12219321601, -864343}, {"Asia/Shanghai", -12219321600, -2208988801, -343},
		{"Asia/Shanghai", -2208988800, 1 << 40, 0}, {"America/Los_Angeles", -12219264000, -2717640001, -422}, {"America/Los_Angeles", -2717640000, 1 << 40, 0},
		{"America/New_York", -12219274800, -2717650801, -238}, {"America/New_York", -2717650800, 0, 0}, {"Europe/Paris", -12219296400, -2208988801, 3039},
		{"GMT+08:00", -12219321600, 1 << 40, 0}, {"+08", -14825836800, -12219321601, -864000}, {"UTC-8", -12219264000, 0, 0}, {"+05:30", -12219312600, 0, 0},
	} {
		h, err := NewHybrid(tt.zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int64{tt.first, tt.first + 1, (tt.first + tt.last) / 2, tt.last} {
			if got := h.Second(at) - at; got != tt.diff {
				t.Errorf("%s: second %d: %+d, want %+d", tt.zone, at, got, tt.diff)
			}
		}
	}
	for _, zone := range []string{"", "Local", "CST", "EST", "Europe/Amsterdam", "Asia/Almaty", "Nowhere", "+1:2:3:4"} {
		if h, err := NewHybrid(zone); err == nil {
			t.Error(zone, h)
		}
	}
	if names := slices.Sorted(slices.Values(disputed())); len(names) < 100 || !slices.Equal(names, disputed()) || len(slices.Compact(names)) != len(disputed()) {
		t.Error(fmt.Sprint(len(names)), "names of zones are not in order")
	}
}
