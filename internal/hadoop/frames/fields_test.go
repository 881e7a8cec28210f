package frames

import (
	"bytes"
	"testing"

	"bulkload/internal/test/testcheck"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// TestFieldsOfMessages compares with the protobuf library, in both directions.
func TestFieldsOfMessages(t *testing.T) {
	r := testcheck.Rand(t)
	for range 2000 {
		text := func() *string { return proto.String(string(bytes.Repeat([]byte{byte('a' + r.IntN(26))}, r.IntN(300)))) }
		m := &descriptorpb.FieldDescriptorProto{Name: text(), Extendee: text(), Number: proto.Int32(r.Int32()), OneofIndex: proto.Int32(r.Int32N(100)), TypeName: text()}
		b, err := proto.Marshal(m)
		testcheck.Must(t, err)
		if name, ok := Bytes(b, 1); !ok || string(name) != m.GetName() {
			t.Fatalf("name %q, want %q", name, m.GetName())
		}
		if n := Number(b, 3); n != uint64(m.GetNumber()) {
			t.Fatalf("number %d, want %d", n, m.GetNumber())
		}
		if _, ok := Bytes(b, 3); ok {
			t.Fatal("a number has bytes")
		}
		own := AppendBytes(AppendBytes(AppendNumber(AppendNumber(AppendBytes([]byte(nil), 1, m.GetName()), 3, uint64(m.GetNumber())), 9, uint64(m.GetOneofIndex())), 2, m.GetExtendee()), 6, []byte(m.GetTypeName()))
		back := &descriptorpb.FieldDescriptorProto{}
		testcheck.Must(t, proto.Unmarshal(own, back))
		if !proto.Equal(m, back) {
			t.Fatalf("%v, want %v", back, m)
		}
		cut := b[:r.IntN(len(b))]
		n := 0
		whole := Fields(cut, func(protowire.Number, uint64, []byte) { n++ })
		if valid := proto.Unmarshal(cut, &descriptorpb.FieldDescriptorProto{}) == nil; whole != valid {
			t.Fatalf("%d of %d bytes, %d fields: whole %t, the library says %t", len(cut), len(b), n, whole, valid)
		}
	}
	fixed := protowire.AppendFixed64(protowire.AppendTag(nil, 5, protowire.Fixed64Type), 1)
	seen := protowire.Number(0)
	if !Fields(fixed, func(field protowire.Number, number uint64, data []byte) {
		if number == 0 && data == nil {
			seen = field
		}
	}) || seen != 5 {
		t.Errorf("a fixed number: field %d", seen)
	}
}
