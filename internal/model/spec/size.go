package spec

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"bulkload/internal/formats/yamlfile"

	"github.com/goccy/go-yaml/ast"
)

// Size is a number of bytes, written like 512MiB, 64m, 1.5GiB or 1000. Units
// are powers of 1024: "MB", "M" and "MiB" are the same.
type Size int64

// ParseSize parses a size; it is never negative.
func ParseSize(s string) (Size, error) {
	digits := strings.TrimSpace(s)
	unit := strings.TrimLeft(digits, "0123456789.")
	number := digits[:len(digits)-len(unit)]
	shift, ok := map[string]int{"": 0, "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20,
		"g": 30, "gb": 30, "gib": 30, "t": 40, "tb": 40, "tib": 40}[strings.ToLower(strings.TrimSpace(unit))]
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || v*math.Pow(2, float64(shift)) > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is not a size; write 512MiB", s)
	}
	return Size(v * math.Pow(2, float64(shift))), nil
}

// String returns the size in the greatest unit that divides it.
func (s Size) String() string {
	for _, u := range []struct {
		name  string
		shift int
	}{{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}} {
		if s != 0 && int64(s)&(1<<u.shift-1) == 0 {
			return strconv.FormatInt(int64(s)>>u.shift, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// Set implements the interface of flag values.
func (s *Size) Set(text string) error {
	v, err := ParseSize(text)
	*s = v
	return err
}

// Type returns the flag's type for help texts.
func (s *Size) Type() string { return "size" }

// UnmarshalYAML parses a size of a job file.
func (s *Size) UnmarshalYAML(node ast.Node) error {
	text, ok := yamlfile.Text(node)
	if !ok {
		return yamlfile.BadNode(node, "it takes a size, such as 512MiB")
	}
	if err := s.Set(text); err != nil {
		return yamlfile.BadNode(node, err.Error())
	}
	return nil
}

// UnmarshalText parses a size of a flag or of JSON.
func (s *Size) UnmarshalText(text []byte) error { return s.Set(string(text)) }

// MarshalText formats a size for a report.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// DefaultMemory is the default memory budget of a job.
const DefaultMemory Size = 512 << 20

// Rounded returns a readable form of the size, with one decimal digit.
func (s Size) Rounded() string {
	for _, u := range []struct {
		name string
		size Size
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if s >= u.size {
			return fmt.Sprintf("%.1f %s", float64(s)/float64(u.size), u.name)
		}
	}
	return fmt.Sprintf("%d B", int64(s))
}
