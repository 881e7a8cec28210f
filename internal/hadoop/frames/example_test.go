package frames_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"

	"bulkload/internal/hadoop/frames"
)

// checked returns the data that a filter passes.
type checked struct {
	r      io.Reader
	filter *frames.Filter
}

func (c checked) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if bad := c.filter.Pass(p[:n]); bad != nil {
		return 0, bad // the library gets none of it
	}
	return n, err
}

// A filter is placed between a connection and the library that reads it.
func Example() {
	filter := func() *frames.Filter {
		return &frames.Filter{Most: 1 << 20, Check: func(head []byte, size uint32) (need int, why string) {
			_, _, need, why = frames.Delimited(head, 0, size) // it begins with a message
			return need, why
		}}
	}
	good := []byte{0, 0, 0, 3, 2, 'h', 'i'}
	all, err := io.ReadAll(checked{bytes.NewReader(good), filter()})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", all)

	_, err = io.ReadAll(checked{bytes.NewReader([]byte{0x7f, 0xff, 0xff, 0xff, 2}), filter()})
	if e, ok := errors.AsType[*frames.Error](err); ok {
		fmt.Println(e)
	}
	// Output:
	// "\x00\x00\x00\x03\x02hi"
	// an answer of 2147483647 bytes is longer than 1048576
}
