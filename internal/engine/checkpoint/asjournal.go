package checkpoint

import (
	"errors"
	"fmt"
	"reflect"
)

// asJournal returns the differences between a process's history and the replay of its journal. Tests call it after every record: a difference is an
// error that lasts only until the process is killed.
func (st *Job) asJournal() error {
	if st.Log == nil {
		return nil
	}
	h, err := ReadHistory(st.Dir)
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

// valueOf returns a field's value, including fields that other packages cannot read.
func valueOf(v reflect.Value) any {
	return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem().Interface()
}
