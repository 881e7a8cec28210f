package source

import (
	"bulkload/internal/test/testcheck"
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamba/avro/v2/ocf"
)

const calendarsDir = "../../testdata/source/calendars/"

// TestCalendarsOfSpark reads dates and timestamps from the year 1, which Spark wrote in the hybrid and the Gregorian calendar in several time zones,
// and compares them with Spark's own reading of the files, in UTC.
func TestCalendarsOfSpark(t *testing.T) {
	texts, err := filepath.Glob(calendarsDir + "*.jsonl")
	if err != nil || len(texts) < 5 {
		t.Fatal(texts, err)
	}
	for _, text := range texts {
		columns, want := testcheck.ExpectedTexts(t, text)
		paths, err := filepath.Glob(strings.TrimSuffix(text, ".jsonl") + "-*")
		if err != nil || len(paths) != 5 {
			t.Fatal(paths, err)
		}
		for _, path := range paths {
			t.Run(filepath.Base(path), func(t *testing.T) {
				got, err := chosenRows(t, Options{Columns: columns}, path)
				if err != nil {
					t.Fatal(err)
				}
				testcheck.SameRows(t, columns, got, want)
			})
		}
	}
}

// TestCalendarsOfAvro reads old dates and timestamps according to the metadata of Spark and Hive.
func TestCalendarsOfAvro(t *testing.T) {
	for _, tt := range []struct {
		record string
		meta   map[string]string
		d, t   string // the texts; empty: refused
	}{
		{"r", nil, "0000-12-30", "0000-12-30 00:00:00"},
		{"topLevelRecord", nil, "", ""},
		{"topLevelRecord", map[string]string{"org.apache.spark.version": "3.5.7"}, "0000-12-30", "0000-12-30 00:00:00"},
		{"topLevelRecord", map[string]string{"org.apache.spark.version": "2.4.8"}, "0001-01-01", ""},
		{"topLevelRecord", map[string]string{"org.apache.spark.version": "3.5.7", "org.apache.spark.legacyDateTime": "", "org.apache.spark.timeZone": "+05:30"}, "0001-01-01", "0001-01-01 00:00:00"},
		{"r", map[string]string{"writer.proleptic": "false", "writer.time.zone": "Asia/Shanghai"}, "0001-01-01", "0001-01-01 00:00:00"},
		{"r", map[string]string{"writer.proleptic": "true", "writer.time.zone": "Asia/Shanghai"}, "0000-12-30", "0000-12-30 00:00:00"},
		{"r", map[string]string{"writer.proleptic": "false", "writer.time.zone": "Asia/Shanghai", "writer.zone.conversion.legacy": "true"}, "0001-01-01", "0000-12-31 23:54:17"},
		{"r", map[string]string{"writer.proleptic": "true", "writer.zone.conversion.legacy": "true"}, "0000-12-30", ""},
		{"r", map[string]string{"writer.time.zone": "UTC"}, "", ""},
	} {
		meta := map[string][]byte{}
		for k, v := range tt.meta {
			meta[k] = []byte(v)
		}
		var b bytes.Buffer
		w, err := ocf.NewEncoder(`{"type":"record","name":"`+tt.record+`","fields":[{"name":"d","type":["null",{"type":"int","logicalType":"date"}]},
			{"name":"t","type":{"type":"array","items":{"type":"long","logicalType":"timestamp-millis"}}},{"name":"l","type":{"type":"long","logicalType":"local-timestamp-millis"}}]}`, &b, ocf.WithMetadata(meta))
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(-719164*86400, 0).UTC()
		if err := w.Encode(map[string]any{"d": map[string]any{"int.date": at}, "t": []any{at}, "l": at}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for column, want := range map[string]string{"d": tt.d, "t": tt.t, "l": "0000-12-30 00:00:00"} {
			in, err := Open(t.Context(), memory("/x.avro", b.Bytes()), []string{"/x.avro"}, Options{Columns: []string{column}})
			if err != nil {
				t.Fatal(err)
			}
			rows, err := rowsOf(t, in)
			switch {
			case want == "" && (err == nil || !strings.Contains(err.Error(), "may be Julian: ")):
				t.Errorf("%s %v: column %s: %v, %v", tt.record, tt.meta, column, rows, err)
			case want != "" && (err != nil || strings.Trim(rows[0][column].(string), `[]"`) != want):
				t.Errorf("%s %v: column %s: %v, %v, want %s", tt.record, tt.meta, column, rows, err, want)
			}
		}
	}
}
