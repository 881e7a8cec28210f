package keygen_test

import (
	"errors"
	"fmt"
	"log"

	"bulkload/pkg/keygen"
)

// Parse a spec, check it against the properties of the records, and compile it into a program that makes keys.
func Example() {
	expr, err := keygen.Parse("salt(check_id, 10) + md5hex(check_id) + id")
	if err != nil {
		log.Fatal(err) // a *keygen.SyntaxError with the position
	}
	report, err := keygen.Check(expr, keygen.CheckOptions{
		Columns: []string{"id", "check_id", "amount"},
		Unique:  "id",
		Widths:  map[string]int{"id": 4},
	})
	if err != nil {
		log.Fatal(err) // a column that the records lack
	}
	fmt.Printf("keys of %d to %d bytes, %s\n", report.Min, report.Max, report.Uniqueness)

	program, err := keygen.Compile(expr, keygen.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("made of", program.Columns())
	var key []byte
	for _, record := range [][][]byte{
		{[]byte("A208848994"), []byte("0001")}, // fields in the order of program.Columns
		{[]byte("A208848995"), []byte("0002")},
		{[]byte(""), []byte("0003")},
	} {
		key, err = program.Append(key[:0], record)
		if bad, ok := errors.AsType[*keygen.FieldError](err); ok {
			fmt.Printf("no key: column %s: %v\n", bad.Column, bad.Err)
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", key)
	}
	// Output:
	// keys of 37 to 37 bytes, unique
	// made of [check_id id]
	// 91dbdebfbc84bad48d92aa7c045019e8d0001
	// 0e9d8f05dd2cc6654d91174689148bfc50002
	// no key: column check_id: key column is empty
}

// Print a report that explains a spec part by part.
func ExampleCheck() {
	expr, err := keygen.Parse("salt(user) + user + reverse(day)")
	if err != nil {
		log.Fatal(err)
	}
	report, err := keygen.Check(expr, keygen.CheckOptions{Regions: 50, Widths: map[string]int{"user": 8, "day": 8}})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range report.Parts {
		fmt.Printf("%-12s %d to %d bytes of %s\n", p.Part, p.Min, p.Max, p.Bytes)
	}
	// Output:
	// salt(user)   2 to 2 bytes of decimal digits
	// user         8 to 8 bytes of any bytes
	// reverse(day) 8 to 8 bytes of any bytes
}

// The error for an invalid spec has the position, and a suggestion.
func ExampleParse_error() {
	_, err := keygen.Parse("salt(a) + md5hx(a)")
	if e, ok := errors.AsType[*keygen.SyntaxError](err); ok {
		fmt.Println(e.Pos, e.Msg)
	}
	// Output:
	// 10 unknown function "md5hx" (did you mean md5hex?)
}
