package celltype

import (
	"fmt"
	"strconv"
	"strings"
)

// maxPrecision is the largest P of a decimal(P,S), as in common Parquet readers and in Phoenix.
const maxPrecision = 38

// base returns the type's name without the part in parentheses.
func (c Type) base() string {
	name, _, _ := strings.Cut(c.Type, "(")
	return name
}

// Decimal returns P and S of a decimal(P,S): the number of digits, and how many of them follow the point. fixed is false for any other type, including
// decimal, whose values each have their own scale.
func (c Type) Decimal() (precision, scale int, fixed bool, err error) {
	inner, ok := strings.CutPrefix(c.Type, "decimal(")
	if !ok {
		if strings.Contains(c.Type, "(") {
			err = fmt.Errorf("type %q is invalid: want one of %s", c.Type, Names)
		}
		return 0, 0, false, err
	}
	p, s, _ := strings.Cut(strings.TrimSuffix(inner, ")"), ",")
	precision, errP := strconv.Atoi(p)
	scale, errS := strconv.Atoi(strings.TrimSpace(s))
	if errP != nil || errS != nil || !strings.HasSuffix(inner, ")") || precision < 1 || precision > maxPrecision || scale < 0 || scale > precision {
		return 0, 0, false, fmt.Errorf("type %q is not a decimal(P,S) of 1 to %d digits, S of them after the point: write decimal(18,2)", c.Type, maxPrecision)
	}
	return precision, scale, true, nil
}

// fixedDecimal returns a converter that gives every value the same scale: it appends zeros after the point, and never removes digits.
func fixedDecimal(precision, scale int, encode Converter) Converter {
	return func(dst, text []byte) ([]byte, error) {
		var buf [MaxDigits]byte
		d, why := parseDecimal(text, &buf)
		zeros := int64(scale) - d.scale
		switch {
		case why != "":
		case zeros < 0:
			why = fmt.Sprintf("has more than %d digits after the point", scale)
		case len(d.digits) > 0 && int64(len(d.digits))+zeros > int64(precision):
			why = fmt.Sprintf("has more than %d digits with %d after the point", precision, scale)
		}
		if why != "" {
			return dst, ValueError(text, fmt.Sprintf("%s (type decimal(%d,%d))", why, precision, scale))
		}
		if len(d.digits) == 0 {
			zeros = 0
		}
		var same [maxPrecision + 8]byte
		b := same[:0]
		if d.negative {
			b = append(b, '-')
		}
		b = append(b, '0')
		for _, digit := range d.digits {
			b = append(b, '0'+digit)
		}
		for range zeros {
			b = append(b, '0')
		}
		return encode(dst, strconv.AppendInt(append(b, 'e'), int64(-scale), 10))
	}
}
