package dfs

import (
	"io/fs"
	"maps"
	"testing"

	"bulkload/internal/hadoop/frames"
)

// TestNamedUsers checks that only access entries of users count, with the rights that the mask leaves.
func TestNamedUsers(t *testing.T) {
	entry := func(kind, scope, rights uint64, name string) []byte {
		e := frames.AppendNumber(frames.AppendNumber(frames.AppendNumber(nil, 1, kind), 2, scope), 3, rights)
		if name != "" {
			e = frames.AppendBytes(e, 4, name)
		}
		return e
	}
	for name, c := range map[string]struct {
		mode    uint64
		entries [][]byte
		want    map[string]fs.FileMode
	}{
		"one user":           {0o710, [][]byte{entry(0, 0, 1, "hbase"), entry(1, 0, 5, "")}, map[string]fs.FileMode{"hbase": 1}},
		"the mask takes":     {0o700, [][]byte{entry(0, 0, 7, "hbase")}, map[string]fs.FileMode{"hbase": 0}},
		"the mask leaves":    {0o750, [][]byte{entry(0, 0, 7, "hbase"), entry(0, 0, 4, "etl")}, map[string]fs.FileMode{"hbase": 5, "etl": 4}},
		"for what is made":   {0o777, [][]byte{entry(0, 1, 7, "hbase"), entry(2, 1, 7, "")}, map[string]fs.FileMode{}},
		"groups and others":  {0o777, [][]byte{entry(1, 0, 7, "hbase"), entry(3, 0, 7, "")}, map[string]fs.FileMode{}},
		"the owner's own":    {0o777, [][]byte{entry(0, 0, 7, "")}, map[string]fs.FileMode{}},
		"a mask as an entry": {0o777, [][]byte{entry(0, 0, 7, "hbase"), entry(2, 0, 1, "")}, map[string]fs.FileMode{"hbase": 7}},
	} {
		var status []byte
		for _, e := range c.entries {
			status = frames.AppendBytes(status, 4, e)
		}
		status = frames.AppendBytes(status, 5, frames.AppendNumber(nil, 1, c.mode))
		got, err := parseNamedUsers(frames.AppendBytes(nil, 1, status))
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
	for name, bad := range map[string][]byte{"nothing": nil, "half a field": {0x0a, 0x7f, 1}} {
		if got, err := parseNamedUsers(bad); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
