package partition

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// MaxRegions bounds the regions that an algorithm makes split points for.
const MaxRegions = 100_000

// An Algorithm makes the split points of n regions, for keys that begin in one way. It gives n−1 of them.
type Algorithm struct {
	Name string
	Keys string // which keys it is for
	make func(n int) [][]byte
}

// Algorithms are those that split points can be made with, by name.
//
// hex, decimal and uniform give the split points of RegionSplitter's HexStringSplit, DecimalStringSplit and UniformSplit
// of HBase 2.6; md5 those of its MD5StringSplit, which was in HBase up to 0.94.
func Algorithms() []Algorithm {
	return []Algorithm{
		{"hex", "lower-case hexadecimal digits, evenly spread, such as md5hex(…)", HexSplits},
		{"decimal", "decimal digits, evenly spread", DecimalSplits},
		{"uniform", "bytes, evenly spread, such as md5(…)", UniformSplits},
		{"md5", "the hexadecimal digits of shift(md5), 0000000 to 7ffffff", MD5Splits},
		{"salt", "a decimal salt: one region for each", SaltSplits},
	}
}

// HexSplits are the split points of HexStringSplit: eight hexadecimal digits from 00000000 to FFFFFFFF. The last region
// gets what is left over. Fewer than two regions have none.
func HexSplits(n int) [][]byte {
	return stringSplits(n, 1<<32, func(v uint64) []byte { return fmt.Appendf(nil, "%08x", v) })
}

// DecimalSplits are the split points of DecimalStringSplit: eight decimal digits from 00000000 to 99999999.
func DecimalSplits(n int) [][]byte {
	return stringSplits(n, 100_000_000, func(v uint64) []byte { return fmt.Appendf(nil, "%08d", v) })
}

// MD5Splits are the split points of MD5StringSplit: eight hexadecimal digits from 00000000 to 7fffffff. It divides the
// last value, not the number of values.
func MD5Splits(n int) [][]byte {
	return stringSplits(n, 0x7fffffff, func(v uint64) []byte { return fmt.Appendf(nil, "%08x", v) })
}

// stringSplits are n−1 steps of size/n (RegionSplitter.NumberStringSplit.split).
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

// UniformSplits are the split points of UniformSplit: eight bytes from all 0x00 to all 0xff.
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

// ParsePlan reads split points in any form: ALGORITHM:REGIONS, such as hex:16 or salt:50, or a list as [ParseSplits] reads
// it. A list whose only point looks like the first form is written with an escape, hex\x3A16.
func ParsePlan(text string) ([][]byte, error) {
	name, count, ok := strings.Cut(text, ":")
	if !ok || strings.ContainsAny(text, `,\`) {
		return ParseSplits(text)
	}
	all := Algorithms()
	i := slices.IndexFunc(all, func(a Algorithm) bool { return a.Name == name })
	if i < 0 {
		if _, err := strconv.Atoi(count); err != nil {
			return ParseSplits(text)
		}
		var names []string
		for _, a := range all {
			names = append(names, a.Name)
		}
		return nil, fmt.Errorf("%q is none of the algorithms %s (a split point with a colon is written with \\x3A)", name, strings.Join(names, ", "))
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > MaxRegions {
		return nil, fmt.Errorf("%s: %q is no number of regions from 1 to %d", name, count, MaxRegions)
	}
	return all[i].make(n), nil
}
