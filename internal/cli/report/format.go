package report

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"bulkload/pkg/setting"
)

var functions = template.FuncMap{
	"count": setting.Thousands, "bytes": bytesText, "took": formatDuration, "clock": clock, "rate": rate, "cut": cut, "share": share, "int64": func(n int) int64 { return int64(n) },
	"add": func(a, b int) int { return a + b }, "plural": plural, "per": perSecond, "verified": verified, "ratio": func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) },
	"span": func(from, to time.Time) string { return formatDuration(to.Sub(from)) },
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return setting.Thousands(int64(n)) + " " + many
}

func bytesText(n int64) string { return scaled(float64(n), 1024, "B", "KiB", "MiB", "GiB", "TiB") }

// rate formats a number of rows a second.
func rate(perSecond float64) string { return scaled(perSecond, 1000, "", "k", "M", "G") }

func perSecond(n int64, from, to time.Time) string {
	if s := to.Sub(from).Seconds(); s > 0 && n > 0 {
		return rate(float64(n)/s) + " rows/s"
	}
	return ""
}

func scaled(v, by float64, units ...string) string {
	i := 0
	for i < len(units)-1 && math.Abs(v) >= by {
		v /= by
		i++
	}
	text := strconv.FormatFloat(v, 'f', 1, 64)
	if i == 0 {
		text = strconv.FormatFloat(v, 'f', 0, 64)
	}
	text = strings.TrimSuffix(text, ".0")
	return strings.TrimSpace(text + " " + units[i])
}

// formatDuration formats a duration with about three digits.
func formatDuration(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 0:
		return "0 s"
	case s < 1:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case s < 60:
		return fmt.Sprintf("%.1f s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", int(s)/60, int(s)%60)
	default:
		return fmt.Sprintf("%d h %d min", int(s)/3600, int(s)/60%60)
	}
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func share(part float64) string { return strconv.FormatFloat(100*part, 'f', 1, 64) + " %" }

// cut shortens a text to n characters.
func cut(n int, s string) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
