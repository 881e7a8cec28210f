package query

import (
	"fmt"
	"log"

	"bulkload/internal/model/spec"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// The key ranges of [Read] for a table with four salts: a value of the salted column has one salt, a range has all of
// them.
func ExampleQuery() {
	job, err := spec.Spec{Table: "ns:events", Key: "salt(user) + user + '|' + ts"}.Resolve()
	if err != nil {
		log.Fatal(err)
	}
	regions := []loader.Region{{}}
	for _, start := range partition.SaltSplits(4) {
		regions = append(regions, loader.Region{Start: start})
	}
	table, err := NewTable(nil, job)
	if err != nil {
		log.Fatal(err)
	}
	for _, q := range []Query{
		{Values: []string{"u7"}},
		{From: []string{"u7", "2026-01"}, To: []string{"u8"}},
		{Raw: true, StartRow: []byte("2u7|"), StopRow: []byte("2u7}")},
	} {
		if err := q.Validate(); err != nil {
			log.Fatal(err)
		}
		r, err := table.newReading(q, regions)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(q)
		for _, head := range r.keys.Heads {
			fmt.Printf("  scan %s to %s\n", rowkey.String(r.keys.Start(head)), rowkey.String(r.keys.Stop(head)))
		}
	}
	// Output:
	// get ["u7"]
	//   scan 2u7| to 2u7}
	// keys from ["u7" "2026-01"] to ["u8"]
	//   scan 0u7 to 0u8
	//   scan 1u7 to 1u8
	//   scan 2u7 to 2u8
	//   scan 3u7 to 3u8
	// rows from "2u7|" to "2u7}"
	//   scan 2u7| to 2u7}
}
