package orc

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

var errMessage = errors.New("a message of it is damaged")

// A field is a field of a Protocol Buffers message: a number, or bytes.
type field struct {
	number protowire.Number
	value  uint64
	data   []byte
}

// fields calls each for the fields of a message. A field that is neither a varint nor bytes is passed with the number 0.
func fields(message []byte, each func(f field) error) error {
	for len(message) > 0 {
		number, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errMessage
		}
		message = message[n:]
		f := field{number: number}
		switch typ {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			f.data, n = protowire.ConsumeBytes(message)
		default:
			f.number, n = 0, protowire.ConsumeFieldValue(number, typ, message)
		}
		if n < 0 {
			return errMessage
		}
		message = message[n:]
		if err := each(f); err != nil {
			return err
		}
	}
	return nil
}

// into returns a function for [fields] that stores the values of fields 1, 2 and so on in the given numbers.
func into(numbers ...*uint64) func(field) error {
	return func(f field) error {
		if f.number > 0 && int(f.number) <= len(numbers) {
			*numbers[f.number-1] = f.value
		}
		return nil
	}
}

// numbers calls each for the numbers of a repeated field, packed or not.
func (f field) numbers(each func(v uint64)) error {
	if f.data == nil {
		each(f.value)
		return nil
	}
	for data := f.data; len(data) > 0; {
		v, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return errMessage
		}
		each(v)
		data = data[n:]
	}
	return nil
}
