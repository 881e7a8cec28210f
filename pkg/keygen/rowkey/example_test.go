package rowkey_test

import (
	"fmt"
	"log"

	"bulkload/pkg/keygen/rowkey"
)

// Row keys are printed and read as in HBase's shell and logs.
func Example() {
	key := []byte("user\x00\xff\\42")
	text := rowkey.String(key)
	fmt.Println(text)
	back, err := rowkey.Parse(text)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(back) == string(key))
	_, err = rowkey.Parse(`user\xff`)
	fmt.Println(err)
	// Output:
	// user\x00\xFF\x5C42
	// true
	// position 5: HBase reads \xff as text: the digits of an escape are upper case, \xFF
}
