package partition_test

import (
	"fmt"
	"log"

	"bulkload/pkg/partition"
)

// Split points define regions; each key belongs to one of them.
func Example() {
	splits, err := partition.ParsePlan("salt:4") // or a list: "1,2,3"
	if err != nil {
		log.Fatal(err)
	}
	table, err := partition.New(splits)
	if err != nil {
		log.Fatal(err)
	}
	for _, key := range []string{"0abc", "2", "2zzz", "9"} {
		region := table.Find([]byte(key))
		fmt.Printf("%-4s region %d of %d, from %q to %q\n", key, region, table.Len(), table.Start(region), table.End(region))
	}
	fmt.Println("salted by", partition.SaltModulus(table.Splits()))
	// Output:
	// 0abc region 0 of 4, from "" to "1"
	// 2    region 2 of 4, from "2" to "3"
	// 2zzz region 2 of 4, from "2" to "3"
	// 9    region 3 of 4, from "3" to ""
	// salted by 4
}
