package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// writeOld writes a row with a date, an INT96 and a timestamp in microseconds.
func writeOld(t *testing.T, root string, meta map[string]string, day, i96day int32, i96second, second int64) []byte {
	t.Helper()
	date, _ := schema.NewPrimitiveNodeLogical("d", parquet.Repetitions.Required, schema.DateLogicalType{}, parquet.Types.Int32, 0, -1)
	stamp, _ := schema.NewPrimitiveNodeLogical("t", parquet.Repetitions.Required, schema.NewTimestampLogicalType(true, schema.TimeUnitMicros), parquet.Types.Int64, 0, -1)
	local, _ := schema.NewPrimitiveNodeLogical("l", parquet.Repetitions.Required, schema.NewTimestampLogicalType(false, schema.TimeUnitMicros), parquet.Types.Int64, 0, -1)
	group, err := schema.NewGroupNode(root, parquet.Repetitions.Required, schema.FieldList{date, schema.NewInt96Node("i", parquet.Repetitions.Required, -1), stamp, local}, -1)
	if err != nil {
		t.Fatal(err)
	}
	kv := metadata.NewKeyValueMetadata()
	for k, v := range meta {
		if err := kv.Append(k, v); err != nil {
			t.Fatal(err)
		}
	}
	var f bytes.Buffer
	w := file.NewParquetWriter(&f, group, file.WithWriteMetadata(kv))
	g := w.AppendRowGroup()
	for range 4 {
		c, err := g.NextColumn()
		if err != nil {
			t.Fatal(err)
		}
		switch c := c.(type) {
		case *file.Int32ColumnChunkWriter:
			_, err = c.WriteBatch([]int32{day}, nil, nil)
		case *file.Int96ColumnChunkWriter:
			var v parquet.Int96
			binary.LittleEndian.PutUint64(v[:], uint64(i96second*1e9))
			binary.LittleEndian.PutUint32(v[8:], uint32(i96day+2440588))
			_, err = c.WriteBatch([]parquet.Int96{v}, nil, nil)
		case *file.Int64ColumnChunkWriter:
			_, err = c.WriteBatch([]int64{second * 1e6}, nil, nil)
		}
		if err != nil || c.Close() != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Bytes()
}

// TestCalendarsOfHive reads old dates and INT96 according to Hive's metadata. The expected days, seconds and local times are those of Hive 4.0.1's
// NanoTimeUtils and CalendarUtils.
func TestCalendarsOfHive(t *testing.T) {
	for _, tt := range []struct {
		zone, legacy string
		day          int32
		second       int64
		text         string
	}{
		{"UTC", "false", -719164, 0, "0001-01-01 00:00:00"}, {"UTC", "true", -141428, 82800, "1582-10-04 23:00:00"}, {"UTC", "false", -141427, 0, "1582-10-15 00:00:00"},
		{"Asia/Shanghai", "false", -719165, 57257, "0001-01-01 00:00:00"}, {"Asia/Shanghai", "false", -354222, 14057, "1000-02-28 12:00:00"},
		{"Asia/Shanghai", "false", -25568, 14057, "1899-12-31 12:00:00"}, {"Asia/Shanghai", "", -141428, 53657, "1582-10-04 23:00:00"},
		{"Asia/Shanghai", "true", -354222, 14400, "1000-02-28 12:00:00"}, {"Asia/Shanghai", "true", -141428, 57600, "1582-10-15 00:00:00"},
		{"Asia/Shanghai", "true", -25568, 14400, "1899-12-31 12:00:00"}, {"Asia/Shanghai", "true", -25567, 14057, "1900-01-01 12:00:00"},
		{"America/Los_Angeles", "true", -719164, 28800, "0001-01-01 00:00:00"}, {"America/Los_Angeles", "false", -171503, 28378, "1500-06-01 00:00:00"},
		{"America/Los_Angeles", "true", -7124, 25200, "1950-07-01 00:00:00"},
	} {
		meta := map[string]string{"writer.time.zone": tt.zone, "writer.date.proleptic": "false"}
		if tt.legacy != "" {
			meta["writer.zone.conversion.legacy"] = tt.legacy
		}
		zone, err := time.LoadLocation(tt.zone)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := rowsOf(writeOld(t, "hive_schema", meta, -719164, tt.day, tt.second, 0), zone)
		if err != nil {
			t.Fatal(err)
		}
		if rows[0]["i"] != tt.text || rows[0]["d"] != "0001-01-01" {
			t.Errorf("%s, legacy %q: %q, want %s", tt.zone, tt.legacy, rows[0], tt.text)
		}
	}
}

// TestCalendarsUnknown checks that only old values are refused if a file does not state its calendar.
func TestCalendarsUnknown(t *testing.T) {
	const old = -719164 // a day, which reads 0001-01-01 in the hybrid calendar and 0000-12-30 in the Gregorian
	v2, v3, row := map[string]string{"org.apache.spark.version": "2.4.8"}, map[string]string{"org.apache.spark.version": "3.5.7"}, map[string]string{"org.apache.spark.sql.parquet.row.metadata": "{}"}
	with := func(m map[string]string, key, value string) map[string]string {
		m = maps.Clone(m)
		if m == nil {
			m = map[string]string{}
		}
		m[key] = value
		return m
	}
	const shanghai = "Asia/Shanghai"
	zoned := with(v2, "org.apache.spark.timeZone", shanghai)
	for _, tt := range []struct {
		root       string
		meta       map[string]string
		d, i, t, l string // the texts; empty: refused
	}{
		{"schema", nil, "0000-12-30", "0000-12-30 00:00:00", "0000-12-30 00:00:00", "0000-12-30 00:00:00"},
		{"spark_schema", v3, "0000-12-30", "0000-12-30 00:00:00", "0000-12-30 00:00:00", "0000-12-30 00:00:00"},
		{"spark_schema", with(v3, "org.apache.spark.legacyDateTime", ""), "0001-01-01", "0000-12-30 00:00:00", "", "0000-12-30 00:00:00"},
		{"spark_schema", with(v3, "org.apache.spark.legacyINT96", ""), "0000-12-30", "", "0000-12-30 00:00:00", "0000-12-30 00:00:00"},
		{"spark_schema", map[string]string{"org.apache.spark.version": "3.0.3"}, "0000-12-30", "", "0000-12-30 00:00:00", "0000-12-30 00:00:00"},
		{"spark_schema", zoned, "0001-01-01", "0000-12-31 23:54:17", "0000-12-31 23:54:17", "0000-12-30 00:00:00"},
		{"spark_schema", v2, "0001-01-01", "", "", "0000-12-30 00:00:00"},
		{"spark_schema", with(v2, "org.apache.spark.timeZone", "Nowhere/Else"), "0001-01-01", "", "", "0000-12-30 00:00:00"},
		{"spark_schema", with(v2, "org.apache.spark.timeZone", "Europe/Amsterdam"), "0001-01-01", "", "", "0000-12-30 00:00:00"},
		{"spark_schema", map[string]string{"org.apache.spark.version": "what"}, "", "", "", "0000-12-30 00:00:00"},
		{"spark_schema", nil, "", "", "", "0000-12-30 00:00:00"},
		{"schema", row, "", "", "", "0000-12-30 00:00:00"},
		{"hive_schema", nil, "", "", "0000-12-30 00:00:00", "0000-12-30 00:00:00"},
		{"schema", map[string]string{"writer.date.proleptic": "true", "writer.time.zone": shanghai}, "0000-12-30", "0001-01-01 00:00:00", "0000-12-30 00:00:00", "0000-12-30 00:00:00"},
		{"schema", map[string]string{"writer.date.proleptic": "FALSE"}, "0001-01-01", "", "0000-12-30 00:00:00", "0000-12-30 00:00:00"},
		{"schema", map[string]string{"writer.zone.conversion.legacy": "true"}, "", "", "0000-12-30 00:00:00", "0000-12-30 00:00:00"},
	} {
		data := writeOld(t, tt.root, tt.meta, old, old, 0, old*86400)
		for column, want := range map[string]string{"d": tt.d, "i": tt.i, "t": tt.t, "l": tt.l} {
			rows, err := rowsOf(data, time.UTC, column)
			switch {
			case want == "" && (err == nil || !strings.Contains(err.Error(), "may be Julian: ")):
				t.Errorf("%s %v: column %s: %v, %v", tt.root, tt.meta, column, rows, err)
			case want != "" && (err != nil || rows[0][column] != want):
				t.Errorf("%s %v: column %s: %v, %v, want %s", tt.root, tt.meta, column, rows, err, want)
			}
		}
		rows, err := rowsOf(writeOld(t, tt.root, tt.meta, -141427, -25567, 0, -2208988800), time.UTC)
		if want := "map[d:1582-10-15 i:1900-01-01 00:00:00 l:1900-01-01 00:00:00 t:1900-01-01 00:00:00]"; err != nil || fmt.Sprint(rows[0]) != want {
			t.Errorf("%s %v: %v, %v, want %s", tt.root, tt.meta, rows, err, want)
		}
	}
}

// TestCalendarsAreIdentity checks that the checksum of a file's plan is the same at each opening, and differs for files with other calendars.
func TestCalendarsAreIdentity(t *testing.T) {
	sums := map[uint32]string{}
	for _, zone := range []string{"Asia/Shanghai", "UTC", "+08:00", ""} {
		meta := map[string]string{"org.apache.spark.version": "2.4.8", "org.apache.spark.timeZone": zone}
		data := writeOld(t, "spark_schema", meta, 0, 0, 0, 0)
		var sum uint32
		for i := range 3 {
			m, err := Open(bytes.NewReader(data), int64(len(data)), limited(1<<20))
			testcheck.Must(t, err)
			testcheck.Must(t, m.Plan([]Column{{Name: "d"}, {Name: "i"}, {Name: "t"}, {Name: "l"}}, time.UTC))
			if i > 0 && m.Sum() != sum {
				t.Fatalf("zone %q: the checksum changes", zone)
			}
			sum = m.Sum()
		}
		if other, ok := sums[sum]; ok {
			t.Errorf("zones %q and %q have the same checksum", zone, other)
		}
		sums[sum] = zone
	}
}
