package frames

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields visits the fields of a Protocol Buffers message in order. For a
// length-delimited field, data is not nil and refers to the field's bytes in
// the message. For a varint, number is its value. Fields of fixed size are
// visited without their value. Fields returns false if the message is damaged,
// after visiting the fields before the damage.
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

// To has variables for the fields of a message, by their numbers: *[]byte, *string and *uint64. [Into] panics for another type.
type To map[protowire.Number]any

// Into is [Fields] that sets variables. Bytes are not copied. The variable of a missing field keeps its value, and that of a repeated field gets
// the last one.
func Into(message []byte, to To) bool {
	return Fields(message, func(field protowire.Number, number uint64, data []byte) {
		switch v := to[field].(type) {
		case *[]byte:
			*v = data
		case *string:
			*v = string(data)
		case *uint64:
			*v = number
		case nil: // a field that the caller does not read
		default:
			panic(fmt.Sprintf("frames.Into: field %d has a variable of type %T", field, v))
		}
	})
}

// Bytes returns the first field with a number, which must be length-delimited.
func Bytes(message []byte, number protowire.Number) (value []byte, found bool) {
	seen := false
	ok := Fields(message, func(field protowire.Number, _ uint64, data []byte) {
		if field == number && !seen {
			value, found, seen = data, data != nil, true
		}
	})
	return value, ok && found
}

// Number returns the last varint field with a number, 0 if there is none.
func Number(message []byte, number protowire.Number) (value uint64) {
	Fields(message, func(field protowire.Number, n uint64, data []byte) {
		if field == number && data == nil {
			value = n
		}
	})
	return value
}

// AppendBytes appends a field with bytes, text or a message to a message.
func AppendBytes[T []byte | string](message []byte, field protowire.Number, value T) []byte {
	message = protowire.AppendTag(message, field, protowire.BytesType)
	return append(protowire.AppendVarint(message, uint64(len(value))), value...)
}

// AppendEach appends a field for each of the values, with the numbers from 1 on.
func AppendEach[T []byte | string](message []byte, values ...T) []byte {
	for i, value := range values {
		message = AppendBytes(message, protowire.Number(i+1), value)
	}
	return message
}

// AppendNumber appends a varint field to a message.
func AppendNumber(message []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(message, field, protowire.VarintType), n)
}
