package replace

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Limit bounds how many rows of a table may be deleted. The zero value is 5%.
type Limit struct {
	text    string
	rows    int64
	percent float64
}

// ParseLimit reads a number of rows, such as 1000, or a share of the table's rows
// before, such as 2.5%. Empty text is the default.
func ParseLimit(text string) (Limit, error) {
	if text == "" {
		return Limit{}, nil
	}
	l := Limit{text: text, rows: -1}
	var err error
	if share, is := strings.CutSuffix(text, "%"); is {
		l.percent, err = strconv.ParseFloat(share, 64)
		if err == nil && !(l.percent >= 0 && l.percent <= 100) {
			err = errors.New("a share is from 0% to 100%")
		}
	} else {
		l.rows, err = strconv.ParseInt(text, 10, 64)
		if err == nil && l.rows < 0 {
			err = errors.New("it is below 0")
		}
	}
	if err != nil {
		return Limit{}, fmt.Errorf("%q is no number of rows and no percentage, such as 1000 or 5%%: %w", text, err)
	}
	return l, nil
}

// String is the text that gives the limit.
func (l Limit) String() string {
	if l.text == "" {
		return "5%"
	}
	return l.text
}

// Allows says whether so many of a table's rows may be deleted.
func (l Limit) Allows(deleted, rows int64) bool {
	switch {
	case l.text == "":
		l.percent = 5
	case l.rows >= 0:
		return deleted <= l.rows
	}
	return float64(deleted)*100 <= l.percent*float64(rows)
}

// A LimitError says that more rows would be deleted than a limit allows.
type LimitError struct {
	Deleted, Rows int64
	Limit         Limit
}

// Error names the counts.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%d of the table's %d rows are not in the export and would be deleted, at most %s may be", e.Deleted, e.Rows, e.Limit)
}

// Refuse says why the table would not hold exactly the export, or lose more rows
// than the limit allows: a [*LimitError] alone, or one that names cells which
// markers do not hide. Nil: it may be replaced.
func (s *Survey) Refuse(stamp int64, l Limit) error {
	var errs []error
	if s.Newer > 0 {
		errs = append(errs, fmt.Errorf("%d cells newer than the job's timestamp %d are visible and would stay so", s.Newer, stamp))
	}
	if s.Foreign > 0 {
		errs = append(errs, fmt.Errorf("%d visible cells have the job's timestamp %d and are not in the export: take a later timestamp", s.Foreign, stamp))
	}
	if !l.Allows(s.Deleted, s.Rows) {
		errs = append(errs, &LimitError{s.Deleted, s.Rows, l})
	}
	return errors.Join(errs...)
}
