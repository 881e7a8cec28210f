package profile

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"bulkload/internal/formats/expectation"
)

// Limits of the proposed expectations.
const (
	manyRecords = 1000 // with fewer records, expectations only warn
	timesListed = 50   // values are listed if they occur at least this often on average
	codeLength  = 6    // numbers of equal length with at least this many digits are taken for codes
	keyShare    = 0.97 // values are expected to be unique if at least this share of them is different
	newestDays  = 7    // the newest date is expected to stay recent if it is less than this many days old
	nullsMargin = 2    // the allowed share of NULLs is this multiple of the share found
	minPercent  = 1    // and at least this percentage, if there are any NULLs
)

// Expect proposes expectations, with margins around the values found. They are guesses: uniqueness has yet to be counted, and
// input that was not profiled may differ. Expectations that rest on few records or a part of the input, and those of values that may
// change, only warn. Dates are compared with now.
func (p *Profile) Expect(now time.Time) []expectation.Asked {
	var list []expectation.Asked
	severity := expectation.Fail
	if p.Records < manyRecords || !p.Whole() {
		severity = expectation.Warn
	}
	if p.Records > 0 && p.Whole() {
		least, most := p.Records/2, 2*p.Records
		list = append(list, expectation.Asked{Severity: severity, Rows: &expectation.AskedRows{Min: &least, Max: &most}})
	}
	for i := range p.Columns {
		list = append(list, p.expect(&p.Columns[i], severity, now)...)
	}
	for i := range list {
		if list[i].Severity == expectation.Fail {
			list[i].Severity = "" // the default
		}
	}
	return list
}

// expect returns the expectations of a column: those about the form of its values, and those about the values themselves. The latter only warn,
// because values may change.
func (p *Profile) expect(c *Column, severity string, now time.Time) (list []expectation.Asked) {
	form := expectation.Asked{Column: c.Name, Severity: severity}
	values := expectation.Asked{Column: c.Name, Severity: expectation.Warn}
	switch {
	case c.Nulls == 0:
		form.Nulls = "0"
	case c.Values+c.Empty > 0:
		percent := math.Ceil(max(100*p.Share(c.Nulls)*nullsMargin, minPercent))
		if percent < 100 {
			values.Nulls = strconv.FormatFloat(percent, 'f', 0, 64) + "%"
		}
	}
	if c.Empty == 0 && c.Values > 1 {
		form.Unique = c.Kind != Date && (c.Kind != Number || c.Whole) && float64(c.Distinct) >= keyShare*float64(c.Values)
		c.expectValues(&form, &values, now)
	}
	for _, a := range []expectation.Asked{form, values} {
		if a.Expects() {
			list = append(list, a)
		}
	}
	return list
}

// expectValues adds the expectations of the values of a column without empty values.
func (c *Column) expectValues(form, values *expectation.Asked, now time.Time) {
	code := c.Digits && c.Shortest == c.Longest && c.Longest >= codeLength
	if code {
		form.Matches = fmt.Sprintf("[0-9]{%d}", c.Longest)
	}
	listed := c.listed()
	switch {
	case c.Hidden:
	case listed != nil:
		values.Values = listed
	case c.Kind == Number && !code && !form.Unique:
		values.Min, values.Max = c.bounds()
	case c.Kind == Date:
		values.Min = expectation.Word(yearBefore(c.Min))
		if at, err := time.Parse("2006-01-02", strings.ReplaceAll(c.Max[:10], "/", "-")); err == nil {
			if age := now.Sub(at); age >= 0 && age < newestDays*24*time.Hour {
				days := 2*int(age/(24*time.Hour)) + 2
				values.NewestWithin, values.Layout = fmt.Sprintf("%dd", days), c.Layout
			}
		}
	}
}

// listed returns all values of a column that has few different, frequent values; nil for others.
func (c *Column) listed() (words []expectation.Word) {
	if c.Estimated || c.Distinct > maxFrequent || c.Values < timesListed*c.Distinct || c.Kind == Date {
		return nil
	}
	for _, f := range c.Frequent {
		if f.Cut || !utf8.ValidString(f.Value) || strings.ContainsRune(f.Value, utf8.RuneError) {
			return nil // the full value is not known
		}
		words = append(words, expectation.Word(f.Value))
	}
	slices.Sort(words)
	return words
}

// plainNumber matches numbers with few enough digits to calculate with.
var plainNumber = regexp.MustCompile(`^[+-]?[0-9]{0,30}\.?[0-9]{0,30}$`)

// bounds returns bounds of two digits, with a margin of half the range on either side. A bound does not change its sign. It returns empty
// bounds if a number is not a [plainNumber].
func (c *Column) bounds() (low, high expectation.Word) {
	if !plainNumber.MatchString(c.Min) || !plainNumber.MatchString(c.Max) {
		return "", ""
	}
	least, ok := new(big.Rat).SetString(c.Min)
	greatest, ok2 := new(big.Rat).SetString(c.Max)
	if !ok || !ok2 {
		return "", ""
	}
	margin := new(big.Rat).Sub(greatest, least)
	margin.Quo(margin, big.NewRat(2, 1))
	from, to := new(big.Rat).Sub(least, margin), new(big.Rat).Add(greatest, margin)
	if least.Sign() >= 0 && from.Sign() < 0 {
		from.SetInt64(0)
	}
	if greatest.Sign() <= 0 && to.Sign() > 0 {
		to.SetInt64(0)
	}
	return expectation.Word(roundDown(from)), expectation.Word(roundUp(to))
}

// roundDown returns a number of two digits that is not above x.
func roundDown(x *big.Rat) string {
	up := roundUp(new(big.Rat).Neg(x))
	switch text, negative := strings.CutPrefix(up, "-"); {
	case negative, up == "0":
		return text
	default:
		return "-" + up
	}
}

// roundUp returns a number of two digits that is not below x.
func roundUp(x *big.Rat) string {
	if x.Sign() == 0 {
		return "0"
	}
	f, _ := x.Float64()
	unit, _ := new(big.Rat).SetString(fmt.Sprintf("1e%d", int(math.Floor(math.Log10(math.Abs(f))))-1)) // a power of 10
	n := new(big.Rat).Quo(x, unit)
	whole := new(big.Int).Quo(n.Num(), n.Denom()) // towards 0
	if x.Sign() > 0 && !n.IsInt() {
		whole.Add(whole, big.NewInt(1))
	}
	rounded := new(big.Rat).Mul(new(big.Rat).SetInt(whole), unit)
	text := rounded.FloatString(40)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// yearBefore returns the first day of the year before the year of a date, in the same form.
func yearBefore(date string) string {
	year, err := strconv.Atoi(date[:4])
	if err != nil || year == 0 {
		return ""
	}
	return fmt.Sprintf("%04d%c01%c01", year-1, date[4], date[4])
}
