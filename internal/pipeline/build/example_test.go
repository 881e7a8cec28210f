package build_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/partition"
)

// Rows of a CSV file become HFiles in a local directory, one for each region
// that has rows, of the regions that these split points make.
func ExampleDirectory() {
	dir, err := os.MkdirTemp("", "bulkload-example-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	input := filepath.Join(dir, "orders.csv")
	if err := os.WriteFile(input, []byte("id,user,amount\n1,anna,12\n2,ben,7\n3,anna,30\n4,carl,\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	job, err := spec.Spec{Inputs: []string{input}, Key: "salt(user) + user + '|' + id", Timestamp: 1700000000000}.Resolve()
	if err != nil {
		log.Fatal(err) // all that is wrong with the spec, at once
	}
	env := &cluster.Env{Conf: &hdfsio.Conf{}} // no cluster: names without a scheme are local
	defer env.Close()
	out := filepath.Join(dir, "hfiles")
	m, err := build.Directory(context.Background(), env, job, spec.DefaultFamily("f"), partition.SaltSplits(4), out, build.WorkOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d records, %d rows, %d cells in %d HFiles of %d salts\n", m.Records, m.Digest.Rows, m.Digest.Cells, m.HFiles, m.Modulus)
	for _, f := range m.Files {
		if _, err := os.Stat(filepath.Join(out, f.Name)); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("region %d: %d rows, %s to %s\n", f.Region, f.Rows, f.FirstRow, f.LastRow)
	}
	// Output:
	// 4 records, 4 rows, 11 cells in 2 HFiles of 4 salts
	// region 0: 3 rows, 0anna|1 to 0carl|4
	// region 3: 1 rows, 3ben|2 to 3ben|2
}
