package frames

import "google.golang.org/protobuf/encoding/protowire"

// Fields visits the fields of a Protocol Buffers message in their order: data
// has the bytes of a field that has some, in the message, and is not nil then;
// else number has a varint. Fixed numbers are visited without their value. It
// is false when the message is damaged, after what was visited.
func Fields(message []byte, visit func(field protowire.Number, number uint64, data []byte)) bool {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return false
		}
		message = message[n:]
		var number uint64
		var data []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			data, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return false
		}
		visit(field, number, data)
		message = message[n:]
	}
	return true
}
