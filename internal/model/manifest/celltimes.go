package manifest

import "time"

// CellTimes are the bounds of the cells' timestamps and lifetimes in a job that takes
// these from columns.
type CellTimes struct {
	Min     int64 `json:"min"`               // milliseconds
	Max     int64 `json:"max"`               // milliseconds; the maximum, inclusive
	Expires int64 `json:"expires,omitempty"` // when the first cell expires, 0 for never
}

// Join widens the bounds to include others; nil stands for no cells.
func (c *CellTimes) Join(o *CellTimes) *CellTimes {
	switch {
	case o == nil:
		return c
	case c == nil:
		return new(*o)
	}
	c.Min, c.Max = min(c.Min, o.Min), max(c.Max, o.Max)
	if c.Expires == 0 || o.Expires != 0 && o.Expires < c.Expires {
		c.Expires = o.Expires
	}
	return c
}

// clockSlack is the largest difference that is assumed between the clocks of this
// machine and of the servers.
const clockSlack = time.Minute

// Expired reports whether cells that expire at the given time may have expired by
// now.
func Expired(expires int64) bool {
	return expires != 0 && time.Now().Add(clockSlack).UnixMilli() >= expires
}
