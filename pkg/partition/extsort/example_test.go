package extsort_test

import (
	"fmt"
	"log"

	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
)

// Add rows by region in any order, and read each region in key order.
func Example() {
	if err := sortRows(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// region 0: ant = 4
	// region 0: bee = 2
	// region 1: owl = 1
	// region 1: yak = 5
	// 1 duplicate left out
}

func sortRows() error {
	regions, err := partition.New([][]byte{[]byte("m")})
	if err != nil {
		return err
	}
	s, err := extsort.New(extsort.Options{Regions: regions.Len(), Memory: 8 << 20, Duplicates: extsort.KeepLast})
	if err != nil {
		return err
	}
	defer s.Close()

	w, err := s.Writer() // one for each goroutine, Options.Workers in all
	if err != nil {
		return err
	}
	for i, key := range []string{"owl", "bee", "ant", "ant", "yak"} {
		value := fmt.Append(nil, i+1)
		room, err := w.Add(regions.Find([]byte(key)), uint64(i), []byte(key), len(value))
		if err != nil {
			return err
		}
		copy(room, value)
	}
	if err := s.Finish(); err != nil {
		return err
	}
	var left int64
	for region := range regions.Len() {
		m, err := s.Region(region)
		if err != nil {
			return err
		}
		for m.Next() {
			fmt.Printf("region %d: %s = %s\n", region, m.Key(), m.Payload())
		}
		left += m.Duplicates()
		err = m.Err()
		m.Close()
		if err != nil {
			return err
		}
	}
	fmt.Println(left, "duplicate left out")
	return nil
}
