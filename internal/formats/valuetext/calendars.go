package valuetext

import (
	"fmt"
	"strconv"
	"strings"
)

// Calendars say how a file counts days and instants. A nil one is the Gregorian calendar, in all years.
type Calendars struct {
	Dates    *Calendar
	Instants *Calendar // timestamps that are instants, but those of INT96
	Int96    *Calendar // of Parquet
}

// Calendar is the hybrid calendar of old writers, or one that is not known: then old values are refused.
type Calendar struct {
	hybrid *Hybrid // nil for dates, which have no zone
	doubt  error   // why old values are refused
}

// String says the same of calendars that count alike.
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

// Day returns the day since 1970 with the date in the Gregorian calendar that the file means by a day.
func (c *Calendar) Day(day int64) (int64, error) {
	if day < HybridDays && c.doubt != nil {
		return 0, c.doubt
	}
	return HybridDay(day), nil
}

// Second returns the instant, in seconds since 1970 by the Gregorian calendar, that the file means by an instant.
func (c *Calendar) Second(second int64) (int64, error) {
	switch {
	case second >= HybridSeconds:
		return second, nil
	case c.doubt != nil:
		return 0, c.doubt
	}
	return c.hybrid.Second(second), nil
}

// doubtful returns the calendar of a file that does not say which one it has.
func doubtful(format string, args ...any) *Calendar {
	const what = "a date before 1582-10-15 or a timestamp before 1900 may be Julian: %w; write the file again with Spark 3"
	return &Calendar{doubt: fmt.Errorf(what, fmt.Errorf(format, args...))}
}

// hybridIn returns the hybrid calendar in a time zone, which key names.
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

// Keys of metadata. Spark and Hive say by them how they have written.
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

// ParquetCalendars returns the calendars of a Parquet file, by the metadata of its footer and the name of its schema. Spark and
// Hive read its values so. Files of other writers are Gregorian, as Parquet's specification has it.
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
	// Hive has INT96 in the hybrid calendar whatever that key says: its library for Julian days knows no other.
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
	h, _ := NewHybrid("UTC") // which is known everywhere
	return &Calendar{hybrid: h}
}

// isTrue is Java's Boolean.valueOf.
func isTrue(s string) bool { return strings.EqualFold(s, "true") }

// sparkCalendars returns the calendars of a file of Spark. ok is false for others.
func sparkCalendars(meta map[string]string, spark bool) (c Calendars, ok bool) {
	version, said := meta[sparkVersion]
	if !said {
		if !spark {
			return c, false
		}
		// Spark 2 before 2.4.6, most likely.
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
