package replace

import (
	"errors"
	"fmt"

	"bulkload/internal/model/spec"
	"bulkload/pkg/setting"
)

// A LimitError reports that more rows would be deleted than the limit allows.
type LimitError struct {
	Deleted, Rows int64
	Limit         spec.DeleteLimit
}

// Error names the counts.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%d of the table's %d rows are not in the export and would be deleted; the limit is %s", e.Deleted, e.Rows, e.Limit)
}

// Refuse returns why the table would not hold exactly the export, or would lose
// more rows than the limit allows: only a [*LimitError], or an error that names
// cells which markers do not hide. Nil: the table may be replaced.
func (s *Survey) Refuse(stamp int64, l spec.DeleteLimit) error {
	var errs []error
	if s.Newer > 0 {
		errs = append(errs, fmt.Errorf("%s newer than the job's timestamp %d and would stay visible", setting.Count(s.Newer, "visible cell is"), stamp))
	}
	if s.Foreign > 0 {
		errs = append(errs, fmt.Errorf("%s the job's timestamp %d without being in the export: take a later timestamp", setting.Count(s.Foreign, "visible cell has"), stamp))
	}
	if !l.Allows(s.Deleted, s.Rows) {
		errs = append(errs, &LimitError{s.Deleted, s.Rows, l})
	}
	return errors.Join(errs...)
}
