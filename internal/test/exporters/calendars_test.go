package exporters

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/formats/valuetext"
)

// oldTimes returns texts of dates and times: for each year one of each calendar, with days that only one of them has.
var oldTimes = []string{
	"0001-01-01 00:00:00", "0001-01-02 12:34:56.789", "0004-02-29 23:59:59.999", "0100-02-28 01:02:03", "0100-03-01 01:02:03", "0200-03-01 08:00:00", "0999-12-31 23:59:59",
	"1000-01-01 00:00:00", "1000-02-28 00:00:00", "1000-03-01 00:00:00", "1001-06-15 10:20:30.123", "1499-12-31 00:00:00", "1500-02-28 00:00:00", "1500-03-11 00:00:00",
	"1582-01-01 00:00:00", "1582-10-03 12:00:00", "1582-10-04 00:00:00", "1582-10-04 23:59:59.5", "1582-10-10 06:00:00", "1582-10-15 00:00:00", "1582-10-16 05:00:00",
	"1600-02-29 00:00:00", "1700-03-01 00:00:00", "1847-12-01 00:00:00", "1883-11-18 11:59:59", "1883-11-18 12:30:00", "1899-12-31 00:00:00", "1899-12-31 23:59:59.999",
	"1900-01-01 00:00:00", "1900-01-01 23:59:59.999", "1900-01-02 00:00:00", "1901-01-01 00:00:00", "1927-12-31 23:54:08", "1969-12-31 23:59:59.999", "1970-01-01 00:00:00", "2026-03-05 08:09:10.123",
}

// calendarForms are Spark's ways to write timestamps, with and without dictionaries.
var calendarForms = []struct{ name, using, kind, dictionary string }{
	{"micros.parquet", "parquet", "TIMESTAMP_MICROS", "false"}, {"millis.parquet", "parquet", "TIMESTAMP_MILLIS", "true"},
	{"int96.parquet", "parquet", "INT96", "false"}, {"dictionary.parquet", "parquet", "INT96", "true"}, {"rows.avro", "avro", "INT96", "true"},
}

// TestCalendars reads old dates and timestamps that Spark writes in both calendars and several time zones, and compares them
// with the texts that Spark itself reads from its files. BULKLOAD_EXPORTERS_KEEP is a directory in which files and texts are
// kept.
func TestCalendars(t *testing.T) {
	gate(t)
	for _, v := range sparks {
		t.Run(v[0], func(t *testing.T) { testCalendars(t, v[0], v[1]) })
	}
}

func testCalendars(t *testing.T, version, scala string) {
	s := &script{dir: t.TempDir()}
	var names []string
	texts := map[string]string{} // by name: the same for all forms
	for _, zone := range []string{"UTC", "Asia/Shanghai", "America/Los_Angeles", "+05:30"} {
		for _, mode := range []string{"LEGACY", "CORRECTED"} {
			for _, f := range calendarForms {
				rowsName := strings.NewReplacer("/", "-", "+", "", ":", "").Replace(zone) + "-" + strings.ToLower(mode)
				name := rowsName + "-" + f.name
				names, texts[name] = append(names, name), rowsName+".jsonl"
				s.add(name, "SET spark.sql.session.timeZone=%s", zone)
				for _, key := range []string{"parquet.datetimeRebaseModeInWrite", "parquet.int96RebaseModeInWrite", "avro.datetimeRebaseModeInWrite"} {
					s.add(name, "SET spark.sql.%s=%s", key, mode)
				}
				s.add(name, "SET spark.sql.parquet.outputTimestampType=%s", f.kind)
				var rows []string
				for i, at := range oldTimes {
					rows = append(rows, fmt.Sprintf("(%d, DATE '%s', TIMESTAMP '%s')", i, at[:10], at))
				}
				dir := filepath.Join(s.dir, "out", name)
				s.add(name, "INSERT OVERWRITE DIRECTORY '%s' USING %s OPTIONS ('compression' 'snappy', 'parquet.enable.dictionary' '%s') SELECT /*+ COALESCE(1) */ id, d, ts, array(d) AS days, struct(ts) AS s FROM VALUES %s AS t(id, d, ts)",
					dir, f.using, f.dictionary, strings.Join(rows, ", "))
				s.add(name, "SET spark.sql.session.timeZone=UTC")
				s.add(name, "INSERT OVERWRITE DIRECTORY '%s' USING json SELECT /*+ COALESCE(1) */ CAST(id AS STRING) AS id, CAST(d AS STRING) AS d, CAST(ts AS STRING) AS ts, to_json(days) AS days, CAST(s.ts AS STRING) AS `s.ts` FROM %s.`%s`",
					dir+".text", f.using, dir)
			}
		}
	}
	s.run(t, version, scala)
	columns := []string{"id", "d", "ts", "days", "s.ts"}
	keep := os.Getenv("BULKLOAD_EXPORTERS_KEEP")
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			if said := s.wrong[name]; said != "" {
				t.Fatalf("%.600s", said)
			}
			file, text := onlyPart(t, filepath.Join(s.dir, "out", name)), onlyPart(t, filepath.Join(s.dir, "out", name+".text"))
			b, err := os.ReadFile(text)
			if err != nil {
				t.Fatal(err)
			}
			want := table{columns: columns}
			for line := range strings.Lines(string(b)) {
				row := map[string]any{}
				if err := json.Unmarshal([]byte(line), &row); err != nil {
					t.Fatal(err)
				}
				want.rows = append(want.rows, []any{row["id"], row["d"], row["ts"], row["days"], row["s.ts"]})
			}
			if len(want.rows) != len(oldTimes) {
				t.Fatalf("Spark reads %d rows", len(want.rows))
			}
			got, err := read(t, "", columns, file)
			if err != nil {
				t.Fatal(err)
			}
			if d := got.differs(want); d != "" {
				t.Error(d)
			}
			if keep != "" {
				copyFile(t, file, filepath.Join(keep, name))
				list, _ := json.Marshal(columns) // as texts
				if err := os.WriteFile(filepath.Join(keep, texts[name]), append(append(list, '\n'), b...), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// onlyPart returns the only file of a directory that Spark has written.
func onlyPart(t *testing.T, dir string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "part-*"))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	return paths[0]
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCalendarZones compares the hybrid calendar of each time zone with Spark's own table. Zones that differ between
// databases are refused.
func TestCalendarZones(t *testing.T) {
	gate(t)
	version, scala := sparks[0][0], sparks[0][1]
	jar, err := zip.OpenReader(filepath.Join(sparkJars(t, version, scala), fmt.Sprintf("spark-sql-api_%s-%s.jar", scala, version)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = jar.Close() }()
	f, err := jar.Open("julian-gregorian-rebase-micros.json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var zones []struct {
		TZ              string
		Switches, Diffs []int64 // seconds
	}
	if err := json.NewDecoder(f).Decode(&zones); err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, z := range zones {
		h, err := valuetext.NewHybrid(z.TZ)
		if err != nil {
			continue
		}
		known++
		for i, from := range z.Switches {
			to := int64(1 << 40)
			if i+1 < len(z.Switches) {
				to = z.Switches[i+1]
			}
			for _, at := range []int64{from, from + 1, from + 3600, from + 86400, (from + to) / 2, to - 1} {
				if got := h.Second(at); at >= from && at < to && got != at+z.Diffs[i] {
					t.Errorf("%s: second %d: %+d, want %+d", z.TZ, at, got-at, z.Diffs[i])
				}
			}
		}
	}
	if t.Logf("%d of %d zones", known, len(zones)); known < 450 {
		t.Error("too few")
	}
}
