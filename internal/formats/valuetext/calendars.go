package valuetext

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Calendars holds the calendars in which a file counts days and instants. A nil one is the proleptic Gregorian calendar.
type Calendars struct {
	Dates    *Calendar
	Instants *Calendar // of timestamps that are instants, except INT96
	Int96    *Calendar // of Parquet's INT96
}

// Calendar is the hybrid calendar of old writers, or an unknown calendar, in which old values are an error.
type Calendar struct {
	hybrid *Hybrid // nil for dates, which have no zone
	doubt  error   // the error for old values; nil: the calendar is known
}

// String returns a description that is equal for equivalent calendars.
func (c *Calendar) String() string {
	switch {
	case c == nil:
		return "gregorian"
	case c.doubt != nil:
		return c.doubt.Error()
	case c.hybrid != nil:
		return fmt.Sprintf("hybrid in %s, standard %d", c.hybrid.zone, c.hybrid.standard)
	}
	return "hybrid"
}

// Day converts a day of the file, counted since 1970, to the day whose Gregorian date is the date that the file means.
func (c *Calendar) Day(day int64) (int64, error) {
	switch {
	case c == nil || day >= HybridDays:
		return day, nil
	case c.doubt != nil:
		return 0, c.doubt
	}
	return HybridDay(day), nil
}

// Second converts an instant of the file to the instant that it means, in seconds since 1970 by the Gregorian calendar.
func (c *Calendar) Second(second int64) (int64, error) {
	switch {
	case c == nil || second >= HybridSeconds:
		return second, nil
	case c.doubt != nil:
		return 0, c.doubt
	}
	return c.hybrid.Second(second), nil
}

// AppendDate writes the date that a day of the file means. With an error, it writes nothing.
func (c *Calendar) AppendDate(dst []byte, day int64) ([]byte, error) {
	day, err := c.Day(day)
	if err != nil {
		return dst, err
	}
	return AppendDate(dst, day), nil
}

// AppendInstant writes the date and time that a second of the file means, in the form of the function [AppendInstant]. With an error, it writes nothing.
func (c *Calendar) AppendInstant(dst []byte, second, fraction, unit int64, zone *time.Location) ([]byte, error) {
	second, err := c.Second(second)
	if err != nil {
		return dst, err
	}
	return AppendInstant(dst, second, fraction, unit, zone), nil
}

// doubtful returns the calendar of a file that does not record it. The arguments describe the missing or invalid metadata.
func doubtful(format string, args ...any) *Calendar {
	const what = "a date before 1582-10-15 or a timestamp before 1900 may be Julian: %w; write the file again with Spark 3"
	return &Calendar{doubt: fmt.Errorf(what, fmt.Errorf(format, args...))}
}

// hybridIn returns the hybrid calendar in the time zone that meta has under key. If meta has no valid zone there, the calendar is doubtful.
func hybridIn(meta map[string]string, key string) *Calendar {
	zone, ok := meta[key]
	if !ok {
		return doubtful("the file lacks %s", key)
	}
	h, err := NewHybrid(zone)
	if err != nil {
		return doubtful("%s is %.40q: %w", key, zone, err)
	}
	return &Calendar{hybrid: h}
}

// Keys of the metadata in which Spark and Hive record their calendars.
const (
	sparkVersion = "org.apache.spark.version"
	sparkLegacy  = "org.apache.spark.legacyDateTime"
	sparkLegacy6 = "org.apache.spark.legacyINT96"
	sparkZone    = "org.apache.spark.timeZone"
	sparkRow     = "org.apache.spark.sql.parquet.row.metadata"
	hiveDate     = "writer.date.proleptic"
	hiveAvro     = "writer.proleptic"
	hiveZone     = "writer.time.zone"
	hiveLegacy   = "writer.zone.conversion.legacy"
)

// ParquetCalendars returns the calendars of a Parquet file. Like Spark and Hive, it determines them from the metadata of the footer and the
// name of the schema. Files of other writers are Gregorian, as Parquet's specification requires.
func ParquetCalendars(meta map[string]string, schema string) Calendars {
	_, row := meta[sparkRow]
	if c, ok := sparkCalendars(meta, row || schema == "spark_schema"); ok {
		return c
	}
	proleptic, dated := meta[hiveDate]
	_, zoned := meta[hiveZone]
	legacy, converted := meta[hiveLegacy]
	var c Calendars
	switch hive := schema == "hive_schema" || zoned || converted; {
	case dated && !isTrue(proleptic):
		c.Dates = &Calendar{}
	case !dated && hive:
		c.Dates = doubtful("the file lacks %s", hiveDate)
	}
	// Hive writes INT96 in the hybrid calendar regardless of hiveDate: its library for Julian days supports no other.
	switch {
	case isTrue(legacy):
		c.Int96 = hybridIn(meta, hiveZone)
	case zoned:
		c.Int96 = hybridUTC()
	case dated || converted || schema == "hive_schema":
		c.Int96 = doubtful("the file lacks %s", hiveZone)
	}
	return c
}

// AvroCalendars returns the calendars of an Avro file, by the metadata of its header and the name of its record.
func AvroCalendars(meta map[string]string, record string) Calendars {
	if c, ok := sparkCalendars(meta, record == "topLevelRecord"); ok {
		return c
	}
	proleptic, said := meta[hiveAvro]
	if !said {
		proleptic, said = meta[hiveDate]
	}
	legacy := isTrue(meta[hiveLegacy])
	var c Calendars
	switch {
	case said && !isTrue(proleptic) && legacy:
		c.Dates, c.Instants = &Calendar{}, hybridIn(meta, hiveZone)
	case said && !isTrue(proleptic):
		c.Dates, c.Instants = &Calendar{}, hybridUTC()
	case legacy:
		c.Instants = doubtful("%s is true", hiveLegacy)
	}
	if _, zoned := meta[hiveZone]; zoned && !said {
		c.Dates = doubtful("the file lacks %s", hiveAvro)
		c.Instants = c.Dates
	}
	return c
}

func hybridUTC() *Calendar {
	h, _ := NewHybrid("UTC") // a zone that always exists
	return &Calendar{hybrid: h}
}

// isTrue parses a boolean like Java's Boolean.valueOf.
func isTrue(s string) bool { return strings.EqualFold(s, "true") }

// sparkCalendars returns the calendars of a file that Spark wrote. ok is false for other files.
func sparkCalendars(meta map[string]string, spark bool) (c Calendars, ok bool) {
	version, said := meta[sparkVersion]
	if !said {
		if !spark {
			return c, false
		}
		// The writer is probably Spark 2 before 2.4.6.
		c.Dates = doubtful("the file lacks %s", sparkVersion)
		return Calendars{c.Dates, c.Dates, c.Dates}, true
	}
	parts := strings.SplitN(version, ".", 3)
	major, err := strconv.Atoi(parts[0])
	minor := 0
	if err == nil && len(parts) > 1 {
		minor, err = strconv.Atoi(parts[1])
	}
	if err != nil || len(parts) < 2 {
		c.Dates = doubtful("%s is %.40q", sparkVersion, version)
		return Calendars{c.Dates, c.Dates, c.Dates}, true
	}
	if _, legacy := meta[sparkLegacy]; legacy || major < 3 {
		c.Dates, c.Instants = &Calendar{}, hybridIn(meta, sparkZone)
	}
	if _, legacy := meta[sparkLegacy6]; legacy || major < 3 || major == 3 && minor < 1 { // Spark 3.0 rebases all INT96
		c.Int96 = hybridIn(meta, sparkZone)
	}
	return c, true
}
