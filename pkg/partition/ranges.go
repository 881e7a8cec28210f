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

// Ranges are the regions of a table: region i holds the keys from split
// point i−1 (none for region 0) up to split point i (none for the last).
// Ranges are immutable and safe for concurrent use.
type Ranges struct {
	splits [][]byte
	// first[b] and first[b+1] bound the split points that start with byte b.
	first [257]int
}

// New checks that the split points rise strictly and are not empty. They are
// copied. No split points make one region. An error names the two that do not
// rise.
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

// Find returns the region that a key belongs to, from 0 to Len−1; the empty key
// belongs to region 0.
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

// Start returns the first key of a region, nil for the first region. The caller must
// not change it. A region that does not exist is a panic, here and below.
func (r *Ranges) Start(region int) []byte {
	if region == 0 {
		return nil
	}
	return r.splits[region-1]
}

// End returns the first key after a region, nil for the last region. The caller must
// not change it.
func (r *Ranges) End(region int) []byte {
	if region == len(r.splits) {
		return nil
	}
	return r.splits[region]
}

// Shared counts the leading bytes that every key of a region has in common,
// as far as the region's bounds say.
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

// ParseSplits reads a list of split points with commas between them, each as
// [rowkey.Parse] reads it; a comma in a key is \x2C. An empty list has none. What
// it gives is as [ParsePoints] gives it.
func ParseSplits(list string) ([][]byte, error) {
	if list == "" {
		return nil, nil
	}
	return ParsePoints(strings.Split(list, ","))
}

// ParsePoints reads split points, each as [rowkey.Parse] reads it. HBase gives
// characters beyond ASCII other bytes than UTF-8 does, so they are refused. The
// points rise and none is empty; they are the caller's.
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

// SaltSplits returns the split points of a table with one region for each value of
// a decimal salt: 1 to n−1, padded with zeros to the width of n−1.
func SaltSplits(n int) [][]byte {
	width := len(fmt.Sprint(n - 1))
	var splits [][]byte
	for i := 1; i < n; i++ {
		splits = append(splits, fmt.Appendf(nil, "%0*d", width, i))
	}
	return splits
}

// ByteSaltSplits returns the split points of a table with one region for each of n byte salts, bytes 1 to n−1. n is at most 256.
func ByteSaltSplits(n int) [][]byte {
	var splits [][]byte
	for i := 1; i < n; i++ {
		splits = append(splits, []byte{byte(i)})
	}
	return splits
}

// JavaSaltValues returns the bytes (byte) (hash % n) of Java, in order: 0 to n−1, and those of −(n−1) to −1. n is at most 256, where
// some of both are the same.
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
	for _, b := range JavaSaltValues(n)[1:] {
		splits = append(splits, []byte{b})
	}
	return splits
}

// SplitsOfSalt returns the split points of a table with one region for each value of a salt, by the name of its function in key specs: salt, bytesalt or
// javasalt. It is false for any other.
func SplitsOfSalt(function string, n int) ([][]byte, bool) {
	switch function {
	case "salt":
		return SaltSplits(n), true
	case "bytesalt":
		return ByteSaltSplits(n), true
	case "javasalt":
		return JavaSaltSplits(n), true
	}
	return nil, false
}

// SaltModulus finds the modulus of a decimal salt that a table was split
// for: the greatest n whose salt splits are all among the table's split
// points, when each other split point only cuts a salt's range further. It is
// 0 if there is none, and 1 for a table with a single region.
func SaltModulus(splits [][]byte) int {
	if len(splits) == 0 {
		return 1
	}
	for n := len(splits) + 1; n > 1; n-- {
		if saltedBy(splits, n) {
			return n
		}
	}
	return 0
}

// saltedBy reports whether the salt splits of n are all among the split points,
// and every split point begins with a salt.
func saltedBy(splits [][]byte, n int) bool {
	width := len(fmt.Sprint(n - 1))
	found := 0
	for _, s := range splits {
		if len(s) < width {
			return false
		}
		salt, err := strconv.Atoi(string(s[:width]))
		if err != nil || s[0] == '+' || s[0] == '-' || salt >= n {
			return false
		}
		if len(s) == width {
			found++
		}
	}
	return found == n-1
}
