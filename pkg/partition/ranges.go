package partition

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"bulkload/pkg/keygen/rowkey"
)

// Ranges holds the regions of a table: region i holds the keys from split point
// i−1 (unbounded for region 0) up to, but not including, split point i (unbounded
// for the last region). Ranges are immutable and safe for concurrent use.
type Ranges struct {
	splits [][]byte
	// first[b] and first[b+1] delimit the split points that start with byte b.
	first [257]int
}

// New returns the regions with the given split points, which it copies. The
// split points must rise strictly and not be empty. Without split points there
// is one region. The error names the two points that do not rise.
func New(splits [][]byte) (*Ranges, error) {
	r := &Ranges{splits: make([][]byte, len(splits))}
	for i, s := range splits {
		if len(s) == 0 {
			return nil, fmt.Errorf("split point %d is empty", i+1)
		}
		if i > 0 && bytes.Compare(splits[i-1], s) >= 0 {
			return nil, fmt.Errorf("split point %s does not follow %s: split points rise and are distinct", rowkey.String(s), rowkey.String(splits[i-1]))
		}
		r.splits[i] = bytes.Clone(s)
	}
	i := 0
	for b := range 256 {
		for i < len(r.splits) && int(r.splits[i][0]) < b {
			i++
		}
		r.first[b] = i
	}
	r.first[256] = len(r.splits)
	return r, nil
}

// Len returns the number of regions, at least 1.
func (r *Ranges) Len() int { return len(r.splits) + 1 }

// Splits returns the split points. The caller must not change them.
func (r *Ranges) Splits() [][]byte { return r.splits }

// Find returns the region of a key, from 0 to Len−1. The empty key belongs to region 0.
func (r *Ranges) Find(key []byte) int {
	if len(key) == 0 {
		return 0
	}
	lo, hi := r.first[key[0]], r.first[int(key[0])+1]
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if bytes.Compare(r.splits[mid], key) <= 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Start returns the first key of a region, nil for the first region. The caller
// must not change it. Start, End and Shared panic if the region does not exist.
func (r *Ranges) Start(region int) []byte {
	if region == 0 {
		return nil
	}
	return r.splits[region-1]
}

// End returns the first key after a region, nil for the last region. The caller
// must not change it.
func (r *Ranges) End(region int) []byte {
	if region == len(r.splits) {
		return nil
	}
	return r.splits[region]
}

// Shared returns the number of leading bytes that all keys of a region share
// according to the region's bounds.
func (r *Ranges) Shared(region int) int {
	start, end := r.Start(region), r.End(region)
	if start == nil || end == nil {
		return 0
	}
	n := 0
	for n < len(start) && n < len(end) && start[n] == end[n] {
		n++
	}
	if n < len(start) && n == len(end)-1 && start[n]+1 == end[n] {
		n++
	}
	return n
}

// ParseSplits parses a comma-separated list of split points in the form of
// [rowkey.Parse]; a comma in a key is \x2C. An empty list has no points. The
// result has the properties described at [ParsePoints].
func ParseSplits(list string) ([][]byte, error) {
	if list == "" {
		return nil, nil
	}
	return ParsePoints(strings.Split(list, ","))
}

// ParsePoints parses split points in the form of [rowkey.Parse]. It refuses
// characters beyond ASCII, because HBase encodes them in other bytes than
// UTF-8. The points rise and none is empty; the caller owns them.
func ParsePoints(texts []string) ([][]byte, error) {
	points := make([][]byte, len(texts))
	for i, text := range texts {
		var err error
		if points[i], err = rowkey.Parse(text); err != nil {
			return nil, fmt.Errorf("split point %q: %w", text, err)
		}
		if at := strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }); at >= 0 {
			return nil, fmt.Errorf("split point %q: HBase does not read the character at position %d as UTF-8: write its bytes, %s", text, at+1, rowkey.String(points[i]))
		}
	}
	if _, err := New(points); err != nil {
		return nil, err
	}
	return points, nil
}

