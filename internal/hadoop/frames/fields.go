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

// Bytes returns the first field of that number, which must have bytes.
func Bytes(message []byte, number protowire.Number) (value []byte, found bool) {
	seen := false
	ok := Fields(message, func(field protowire.Number, _ uint64, data []byte) {
		if field == number && !seen {
			value, found, seen = data, data != nil, true
		}
	})
	return value, ok && found
}

// Number returns the last field of that number that is a varint, 0 where there is none.
func Number(message []byte, number protowire.Number) (value uint64) {
	Fields(message, func(field protowire.Number, n uint64, data []byte) {
		if field == number && data == nil {
			value = n
		}
	})
	return value
}

// AppendBytes appends a field of bytes, of text or of a message to a message.
func AppendBytes[T []byte | string](message []byte, field protowire.Number, value T) []byte {
	message = protowire.AppendTag(message, field, protowire.BytesType)
	return append(protowire.AppendVarint(message, uint64(len(value))), value...)
}

// AppendNumber appends a varint to a message.
func AppendNumber(message []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(message, field, protowire.VarintType), n)
}
