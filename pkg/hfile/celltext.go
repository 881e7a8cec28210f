package hfile

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
)

// AppendCellText appends a cell as one line of text without a line end. Its fields
// are separated by tabs: row, family and qualifier in base64, the timestamp, the
// type's name, the value in base64 and, if the cell has any, its tags in base64.
func AppendCellText(dst []byte, c *Cell) []byte {
	e := base64.StdEncoding
	dst = append(e.AppendEncode(dst, c.Row), '\t')
	dst = append(e.AppendEncode(dst, c.Family), '\t')
	dst = append(e.AppendEncode(dst, c.Qualifier), '\t')
	dst = append(strconv.AppendInt(dst, c.Timestamp, 10), '\t')
	dst = append(append(dst, c.Type.String()...), '\t')
	dst = e.AppendEncode(dst, c.Value)
	if len(c.Tags) > 0 {
		dst = e.AppendEncode(append(dst, '\t'), c.Tags)
	}
	return dst
}

// ParseCellText reads a line written by [AppendCellText]. The timestamp
// "LATEST" becomes now. The cell owns its slices.
func ParseCellText(line []byte, now int64) (Cell, error) {
	f := bytes.Split(line, []byte{'\t'})
	if len(f) < 6 || len(f) > 7 {
		return Cell{}, fmt.Errorf("cell line has %d fields, not 6 or 7", len(f))
	}
	var c Cell
	for _, part := range []struct {
		dst  *[]byte
		at   int
		name string
	}{{&c.Row, 0, "row"}, {&c.Family, 1, "family"}, {&c.Qualifier, 2, "qualifier"}, {&c.Value, 5, "value"}, {&c.Tags, 6, "tags"}} {
		if part.at >= len(f) {
			continue
		}
		b, err := base64.StdEncoding.AppendDecode(nil, f[part.at])
		if err != nil {
			return Cell{}, fmt.Errorf("%s of the cell line: %w", part.name, err)
		}
		*part.dst = b
	}
	c.Timestamp = now
	if string(f[3]) != "LATEST" {
		ts, err := strconv.ParseInt(string(f[3]), 10, 64)
		if err != nil {
			return Cell{}, fmt.Errorf("timestamp of the cell line: %w", err)
		}
		c.Timestamp = ts
	}
	var err error
	c.Type, err = ParseType(string(f[4]))
	return c, err
}
