package journal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"bulkload/internal/engine/journal"
)

// A job records an action before performing it, so that the next run can see what
// the last one may have done.
func Example() {
	dir, err := os.MkdirTemp("", "job")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := run(dir); err != nil {
		log.Fatal(err)
	}
	// The same command again, perhaps after a crash.
	if err := run(dir); err != nil {
		log.Fatal(err)
	}
	// Output:
	// nothing was sent yet
	// 1: region 7 may have been sent
}

type sending struct {
	Region int `json:"region"`
}

func run(dir string) (err error) {
	lock, err := journal.TryLock(dir)
	if busy, ok := errors.AsType[*journal.BusyError](err); ok {
		return fmt.Errorf("wait for %s", busy.Holder)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	j, records, err := journal.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()

	for _, r := range records {
		if r.Event != "sending" {
			continue // a later version's event
		}
		var s sending
		if err := json.Unmarshal(r.Data, &s); err != nil {
			return err
		}
		fmt.Printf("%d: region %d may have been sent\n", r.Seq, s.Region)
	}
	if len(records) == 0 {
		fmt.Println("nothing was sent yet")
		_, err := j.Append("sending", sending{Region: 7}, journal.First) // on disk before the action
		return err
	}
	return nil
}
