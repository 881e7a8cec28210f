package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"bulkload/internal/engine/journal"
)

// asJournal says where the history that a process has is not the one that a replay of its journal gives. Tests ask it after
// every record: where the two differ, a job is wrong only until it is killed.
func (st *Job) asJournal() error {
	if st.Log == nil {
		return nil
	}
	f, err := os.Open(filepath.Join(st.Dir, journal.FileName))
	if err != nil {
		return err
	}
	defer f.Close()
	records, err := journal.Read(f)
	if err != nil {
		return err
	}
	h, err := HistoryOf(records)
	if err != nil {
		return err
	}
	var errs []error
	memory, replay := reflect.ValueOf(&st.History).Elem(), reflect.ValueOf(&h).Elem()
	for i := range memory.NumField() {
		if a, b := memory.Field(i), replay.Field(i); !reflect.DeepEqual(valueOf(a), valueOf(b)) {
			errs = append(errs, fmt.Errorf("%s is %+v in memory, and %+v in the journal", memory.Type().Field(i).Name, valueOf(a), valueOf(b)))
		}
	}
	return errors.Join(errs...)
}

// valueOf returns a field's value, also of one that other packages cannot read.
func valueOf(v reflect.Value) any {
	return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem().Interface()
}
