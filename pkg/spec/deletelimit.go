package spec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A DeleteLimit bounds how many rows of a table may be deleted. The zero value is 5%.
type DeleteLimit struct {
	text    string
	rows    int64
	percent float64
}

// ParseDeleteLimit reads a number of rows, such as 1000, or a share of the table's rows
// before, such as 2.5%. Empty text is the default.
func ParseDeleteLimit(text string) (DeleteLimit, error) {
	if text == "" {
		return DeleteLimit{}, nil
	}
	l := DeleteLimit{text: text, rows: -1}
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
		return DeleteLimit{}, fmt.Errorf("%q is no number of rows and no percentage, such as 1000 or 5%%: %w", text, err)
	}
	return l, nil
}

// String is the text that gives the limit.
func (l DeleteLimit) String() string {
	if l.text == "" {
		return "5%"
	}
	return l.text
}

// Allows says whether so many of a table's rows may be deleted.
func (l DeleteLimit) Allows(deleted, rows int64) bool {
	switch {
	case l.text == "":
		l.percent = 5
	case l.rows >= 0:
		return deleted <= l.rows
	}
	return float64(deleted)*100 <= l.percent*float64(rows)
}
