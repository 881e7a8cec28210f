package parquet

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"
)

// TestUnpackLZ4 checks all formats that writers have stored as LZ4.
func TestUnpackLZ4(t *testing.T) {
	text := []byte(strings.Repeat("规则,0001;", 400))
	block := func(b []byte) []byte {
		dst := make([]byte, lz4.CompressBlockBound(len(b)))
		n, err := lz4.CompressBlock(b, dst, nil)
		if err != nil || n == 0 {
			t.Fatal(n, err)
		}
		return dst[:n]
	}
	framed := func(size int, parts ...[]byte) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(size))
		for _, part := range parts {
			p := block(part)
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
		}
		return b
	}
	var own bytes.Buffer
	w := lz4.NewWriter(&own)
	if _, err := w.Write(text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	half := len(text) / 2
	whole := framed(len(text), text)
	s := &pageSource{}
	for name, packed := range map[string][]byte{
		"one frame":  whole,
		"two blocks": framed(len(text), text[:half], text[half:]),
		"two frames": append(framed(half, text[:half]), framed(len(text)-half, text[half:])...),
		"own frame":  own.Bytes(),
		"block":      block(text),
	} {
		for range 2 { // the second time with the same buffers
			dst := make([]byte, len(text))
			if err := s.unpack(codecLZ4, dst, packed); err != nil || !bytes.Equal(dst, text) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for name, packed := range map[string][]byte{
		"cut off": whole[:len(whole)-5], "more": append(bytes.Clone(whole), framed(half, text[:half])...), "noise": []byte("\xff\xff\xff\xff\xff"), "nothing": {},
	} {
		if err := s.unpack(codecLZ4, make([]byte, len(text)), packed); err == nil {
			t.Errorf("%s: unpacked", name)
		}
	}
}

// TestBitPackedLevels reads levels whose highest bits come first: the example of parquet-format's Encodings.md.
func TestBitPackedLevels(t *testing.T) {
	data := []byte{0x05, 0x39, 0x77, 0, 0, 0, 0, 0, 0, 0, 0}
	h, end, err := levelsAt(data[:3], 0, 7, encBitPacked, 8)
	got := make([]uint32, 8)
	if err != nil || end != 3 || h.skipRun(data, 0, 2) || !h.read(data, got[:3]) || !h.read(data, got[3:]) || h.read(data, got[:1]) {
		t.Fatal(end, err)
	}
	for i, v := range got {
		if v != uint32(i) {
			t.Fatal(got)
		}
	}
	if _, _, err := levelsAt(data[:3], 0, 7, encBitPacked, 9); err == nil {
		t.Error("levels beyond the page")
	}
}

// TestParquetTypes checks that logical and converted types that are unknown or do not fit the physical type are
// refused.
func TestParquetTypes(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    schemaElement
		kind kind
		err  string
	}{
		{"logical type of the future", schemaElement{physical: physicalInt64, converted: -1, logical: 99}, 0, "its logical type 99 is not known"},
		{"converted type of the future", schemaElement{physical: physicalDouble, converted: 99}, 0, "its converted type 99 is not known"},
		{"unit of the future", schemaElement{physical: physicalInt64, converted: -1, logical: logicalTimestamp, unit: 4}, 0, "does not fit"},
		{"date of 8 bytes", schemaElement{physical: physicalInt64, converted: convertedDate}, 0, "does not fit"},
		{"microseconds in 4 bytes", schemaElement{physical: physicalInt32, converted: convertedTimeMicros}, 0, "does not fit"},
		{"milliseconds in 4 bytes", schemaElement{physical: physicalInt32, converted: convertedTimeMillis}, kindTime, ""},
		{"old timestamp", schemaElement{physical: physicalInt64, converted: convertedTimestampMicros}, kindTimestamp, ""},
		{"text of a number", schemaElement{physical: physicalInt32, converted: convertedUTF8}, kindInt, ""},
		{"unsigned", schemaElement{physical: physicalInt32, converted: convertedUint8}, kindUint, ""},
		{"uuid of 4 bytes", schemaElement{physical: physicalFixed, length: 4, converted: -1, logical: logicalUUID}, 0, "does not fit"},
		{"decimal of floats", schemaElement{physical: physicalFloat, converted: convertedDecimal, scale: 2}, 0, "does not fit"},
		{"digits without end", schemaElement{physical: physicalBytes, converted: convertedDecimal, scale: 1 << 30}, 0, "digits after the point"},
		{"interval", schemaElement{physical: physicalFixed, length: 12, converted: convertedInterval}, 0, "intervals have no form as text"},
		{"interval of the future", schemaElement{physical: physicalFixed, length: 12, converted: -1, logical: logicalInterval}, 0, "intervals have no form as text"},
		{"bytes of a form", schemaElement{physical: physicalBytes, converted: convertedBSON}, kindText, ""},
		{"geometry", schemaElement{physical: physicalBytes, converted: -1, logical: logicalGeometry}, kindText, ""},
		{"always NULL", schemaElement{physical: physicalInt32, converted: -1, logical: logicalUnknown}, kindInt, ""},
		{"physical type of the future", schemaElement{physical: 8, converted: -1}, 0, "the physical type 8 is not known"},
	} {
		got, err := typeOf(&schemaNode{schemaElement: tt.e}, &textRules{})
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: error %v", tt.name, err)
			}
		} else if err != nil || got.kind != tt.kind {
			t.Errorf("%s: kind %d, %v", tt.name, got.kind, err)
		}
	}
}

