package cells

import (
	"encoding/binary"
	"testing"
)

// TestTimeToLiveIsOfItsRecord checks that a record has its own time to live, or none, independent of the previous record.
func TestTimeToLiveIsOfItsRecord(t *testing.T) {
	p := &Plan{Timestamp: 100, timing: timing{stamp: -1, ttl: 0}}
	var at RowTime
	for i, ttl := range []int64{0, 5, 0, 7, 7, 0} {
		var value []byte
		expires, tags := int64(0), []byte(nil)
		if ttl > 0 {
			value = binary.BigEndian.AppendUint64(nil, uint64(ttl))
			expires, tags = 100+ttl, append([]byte{0, 9, 8}, value...) // TagType.TTL_TAG_TYPE, in milliseconds
		}
		at.Read(p, [][]byte{value})
		if at.Stamp != 100 || at.Expires != expires || string(at.Tags) != string(tags) {
			t.Errorf("record %d lives %d ms: it expires at %d with tags %x, not at %d with %x", i, ttl, at.Expires, at.Tags, expires, tags)
		}
	}
}