// SaltSplits returns the split points of a table with one region for each value
// of a decimal salt: 1 to n−1, padded with zeros to the width of n−1.
func SaltSplits(n int) [][]byte {
	width := len(fmt.Sprint(n - 1))
	var splits [][]byte
	for i := 1; i < n; i++ {
		splits = append(splits, fmt.Appendf(nil, "%0*d", width, i))
	}
	return splits
}

// ByteSaltSplits returns the split points of a table with one region for each of n byte salts: bytes 1 to n−1. n is at most 256.
func ByteSaltSplits(n int) [][]byte {
	var splits [][]byte
	for i := 1; i < n; i++ {
		splits = append(splits, []byte{byte(i)})
	}
	return splits
}

// JavaSaltValues returns the distinct values of Java's (byte) (hash % n) as unsigned bytes in order: 0 to n−1, and the bytes of
// −(n−1) to −1. n is at most 256; above 128 some of both are equal.
func JavaSaltValues(n int) []byte {
	var values []byte
	for r := range n {
		values = append(values, byte(r), byte(-r))
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// JavaSaltSplits returns the split points of a table with one region for each of [JavaSaltValues]: 2n−1 regions up to an n of 128.
func JavaSaltSplits(n int) [][]byte {
	var splits [][]byte
	for i, b := range JavaSaltValues(n) {
		if i > 0 {
			splits = append(splits, []byte{b})
		}
	}
	return splits
}

// SplitsOfSalt returns the split points of a table with one region for each value of a salt, given the salt function's name in key specs: salt,
// bytesalt or javasalt. It returns false for other functions, for n below 1, and for more salts than [ParsePlan] takes: too many for a region each.
func SplitsOfSalt(function string, n int) ([][]byte, bool) {
	if function != "salt" && function != "bytesalt" && function != "javasalt" {
		return nil, false
	}
	for _, a := range algorithms() {
		if a.name == function && n >= 1 && n <= a.most {
			return a.make(n), true
		}
	}
	return nil, false
}

// SaltModulus returns the modulus of the decimal salt that a table was split
// for: the greatest n whose salt splits are all among the table's split points,
// provided that every other split point only cuts a salt's range further. It
// returns 0 if there is none, and 1 for a table with a single region.
func SaltModulus(splits [][]byte) int {
	if len(splits) == 0 {
		return 1
	}
	for width := len(strconv.Itoa(len(splits))); width > 0; width-- { // a greater modulus has as many digits or more
		if n := modulusOf(splits, width); n > 0 {
			return n
		}
	}
	return 0
}

// ModulusOfSalt is [SaltModulus] for any of the salts of [SplitsOfSalt]. Above 128, the split points of javasalt are those of each n: it returns 0.
func ModulusOfSalt(function string, splits [][]byte) int {
	if function == "salt" || len(splits) == 0 {
		return SaltModulus(splits)
	}
	salts := []byte{0}
	for _, s := range splits {
		if len(s) == 1 && s[0] > 0 {
			salts = append(salts, s[0])
		}
	}
	n := len(salts)
	if function == "javasalt" {
		n = len(salts)/2 + 1
	}
	want, ok := SplitsOfSalt(function, n)
	if !ok || n == 1 || len(salts) > 255 && function == "javasalt" || len(want) != len(salts)-1 {
		return 0
	}
	for i, s := range want {
		if s[0] != salts[i+1] {
			return 0
		}
	}
	for _, s := range splits {
		if bytes.IndexByte(salts, s[0]) < 0 {
			return 0
		}
	}
	return n
}

// modulusOf returns the modulus whose salts have width digits, or 0. As its salt splits are all there, their number determines it. Salt 0 may be a
// split point too: it needs none.
func modulusOf(splits [][]byte, width int) int {
	found, largest := 0, 0
	for _, s := range splits {
		if len(s) < width {
			return 0
		}
		salt, err := strconv.Atoi(string(s[:width]))
		if err != nil || s[0] == '+' || s[0] == '-' {
			return 0
		}
		if largest = max(largest, salt); len(s) == width && salt > 0 {
			found++
		}
	}
	if found == 0 || largest > found || len(strconv.Itoa(found)) != width {
		return 0
	}
	return found + 1
}
