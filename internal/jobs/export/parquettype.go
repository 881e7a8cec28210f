package export

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"slices"
	"strconv"

	"bulkload/pkg/keygen"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// parquetForm is the Parquet representation of a column's texts.
type parquetForm struct {
	kind    parquet.Type
	logical schema.LogicalType
	width   int                              // of fixed byte arrays; otherwise -1
	number  func(text []byte) (int64, error) // parses integers
}

// parquetFormOf returns the representation that package source reads back as the same texts. Dates and timestamps have Parquet's types if the job reads
// them in the layouts of that package.
func parquetFormOf(c *column) (parquetForm, error) {
	plain := func(kind parquet.Type, logical schema.LogicalType) (parquetForm, error) {
		return parquetForm{kind, logical, -1, parseNumber}, nil
	}
	if c.append == nil {
		if c.bytes {
			return plain(parquet.Types.ByteArray, nil)
		}
		return plain(parquet.Types.ByteArray, schema.StringLogicalType{})
	}
	switch precision, scale, fixed, err := c.typ.Decimal(); {
	case err != nil:
		return parquetForm{}, err
	case fixed:
		return decimalForm(precision, scale), nil
	}
	switch c.typ.Type {
	case "short":
		return plain(parquet.Types.Int32, schema.NewIntLogicalType(16, true))
	case "int":
		return plain(parquet.Types.Int32, schema.NewIntLogicalType(32, true))
	case "long":
		return plain(parquet.Types.Int64, schema.NewIntLogicalType(64, true))
	case "float":
		return plain(parquet.Types.Float, nil)
	case "double":
		return plain(parquet.Types.Double, nil)
	case "boolean":
		return plain(parquet.Types.Boolean, nil)
	case "date", "timestamp":
		switch layout := c.typ.Layout; {
		case layout == "unix", layout == "unixms":
			return plain(parquet.Types.Int64, schema.NewIntLogicalType(64, true))
		case layout == "" && c.typ.Type == "date", layout == dateLayout:
			return dateForm()
		case layout == "", layout == keygen.TimestampLayout, layout == secondLayout:
			// If the job reads timestamps in another zone than UTC, they are stored as local times, and the job parses their text in that zone.
			return timestampForm(slices.Contains([]string{"", "UTC"}, c.typ.Zone), c.typ.Type == "timestamp" && c.typ.Encoding == "phoenix")
		}
	}
	return plain(parquet.Types.ByteArray, schema.StringLogicalType{})
}

// Layouts that package source uses for Parquet's dates and, in addition to [keygen.TimestampLayout], for timestamps.
const (
	dateLayout   = "yyyy-MM-dd"
	secondLayout = "yyyy-MM-dd HH:mm:ss"
)

func parseNumber(text []byte) (int64, error) { return strconv.ParseInt(string(text), 10, 64) }

// dateForm stores days since 1970.
func dateForm() (parquetForm, error) {
	dates, err := keygen.NewDates(dateLayout, "")
	return parquetForm{parquet.Types.Int32, schema.DateLogicalType{}, -1, func(text []byte) (int64, error) {
		ms, _, err := dates.Parse(text)
		return ms / 86_400_000, err // the start of the day
	}}, err
}

// errNanos reports timestamps that do not fit in 64 bits of nanoseconds.
var errNanos = errors.New("the time is before 1677 or after 2262, outside of Parquet's nanoseconds: leave the column out, or write another format")

// timestampForm stores milliseconds since 1970, or nanoseconds.
func timestampForm(instant, nanos bool) (parquetForm, error) {
	unit := schema.TimeUnitMillis
	if nanos {
		unit = schema.TimeUnitNanos
	}
	dates, err := keygen.NewDates(keygen.TimestampLayout, "") // local time is stored as if it were UTC
	return parquetForm{parquet.Types.Int64, schema.NewTimestampLogicalType(instant, unit), -1, func(text []byte) (int64, error) {
		ms, ns, err := dates.Parse(text)
		switch {
		case err != nil || !nanos:
			return ms, err
		case ms < math.MinInt64/1_000_000+1 || ms > math.MaxInt64/1_000_000-1:
			return 0, errNanos
		}
		return ms*1_000_000 + int64(ns), nil
	}}, err
}

// decimalForm stores the digits of decimals in as few bytes as possible.
func decimalForm(precision, scale int) parquetForm {
	f := parquetForm{parquet.Types.Int32, schema.NewDecimalLogicalType(int32(precision), int32(scale)), -1, func(text []byte) (int64, error) {
		return parseNumber(digitsOf(text))
	}}
	switch {
	case precision > 18:
		f.kind = parquet.Types.FixedLenByteArray
		most := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil)
		f.width = most.BitLen()/8 + 1 // with a sign bit
	case precision > 9:
		f.kind = parquet.Types.Int64
	}
	return f
}

// digitsOf returns a plain decimal without its point.
func digitsOf(text []byte) []byte {
	whole, fraction, _ := bytes.Cut(text, []byte("."))
	return append(slices.Clip(whole), fraction...)
}

// appendWide appends a decimal's digits as a big-endian integer of width bytes.
func appendWide(dst, text []byte, width int) ([]byte, error) {
	n, ok := new(big.Int).SetString(string(digitsOf(text)), 10)
	if !ok {
		return dst, errType
	}
	at := len(dst)
	dst = append(dst, make([]byte, width)...)
	if n.Sign() < 0 {
		n.Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*width)))
	}
	n.FillBytes(dst[at:])
	return dst, nil
}
