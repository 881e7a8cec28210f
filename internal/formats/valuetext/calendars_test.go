package valuetext

import (
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

// Keys of metadata in the writers' documentation.
const (
	version, legacy, legacy6, zone       = "org.apache.spark.version", "org.apache.spark.legacyDateTime", "org.apache.spark.legacyINT96", "org.apache.spark.timeZone"
	hiveDateKey, hiveZoneKey, hiveOldKey = "writer.date.proleptic", "writer.time.zone", "writer.zone.conversion.legacy"
)

// saysOf returns a calendar as one word: gregorian, hybrid, its zone, or refused.
func saysOf(c *Calendar) string {
	text := c.String()
	if _, in, ok := strings.Cut(text, "hybrid in "); ok {
		in, _, _ = strings.Cut(in, ",")
		return in
	}
	if strings.Contains(text, "may be Julian") {
		return "refused"
	}
	return text
}

// TestCalendarsOfWriters checks that the calendars of Spark's and Hive's files are known from the files' metadata.
func TestCalendarsOfWriters(t *testing.T) {
	for _, c := range []struct {
		meta                   map[string]string
		schema                 string
		dates, instants, int96 string // of Parquet
	}{
		{nil, "schema", "gregorian", "gregorian", "gregorian"},
		{nil, "spark_schema", "refused", "refused", "refused"},
		{map[string]string{version: "3.5.1"}, "spark_schema", "gregorian", "gregorian", "gregorian"},
		{map[string]string{version: "3.0.3", zone: "UTC"}, "spark_schema", "gregorian", "gregorian", "UTC"},
		{map[string]string{version: "3.5.1", legacy: "", zone: "Asia/Kolkata"}, "spark_schema", "hybrid", "Asia/Kolkata", "gregorian"},
		{map[string]string{version: "3.5.1", legacy6: "", zone: "Asia/Kolkata"}, "spark_schema", "gregorian", "gregorian", "Asia/Kolkata"},
		{map[string]string{version: "2.4.8"}, "spark_schema", "hybrid", "refused", "refused"},
		{map[string]string{version: "three"}, "spark_schema", "refused", "refused", "refused"},
		{map[string]string{version: "3.5.1", legacy: "", zone: "Nowhere/Such"}, "spark_schema", "hybrid", "refused", "gregorian"},
		{nil, "hive_schema", "refused", "gregorian", "refused"},
		{map[string]string{hiveDateKey: "true", hiveZoneKey: "UTC"}, "hive_schema", "gregorian", "gregorian", "UTC"},
		{map[string]string{hiveDateKey: "FALSE", hiveZoneKey: "Asia/Kolkata", hiveOldKey: "True"}, "hive_schema", "hybrid", "gregorian", "Asia/Kolkata"},
	} {
		got := ParquetCalendars(c.meta, c.schema)
		if d, i, n := saysOf(got.Dates), saysOf(got.Instants), saysOf(got.Int96); d != c.dates || i != c.instants || n != c.int96 {
			t.Errorf("%v, %s: dates %s, instants %s, INT96 %s; want %s, %s, %s", c.meta, c.schema, d, i, n, c.dates, c.instants, c.int96)
		}
	}
	for _, c := range []struct {
		meta            map[string]string
		record          string
		dates, instants string
	}{
		{nil, "r", "gregorian", "gregorian"},
		{nil, "topLevelRecord", "refused", "refused"},
		{map[string]string{"writer.proleptic": "false"}, "r", "hybrid", "UTC"},
		{map[string]string{hiveDateKey: "false", hiveOldKey: "true", hiveZoneKey: "Asia/Kolkata"}, "r", "hybrid", "Asia/Kolkata"},
		{map[string]string{"writer.proleptic": "true"}, "r", "gregorian", "gregorian"},
		{map[string]string{hiveOldKey: "true"}, "r", "gregorian", "refused"},
		{map[string]string{hiveZoneKey: "UTC"}, "r", "refused", "refused"},
	} {
		got := AvroCalendars(c.meta, c.record)
		if d, i := saysOf(got.Dates), saysOf(got.Instants); d != c.dates || i != c.instants {
			t.Errorf("Avro, %v, %s: dates %s, instants %s; want %s, %s", c.meta, c.record, d, i, c.dates, c.instants)
		}
	}
}

// dayOf returns a date's day since 1970 in the Gregorian calendar.
func dayOf(year int, month time.Month, day int) int64 {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / 86400
}

// TestOldDays checks days before 1582-10-15. The day before it is 1582-10-04 in the hybrid calendar, and 1582-10-14 in the Gregorian one; an unknown
// calendar is refused.
func TestOldDays(t *testing.T) {
	change := dayOf(1582, 10, 15)
	hybrid, unknown := &Calendar{}, ParquetCalendars(nil, "spark_schema").Dates
	orc := func(calendar, writer uint64) OrcCalendar { return CalendarOfOrc(calendar, writer) }
	for what, c := range map[string]struct {
		day    func(int64) (int64, error)
		before int64 // 0: refused
	}{
		"hybrid": {hybrid.Day, dayOf(1582, 10, 4)}, "not known": {unknown.Day, 0},
		"ORC of Java": {orc(0, 0).Day, dayOf(1582, 10, 4)}, "ORC of C++": {orc(0, 1).Day, change - 1}, "ORC, proleptic": {orc(2, 0).Day, change - 1},
		"ORC, Julian": {orc(1, 1).Day, dayOf(1582, 10, 4)}, "ORC of others": {orc(0, 4).Day, 0},
	} {
		if got, err := c.day(change); got != change || err != nil {
			t.Errorf("%s: %d, %v", what, got, err)
		}
		if got, err := c.day(change - 1); got != c.before || (err != nil) != (c.before == 0) {
			t.Errorf("%s, the day before: %d, %v, want %d", what, got, err, c.before)
		}
	}
	if s, err := unknown.Second(0); s != 0 || err != nil {
		t.Errorf("1970: %d, %v", s, err)
	}
	if _, err := unknown.Second(-3e9); err == nil {
		t.Error("an instant of an unknown calendar is not refused")
	}
}

// TestOrcClock checks that ORC's seconds count from 2015 by the writer's clock.
func TestOrcClock(t *testing.T) {
	base := time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		zone          string
		second, nanos int64
		want          string
	}{
		{"UTC", 0, 0, "2015-01-01 00:00:00"}, {"GMT", 3661, 5, "2015-01-01 01:01:01.000000005"},
		{"Asia/Kolkata", 0, 0, "2015-01-01 00:00:00"}, {"America/New_York", 86400 * 181, 0, "2015-07-01 01:00:00"}, // in summer
		{"UTC", -base.Unix(), 0, "1970-01-01 00:00:00"}, {"UTC", -base.Unix(), 500_000_000, "1970-01-01 00:00:00.5"}, {"UTC", -base.Unix() - 1, 500_000_000, "1969-12-31 23:59:58.5"},
		{"UTC", -base.Unix(), -1, "1969-12-31 23:59:59.999999999"},
	} {
		k, err := CalendarOfOrc(2, 0).Clock(c.zone)
		testcheck.Must(t, err)
		s, n, err := k.Local(c.second, c.nanos)
		if got := string(AppendInstant(nil, s, n, 1e9, nil)); got != c.want || err != nil {
			t.Errorf("%s, second %d and %d ns: %s, want %s: %v", c.zone, c.second, c.nanos, got, c.want, err)
		}
	}
	if _, err := CalendarOfOrc(2, 0).Clock("Nowhere/Such"); err == nil || !strings.Contains(err.Error(), "Nowhere/Such") {
		t.Error(err)
	}
}
