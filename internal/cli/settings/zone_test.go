package settings

import (
	"strings"
	"testing"
)

// TestCheckTZ checks which values of TZ are time zones: names, with a colon or without, and files of time zones.
func TestCheckTZ(t *testing.T) {
	for _, tz := range []string{"", "UTC", "Asia/Shanghai", ":Europe/Berlin", "Etc/GMT-8"} {
		if err := checkTZ(tz); err != nil {
			t.Errorf("%q: %v", tz, err)
		}
	}
	for _, tz := range []string{"CST-8", "<+08>-8", "Asia/Shangai", ":Asia/Shangai", "../etc/passwd", "/etc/passwd", "/none", strings.Repeat("x", 500)} {
		if err := checkTZ(tz); err == nil || !strings.Contains(err.Error(), "such as Asia/Shanghai") || len(err.Error()) > 160 {
			t.Errorf("%q: %v", tz, err)
		}
	}
}

// TestNeedsZone checks for which values of --date the time zone determines the day.
func TestNeedsZone(t *testing.T) {
	for text, want := range map[string]bool{"": true, "yesterday": true, "today": true, "2026-11-20T00:00:00Z": true, "2026-11-20 03:00:00+08:00": true,
		"2026-11-20": false, "20261120": false, "2026-11-20T05:06:07": false, "tomorrow": false} {
		if got := needsZone(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
