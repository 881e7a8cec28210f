package partition

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"bulkload/pkg/keygen/rowkey"
)

// MaxRegions is the maximum number of regions that [ParsePlan] computes split points for.
const MaxRegions = 100_000

// An algorithm computes the n−1 split points of n regions.
type algorithm struct {
	name string
	make func(n int) [][]byte
	most int // maximum of n
}

// algorithms returns the algorithms of [ParsePlan].
func algorithms() []algorithm {
	return []algorithm{
		{"hex", HexSplits, MaxRegions},
		{"decimal", DecimalSplits, MaxRegions},
		{"uniform", UniformSplits, MaxRegions},
		{"md5", MD5Splits, MaxRegions},
		{"salt", SaltSplits, MaxRegions},
		{"bytesalt", ByteSaltSplits, 256},
		{"javasalt", JavaSaltSplits, 256},
	}
}

// HexSplits returns the split points of RegionSplitter's HexStringSplit (HBase 2.6) for n regions: eight lower-case
// hexadecimal digits from 00000000 to ffffffff, for keys that begin with evenly distributed hexadecimal digits, such
// as those of md5hex(…). The last region gets the remainder. Fewer than two regions have no split points.
func HexSplits(n int) [][]byte {
	return stringSplits(n, 1<<32, func(v uint64) []byte { return fmt.Appendf(nil, "%08x", v) })
}

// DecimalSplits returns the split points of RegionSplitter's DecimalStringSplit (HBase 2.6) for n regions: eight
// decimal digits from 00000000 to 99999999, for keys that begin with evenly distributed digits. Fewer than two
// regions have no split points.
func DecimalSplits(n int) [][]byte {
	return stringSplits(n, 100_000_000, func(v uint64) []byte { return fmt.Appendf(nil, "%08d", v) })
}

// MD5Splits returns the split points of RegionSplitter's MD5StringSplit, which HBase had up to 0.94, for n regions:
// eight hexadecimal digits from 00000000 to 7fffffff, for keys that begin with the digits of shift(md5). It divides the
// last value, not the number of values. Fewer than two regions have no split points.
func MD5Splits(n int) [][]byte {
	return stringSplits(n, 0x7fffffff, func(v uint64) []byte { return fmt.Appendf(nil, "%08x", v) })
}

// stringSplits returns n−1 steps of size/n (RegionSplitter.NumberStringSplit.split).
func stringSplits(n int, size uint64, text func(v uint64) []byte) [][]byte {
	if n < 2 {
		return nil
	}
	splits := make([][]byte, n-1)
	for i := range splits {
		splits[i] = text(size / uint64(n) * uint64(i+1))
	}
	return splits
}

// UniformSplits returns the split points of RegionSplitter's UniformSplit (HBase 2.6) for n regions: eight bytes from all 0x00 to
// all 0xff, for keys that begin with evenly distributed bytes, such as those of md5(…). Fewer than two regions have no split points.
func UniformSplits(n int) [][]byte {
	if n < 2 {
		return nil
	}
	step, _ := bits.Div64(1, 0, uint64(n)) // 2^64/n: both ends are counted (Bytes.iterateOnSplits)
	splits := make([][]byte, n-1)
	for i := range splits {
		splits[i] = binary.BigEndian.AppendUint64(nil, step*uint64(i+1))
	}
	return splits
}

// ParsePlan parses split points in either form: ALGORITHM:REGIONS, such as hex:16 or salt:50, or a list in the form of [ParseSplits]. The
// algorithms are hex ([HexSplits]), decimal ([DecimalSplits]), uniform ([UniformSplits]), md5 ([MD5Splits]) and salt ([SaltSplits]), for 1 to
// [MaxRegions] regions, and bytesalt ([ByteSaltSplits]) and javasalt ([JavaSaltSplits]), for 1 to 256 salts. The points rise and none is empty; the
// caller owns them. A list with a single point that looks like the first form needs an escape: hex\x3A16.
func ParsePlan(text string) ([][]byte, error) {
	name, count, ok := strings.Cut(text, ":")
	if !ok || strings.ContainsAny(text, `,\`) {
		return ParseSplits(text)
	}
	all := algorithms()
	i := slices.IndexFunc(all, func(a algorithm) bool { return a.name == name })
	if i < 0 {
		if _, err := strconv.Atoi(count); err != nil {
			return ParseSplits(text)
		}
		var names []string
		for _, a := range all {
			names = append(names, a.name)
		}
		return nil, fmt.Errorf("%q is not an algorithm: want one of %s (a split point with a colon is written with \\x3A)", name, strings.Join(names, ", "))
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > all[i].most {
		return nil, fmt.Errorf("%s: %q is not a number of regions from 1 to %d", name, count, all[i].most)
	}
	return all[i].make(n), nil
}

// List returns split points in one line that [ParsePlan] parses. It escapes bytes that have a meaning in a list, an algorithm or a file name.
func List[K ~[]byte](points []K) string {
	texts := make([]string, len(points))
	for i, p := range points {
		texts[i] = strings.NewReplacer(",", `\x2C`, ":", `\x3A`, "@", `\x40`).Replace(rowkey.String(p))
	}
	return strings.Join(texts, ",")
}
