package listing

import (
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"bulkload/internal/formats/valuetext"
	"bulkload/pkg/setting"
)

// Words of [Options.Partitions].
const (
	PartitionsAuto = "auto"
	PartitionsOff  = "off"
)

// nullPartition is how Hive, Spark and DuckDB name the directory of rows without a value.
const nullPartition = "__HIVE_DEFAULT_PARTITION__"

// A Partition is a column of a file from its path.
type Partition struct {
	Name, Value string
	Null        bool
}

// ParsePartition reads the name of a directory, such as dt=2026-11-01. Name and value are unescaped, once.
func ParsePartition(element string) (c Partition, ok bool) {
	name, value, ok := strings.Cut(element, "=")
	if !ok || name == "" || name[0] == '.' {
		return Partition{}, false
	}
	c = Partition{Name: unescapeElement(name), Null: value == nullPartition}
	if !c.Null {
		c.Value = unescapeElement(value)
	}
	return c, true
}

var escapedByte = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// unescapeElement decodes every %XX; a % without two hexadecimal digits is literal.
func unescapeElement(s string) string {
	return escapedByte.ReplaceAllStringFunc(s, func(escaped string) string {
		b, _ := hex.DecodeString(escaped[1:]) // two digits: valid
		return string(b)
	})
}

// partitionsOff reports whether directory names are not columns. Records of a reject file were in other files.
func (o *Options) partitionsOff() bool {
	return len(o.Partitions) == 1 && o.Partitions[0] == PartitionsOff || o.Described
}

// partitionNames returns the partition names that were given, nil if all are taken.
func (o *Options) partitionNames() []string {
	if len(o.Partitions) == 1 && (o.Partitions[0] == PartitionsAuto || o.Partitions[0] == PartitionsOff) {
		return nil
	}
	return o.Partitions
}

// Check reports contradictions in the options of partitions.
func (o *Options) Check() error {
	if err := valuetext.CheckNames(o.partitionNames()); err != nil {
		return fmt.Errorf("partitions: %w", err)
	}
	where, err := ParseWhere(o.Where)
	if err == nil && len(where) > 0 && o.partitionsOff() && !o.Described {
		err = errors.New("where chooses partitions, which are turned off or which the format lacks")
	}
	return err
}

// pathConstants returns the columns from the directories in a file's name.
func pathConstants(name string, o *Options) ([]Partition, error) {
	if o.partitionsOff() {
		return nil, nil
	}
	var list []Partition
	for element := range strings.SplitSeq(path.Dir(name), "/") {
		if c, ok := ParsePartition(element); ok {
			list = append(list, c)
		}
	}
	if want := o.partitionNames(); want != nil {
		have := Names(list)
		if len(have) < len(want) || !slices.Equal(have[len(have)-len(want):], want) {
			return nil, setting.Errorf("its path has the partition columns %s, and %s are asked for", NameList(have), NameList(want))
		}
		list = list[len(have)-len(want):]
	}
	for i, c := range list {
		if slices.ContainsFunc(list[:i], func(d Partition) bool { return d.Name == c.Name }) {
			return nil, fmt.Errorf("its path has the partition column %s twice", valuetext.Name(c.Name))
		}
	}
	return list, nil
}

// Names returns the names of the columns.
func Names(list []Partition) []string {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Name
	}
	return names
}

// NameList formats names for messages, "none" if there are none.
func NameList(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = valuetext.Name(n)
	}
	return strings.Join(texts, ", ")
}

// partition sets the partition columns of the files of one input, which must be the same for all.
func partition(files []*File, o *Options, where []Condition) error {
	if o.Described {
		return nil // they say it themselves
	}
	for i, f := range files {
		if i > 0 && path.Dir(f.Name) == path.Dir(files[i-1].Name) { // one copy for all files of a directory
			f.Partitions = files[i-1].Partitions
			continue
		}
		var err error
		if f.Partitions, err = pathConstants(f.Name, o); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		have, first := Names(f.Partitions), Names(files[0].Partitions)
		if !slices.Equal(have, first) {
			return setting.Errorf("the partition columns of %s are %s, and those of %s are %s: name the directories as several inputs, or give %s off",
				files[0].Path, NameList(first), f.Path, NameList(have), setting.Partitions)
		}
		for _, c := range where {
			if !slices.Contains(have, c.Name) {
				return fmt.Errorf("where %s: %s has no partition column of that name; it has %s", c.Text, f.Path, NameList(have))
			}
		}
	}
	return nil
}

// Texts returns the directory names that encode the columns, nil for none.
func Texts(list []Partition) []string {
	var texts []string
	for _, c := range list {
		value := nullPartition
		if !c.Null {
			value = escapeElement(c.Value)
		}
		texts = append(texts, escapeElement(c.Name)+"="+value)
	}
	return texts
}

// ParsePartitions is the inverse of Texts. It omits texts that are not partitions.
func ParsePartitions(texts []string) []Partition {
	var list []Partition
	for _, text := range texts {
		if c, ok := ParsePartition(text); ok {
			list = append(list, c)
		}
	}
	return list
}

// escapeElement is the inverse of unescapeElement: it writes characters with a meaning in paths, and bytes that are not UTF-8, as %XX.
func escapeElement(s string) string {
	const digits = "0123456789ABCDEF"
	valid := utf8.ValidString(s)
	var b []byte
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c == 0x7f || c == '%' || c == '=' || c == '/' || c == '.' && i == 0 || c >= utf8.RuneSelf && !valid {
			b = append(b, '%', digits[c>>4], digits[c&15])
			continue
		}
		b = append(b, c)
	}
	return string(b)
}
