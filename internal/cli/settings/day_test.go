package settings

import (
	"strings"
	"testing"
	"time"
)

func TestParseDay(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	const layout = "2006-01-02 15:04:05"
	for _, c := range []struct{ text, zone, now, want string }{
		{"", "Asia/Shanghai", "2025-12-31T16:30:00Z", "2025-12-31 00:00:00"}, // it is New Year there already
		{"today", "Asia/Shanghai", "2025-12-31T16:30:00Z", "2026-01-01 00:00:00"},
		{"yesterday", "UTC", "2026-01-01T00:00:00Z", "2025-12-31 00:00:00"},
		{"yesterday", "UTC", "2028-03-01T12:00:00Z", "2028-02-29 00:00:00"},
		{"yesterday", "UTC", "2027-03-01T12:00:00Z", "2027-02-28 00:00:00"},
		// The previous day had 23 hours: 24 hours earlier is two days before.
		{"yesterday", "America/New_York", "2026-03-09T04:30:00Z", "2026-03-08 00:00:00"},
		// It had 25 hours: 24 hours earlier is still the same day.
		{"yesterday", "America/New_York", "2026-11-02T04:30:00Z", "2026-10-31 00:00:00"},
		{"yesterday", "America/New_York", "2026-11-02T05:30:00Z", "2026-11-01 00:00:00"},
		// This day had no midnight.
		{"today", "America/Sao_Paulo", "2018-11-04T15:00:00Z", "2018-11-04 00:00:00"},
		{"yesterday", "America/Sao_Paulo", "2018-11-05T15:00:00Z", "2018-11-04 00:00:00"},
		{"2018-11-04", "America/Sao_Paulo", "2026-01-01T00:00:00Z", "2018-11-04 00:00:00"},
		{"2026-11-20", "Pacific/Kiritimati", "2026-01-01T00:00:00Z", "2026-11-20 00:00:00"},
		{"20261120", "UTC", "2026-01-01T00:00:00Z", "2026-11-20 00:00:00"},
		// Airflow's form of logical dates.
		{"2026-11-20T00:00:00+00:00", "UTC", "2026-01-01T00:00:00Z", "2026-11-20 00:00:00"},
		{"2026-11-19T16:00:00+00:00", "Asia/Shanghai", "2026-01-01T00:00:00Z", "2026-11-20 00:00:00"},
		{"2026-11-20T23:30:00.123456+00:00", "Asia/Shanghai", "2026-01-01T00:00:00Z", "2026-11-21 07:30:00"},
		{"2026-11-20 03:00:00+00:00", "UTC", "2026-01-01T00:00:00Z", "2026-11-20 03:00:00"},
		{"2026-11-20T05:06:07Z", "UTC", "2026-01-01T00:00:00Z", "2026-11-20 05:06:07"},
		{"20261120T050000", "Asia/Shanghai", "2026-01-01T00:00:00Z", "2026-11-20 05:00:00"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		d, err := parseDay(c.text, zone, at(c.now))
		if got := d.T.Format(layout); err != nil || got != c.want {
			t.Errorf("%q in %s at %s: %s %v, want %s", c.text, c.zone, c.now, got, err, c.want)
		}
	}
	for _, text := range []string{"2026-02-29", "2026-13-01", "tomorrow", "20-11-2026", "2026-11-20T25:00:00Z", " ", "1763596800"} {
		if d, err := parseDay(text, time.UTC, at("2026-01-01T00:00:00Z")); err == nil || !strings.Contains(err.Error(), "is not a date") {
			t.Errorf("%q is taken as %s: %v", text, d, err)
		}
	}
}

func TestExpand(t *testing.T) {
	env := map[string]string{"SITE": "lab", "EMPTY": ""}
	for day0, texts := range map[string]map[string]string{
		"2026-03-31": {
			"/user/tina/check/20171012":               "/user/tina/check/20171012",
			`/user/tina/check/{{ .Date "20060102" }}`: "/user/tina/check/20260331",
			`{{.Date}}`: "2026-03-31",
			`a/{{ .Date "2006/01/02" }}/{{ .Date "Jan" }}/*.gz`:        "a/2026/03/31/Mar/*.gz",
			`{{ .Date.AddDays 1 "20060102" }}`:                         "20260401",
			`{{ .Date.AddDays -31 "20060102" }}`:                       "20260228",
			`{{ .Date.AddDays -90 }}`:                                  "2025-12-31",
			`{{ .Date.AddMonths -1 "20060102" }}`:                      "20260228",
			`{{ .Date.AddMonths 9 "200601" }}`:                         "202612",
			`{{ (.Date.AddMonths -1).AddDays 1 "2006-01-02" }}`:        "2026-03-01",
			`{{ env "SITE" }}/x-{{ .Date "002" }}`:                     "lab/x-090",
			`{{ if eq (.Date "02") "31" }}last{{ else }}day{{ end }}/`: "last/",
		},
		"2024-02-29": {`{{ .Date.AddMonths 12 "20060102" }}`: "20250228", `{{ .Date.AddMonths -24 }}`: "2022-02-28", `{{ .Date.AddDays 366 }}`: "2025-03-01"},
		"2025-12-31": {`{{ .Date.AddDays 1 "2006/01/02" }}`: "2026/01/01", `{{ .Date.AddMonths 2 }}`: "2026-02-28"},
		"2018-11-03": {`{{ .Date.AddDays 1 "20060102" }} {{ .Date.AddDays 2 "20060102" }}`: "20181104 20181105"},
		"2006-01-02": {`{{ .Date "20060102" }}`: "20060102"},
	} {
		zone, err := time.LoadLocation("America/Sao_Paulo")
		if err != nil {
			t.Fatal(err)
		}
		d, err := parseDay(day0, zone, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range texts {
			if got, err := d.expand(text, env); err != nil || got != want {
				t.Errorf("%s of %s: %q %v, want %q", text, day0, got, err, want)
			}
		}
	}
	for text, want := range map[string]string{
		`{{ .Date "yyyyMMdd" }}`:            `"yyyyMMdd" has no date`,
		`{{ .Date "" }}`:                    "has no date",
		`{{ .Date "2006" "01" }}`:           "one layout",
		`{{ .Date "2006-01-02Z07:00" }}`:    "time zone",
		`{{ .Date.AddDays "1" "20060102"}}`: "AddDays",
		`{{ .Dat "20060102" }}`:             "unknown .Dat",
		`{{ .date }}`:                       "unknown .date",
		`{{ date }}`:                        `function "date" not defined`,
		`{{ env "NONE" }}`:                  "NONE is not set",
		`{{ env "EMPTY" }}`:                 "EMPTY is not set, or empty",
		`{{ .Date "20060102" }`:             "unexpected",
		`x{{`:                               "unclosed action",
	} {
		got, err := day{}.expand(text, env)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "main.") || strings.Contains(err.Error(), "template") {
			t.Errorf("%s: %q, %v, want %s", text, got, err, want)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{`{{ .Date "20060102" }}`, `{{ .Date.AddDays -1 "x" }}`, `{{ env "A" }}`, `{{`, `{{ print 1 }}`} {
		f.Add(s, "2026-11-20")
	}
	f.Fuzz(func(t *testing.T, text, date string) {
		d, err := parseDay(date, time.UTC, time.Unix(0, 0))
		if err != nil {
			return
		}
		if strings.Contains(text, "range") { // may run for any time
			return
		}
		_, _ = d.expand(text, nil)
	})
}
