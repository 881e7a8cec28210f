package jsonlines_test

import (
	"bytes"
	"fmt"

	"bulkload/internal/formats/jsonlines"
	"bulkload/pkg/source/span"
)

// Make rows of three members of each line.
func Example() {
	plan, err := jsonlines.Compile([]string{"id", "addr.city", "amount"})
	if err != nil {
		fmt.Println(err)
		return
	}
	buf := []byte(`{"id":7,"addr":{"city":"Shanghai","zip":"200000"},"amount":100.00}
{"amount":1e5,"id":"A\/8","extra":[1,2]}
{"id":9,"addr":"Beijing"}
`)
	p, fields := plan.NewParser(), make([]span.Span, 3)
	size := len(buf)
	for start := 0; start < size; {
		end := start + bytes.IndexByte(buf[start:], '\n')
		if buf, err = p.Parse(buf, start, end, fields); err != nil {
			fmt.Println(err)
		} else {
			id, city, amount := fields[0], fields[1], fields[2]
			fmt.Printf("%s, %q (null: %t), %s\n", id.Of(buf), city.Of(buf), city.IsNull(), amount.Of(buf))
		}
		start = end + 1
	}
	// Output:
	// 7, "Shanghai" (null: false), 100.00
	// A/8, "" (null: true), 1e5
	// JSON, byte 15 of the line, member "addr": the value is not an object, and a member of it is wanted
}

// Find the schema of one line.
func ExampleNames() {
	members, err := jsonlines.Names([]byte(`{"id":7,"addr":{"city":"Shanghai"},"tags":["a"],"v1.0":null}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range members {
		fmt.Println(m.Path, m.Kind)
	}
	// Output:
	// id number
	// addr.city string
	// tags array
	// v1\.0 null
}
