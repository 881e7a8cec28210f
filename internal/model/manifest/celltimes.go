package manifest

import "time"

// CellTimes are the bounds of cells' times in a job that takes them from columns.
type CellTimes struct {
	Min     int64 `json:"min"`               // milliseconds
	Max     int64 `json:"max"`               // the last of them
	Expires int64 `json:"expires,omitempty"` // when the first cell is gone, 0 for never
}

// Join widens the bounds by those of others; nil stands for no cells.
func (c *CellTimes) Join(o *CellTimes) *CellTimes {
	switch {
	case o == nil:
		return c
	case c == nil:
		d := *o
		return &d
	}
	c.Min, c.Max = min(c.Min, o.Min), max(c.Max, o.Max)
	if c.Expires == 0 || o.Expires != 0 && o.Expires < c.Expires {
		c.Expires = o.Expires
	}
	return c
}

// clockSlack is how far clocks may differ between this machine and servers.
const clockSlack = time.Minute

// Expired reports whether what expires at a time may be gone by now.
func Expired(expires int64) bool {
	return expires != 0 && time.Now().Add(clockSlack).UnixMilli() >= expires
}