// TestDictionaryPlaces checks that dictionaries are found where old writers put them.
func TestDictionaryPlaces(t *testing.T) {
	f := &File{size: 1000}
	for name, tt := range map[string]struct {
		c          footerChunk
		start, end int64
		slack      int64
	}{
		"in front":           {footerChunk{data: 200, dictionary: 100, packed: 300}, 100, 400, 0},
		"not said":           {footerChunk{data: 100, packed: 300, indexed: true}, 100, 400, 0},
		"at the data":        {footerChunk{data: 100, dictionary: 100, packed: 300, indexed: true}, 100, 400, 0},
		"header not counted": {footerChunk{data: 200, dictionary: 100, packed: 300}, 100, 500, oldSize},
		"at the file's end":  {footerChunk{data: 700, dictionary: 650, packed: 300}, 650, 1000, oldSize},
	} {
		tt.c.known, tt.c.values = true, 5
		got, err := f.planChunk(&tt.c, 5, false, tt.slack)
		if err != nil || got.start != tt.start || got.end != tt.end || !got.dictionary {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for writer, want := range map[string]int64{"parquet-mr": oldSize, "parquet-mr version 1.2.8 (build x)": oldSize, "parquet-mr version 1.2.9": 0, "parquet-mr version 1.10.1": 0, "impala version 1.0.0": 0, "": 0} {
		if got := (&footer{writer: writer}).slack(); got != want {
			t.Errorf("%q: %d", writer, got)
		}
	}
}

// TestVariantGroups checks that a group is one VARIANT value, whose parts are not columns, if the schema marks it, or
// if it has the members of Spark's VARIANT.
func TestVariantGroups(t *testing.T) {
	leaf := func(name string) *schemaNode {
		return &schemaNode{schemaElement: schemaElement{name: name, physical: physicalBytes, converted: -1}, leaves: 1}
	}
	group := func(logical int16, kids ...*schemaNode) *schemaNode {
		return &schemaNode{schemaElement: schemaElement{name: "v", physical: -1, converted: -1, logical: logical}, kids: kids, leaves: len(kids)}
	}
	shredded := group(0, leaf("metadata"), leaf("value"), group(0, group(0, leaf("value"))))
	shredded.kids[2].name = "typed_value"
	for name, tt := range map[string]struct {
		n       *schemaNode
		variant bool
	}{
		"said":     {group(logicalVariant, leaf("metadata"), leaf("value")), true},
		"not said": {group(0, leaf("value"), leaf("metadata")), true},
		"shredded": {shredded, true},
		"struct":   {group(0, leaf("value"), leaf("meta")), false},
		"more":     {group(0, leaf("metadata"), leaf("value"), leaf("x")), false},
	} {
		root := group(0, tt.n)
		root.markVariants()
		s, err := shapeOf(root, &textRules{}, func(*schemaNode, columnType) int { return 0 })
		if err != nil {
			t.Fatal(name, err)
		}
		if variant := s.kids[0].kind == shapeVariant; variant != tt.variant || (Tree[*schemaNode](root.kids).Find("v.value") == nil) != tt.variant {
			t.Errorf("%s: %v", name, err)
		}
	}
}
