package spec

import (
	"cmp"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// A DeleteLimit is the maximum number of a table's rows that may be deleted, or their
// share. The zero value is 5%.
type DeleteLimit struct {
	text    string
	rows    int64
	percent float64
}

// ParseDeleteLimit parses a number of rows, such as 1000, or a percentage of the rows
// that the table has before the job, such as 2.5%. An empty text is the default.
func ParseDeleteLimit(text string) (_ DeleteLimit, err error) {
	if text == "" {
		return DeleteLimit{}, nil
	}
	l := DeleteLimit{text: text, rows: -1}
	var right bool
	if share, is := strings.CutSuffix(text, "%"); is {
		l.percent, err = strconv.ParseFloat(share, 64)
		right = l.percent >= 0 && l.percent <= 100
	} else {
		l.rows, err = strconv.ParseInt(text, 10, 64)
		right = l.rows >= 0
	}
	if err != nil || !right {
		return DeleteLimit{}, fmt.Errorf("%q is not a number of rows and no share from 0%% to 100%%: give one such as 1000 or 2.5%%", text)
	}
	return l, nil
}

// String returns the limit as it was written.
func (l DeleteLimit) String() string {
	return cmp.Or(l.text, "5%")
}

// Allows reports whether the given number of a table's rows may be deleted.
func (l DeleteLimit) Allows(deleted, rows int64) bool {
	if l.text != "" && l.rows >= 0 {
		return deleted <= l.rows
	}
	most, ok := new(big.Rat).SetString(strings.TrimSuffix(l.String(), "%")) // exact: 29% of 100 rows are 29
	if !ok {
		most = new(big.Rat).SetFloat64(l.percent)
	}
	most.Mul(most, big.NewRat(rows, 100))
	return new(big.Rat).SetInt64(deleted).Cmp(most) <= 0
}

// All reports whether every row may be deleted.
func (l DeleteLimit) All() bool { return l.text != "" && l.rows < 0 && l.percent == 100 }
