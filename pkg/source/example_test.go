package source_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"bulkload/pkg/hdfsio"
	"bulkload/pkg/source"
)

// resolve finds inputs on this machine's disk.
func resolve(path string) (source.FS, string, error) {
	name, err := filepath.Abs(path)
	return hdfsio.Local{}, name, err
}

// Open an input once and read it split by split; bad records are given to Reject.
func Example() {
	dir, err := os.MkdirTemp("", "export")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	csv := "id,name\n1,Ada\n2,Bo,surplus\n3,\"Eve, the third\"\n"
	if err := os.WriteFile(filepath.Join(dir, "people.csv"), []byte(csv), 0o600); err != nil {
		log.Fatal(err)
	}
	if err := read(context.Background(), dir); err != nil {
		log.Fatal(err)
	}
	// Output:
	// columns [id name]
	// 1 is called Ada
	// people.csv: record 2 at byte 14: 3 columns found, 2 expected
	// 3 is called Eve, the third
	// 3 records
}

func read(ctx context.Context, dir string) error {
	in, err := source.Open(ctx, resolve, []string{dir}, source.Options{
		Reject: func(e source.RowError) error { // e.Raw is the record, valid until this returns
			fmt.Printf("%s: record %d at byte %d: %s\n", filepath.Base(e.Path), e.Record, e.Offset, e.Reason)
			return nil // go on; an error would end the reading
		},
	})
	if err != nil {
		return err
	}
	fmt.Println("columns", in.Columns())
	r := in.NewReader() // one for each goroutine
	for split := range in.Splits() {
		err := r.Read(ctx, split, func(b *source.Batch) error {
			for row := range b.Rows {
				// The batch is valid only during the call: copy values to keep them.
				fmt.Printf("%s is called %s\n", b.Field(row, 0), b.Field(row, 1))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	fmt.Println(in.Records(), "records")
	return nil
}

// A budget allows a fixed number of bad records. The error of a budget that is exceeded has the first record beyond it.
func ExampleBudget() {
	dir, err := os.MkdirTemp("", "export")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "people.csv")
	if err := os.WriteFile(name, []byte("id,name\n1\n2,Bo\n3\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	budget, err := source.NewBudget("1") // or a share, "0.5%"
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	in, err := source.Open(ctx, resolve, []string{name}, source.Options{Reject: budget.RejectRead})
	if err != nil {
		log.Fatal(err)
	}
	err = in.NewReader().Read(ctx, 0, func(*source.Batch) error { return nil })
	if row, ok := errors.AsType[*source.RowError](err); ok && errors.Is(err, source.ErrBudget) {
		fmt.Printf("record %d is one too many: %s\n", row.Record, row.Reason)
	}
	fmt.Println(budget.Bad(), "bad records")
	// Output:
	// record 3 is one too many: 1 column found, 2 expected
	// 2 bad records
}
