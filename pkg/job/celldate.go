package job

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// timeText is how a point in time is written: a layout in the letters of
// Java's DateTimeFormatter, or unix and unixms for numbers of seconds and
// milliseconds since 1970.
type timeText struct {
	layout string // as it was given
	unit   int64  // milliseconds of a number's unit, 0 for a date
	format string // the layout as package time writes it
	length int    // of a text, 0 when it varies
	zone   *time.Location
}

// newTimeText reads a layout. The zone is a name such as Asia/Shanghai,
// default UTC; a text that has its own offset from UTC does not need it.
func newTimeText(layout, zone string) (*timeText, error) {
	t := &timeText{layout: layout}
	var err error
	if t.zone, err = time.LoadLocation(zone); err != nil || zone == "Local" {
		return nil, fmt.Errorf("zone %q is not known (write it as Asia/Shanghai)", zone)
	}
	switch layout {
	case "":
		return nil, fmt.Errorf("layout is missing: write it as yyyy-MM-dd HH:mm:ss, unix or unixms")
	case "unix":
		t.unit = 1000
		return t, nil
	case "unixms":
		t.unit = 1
		return t, nil
	}
	var b strings.Builder
	seen, fixed := "", true
	for i := 0; i < len(layout); {
		c := layout[i]
		n := 1
		for c != '\'' && i+n < len(layout) && layout[i+n] == c {
			n++
		}
		switch letter := c|0x20 >= 'a' && c|0x20 <= 'z'; {
		case c == '\'':
			end := strings.IndexByte(layout[i+1:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("layout %q has a quote that is not closed", layout)
			}
			text := layout[i+1 : i+1+end]
			if strings.ContainsAny(text, "0123456789_") || len(text) > 1 {
				return nil, fmt.Errorf("layout %q: only single letters can stand in quotes", layout)
			}
			b.WriteString(text)
			n = end + 2
		case letter:
			piece := layout[i : i+n]
			form, ok := timeForms[piece]
			if c == 'S' {
				form, ok = strings.Repeat("0", n), n <= 9 && strings.HasSuffix(b.String(), "05.")
			}
			if !ok || strings.IndexByte(seen, c) >= 0 {
				return nil, fmt.Errorf("layout %q has %q, which is not known there: the letters are yyyy M MM d dd H HH mm ss .SSS X XX XXX, as Java writes them", layout, piece)
			}
			seen += string(c)
			fixed = fixed && len(form) == n
			b.WriteString(form)
		case c >= '0' && c <= '9' || c == '_' || c == '[' || c == ']' || c >= 0x80:
			return nil, fmt.Errorf("layout %q has %q, which is not known there", layout, layout[i:i+n])
		default:
			b.WriteString(layout[i : i+n])
		}
		i += n
	}
	for _, need := range "yMd" {
		if !strings.ContainsRune(seen, need) {
			return nil, fmt.Errorf("layout %q has no %c: a date has year, month and day", layout, need)
		}
	}
	t.format = b.String()
	if fixed {
		t.length = len(t.format)
	}
	return t, nil
}

// timeForms are pieces of Java's layouts in those of package time.
var timeForms = map[string]string{
	"yyyy": "2006", "MM": "01", "M": "1", "dd": "02", "d": "2", "HH": "15", "mm": "04", "ss": "05",
	"X": "Z07", "XX": "Z0700", "XXX": "Z07:00",
}

// parse reads a text. A time that clocks skip moves forward by as much; of one
// that they show twice it is the first.
func (t *timeText) parse(text []byte) (time.Time, error) {
	if t.unit > 0 {
		v, why := parseLong(text)
		if why == "" && (v > math.MaxInt64/t.unit || v < math.MinInt64/t.unit) {
			why = "is out of range"
		}
		if why != "" {
			return time.Time{}, valueError(text, why+" (layout "+t.layout+")")
		}
		return time.UnixMilli(v * t.unit), nil
	}
	if t.length > 0 && len(text) != t.length { // package time takes fractions that no layout asks for
		return time.Time{}, t.bad(text)
	}
	at, err := time.ParseInLocation(t.format, string(text), t.zone)
	if err != nil {
		return time.Time{}, t.bad(text)
	}
	return at, nil
}

func (t *timeText) bad(text []byte) error {
	return valueError(text, "is no date of the layout "+t.layout)
}
