package jobtest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hfile"
	"bulkload/pkg/source"
)

// OwnMounts returns attributes that let any user mount a small disk for one process.
func OwnMounts() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}

// WideInput writes a CSV file with the given number of rows. With 100,000 of them each region of a table with ten
// salts gets several megabytes.
func WideInput(t testing.TB, rows int) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "wide.csv")
	f, err := os.Create(name)
	testcheck.Must(t, err)
	defer f.Close()
	var b strings.Builder
	b.WriteString("id,a,b\n")
	for i := range rows {
		h := uint64(i+1) * 0x9e3779b97f4a7c15
		fmt.Fprintf(&b, "k%07d,%x%x%x%x,%d\n", i, h, h*31, h*37, h*41, h%1000)
		if b.Len() > 1<<20 || i == rows-1 {
			if _, err := f.WriteString(b.String()); err != nil {
				t.Fatal(err)
			}
			b.Reset()
		}
	}
	return name
}

// MappedColumns are the columns of the records that WriteRecords writes.
var MappedColumns = []string{"id", "n", "day", "flag", "text", "more", "at", "ttl"}

// PlainCells returns the cells of records in the order of a table.
func PlainCells(t testing.TB, s spec.Spec, columns []string, records [][]string) []hfile.Cell {
	t.Helper()
	cells := recordCells(t, s, columns, records)
	slices.SortFunc(cells, func(a, b hfile.Cell) int { return hfile.Compare(&a, &b) })
	return cells
}

// PlainWideCells returns the cells of wide rows, or of rows whose records are versions; ok is false if two of them
// conflict.
func PlainWideCells(t testing.TB, s spec.Spec, columns []string, records [][]string) (kept []hfile.Cell, ok bool) {
	t.Helper()
	cells := recordCells(t, s, columns, records)
	versions := s.Duplicates == "versions"
	slices.SortStableFunc(cells, func(a, b hfile.Cell) int {
		if !versions {
			a.Timestamp, b.Timestamp = 0, 0
		}
		return hfile.Compare(&a, &b)
	})
	ok = true
	n := 0 // versions of the column, kept or left out
	for _, c := range cells {
		i := len(kept) - 1
		if i < 0 || string(kept[i].Row) != string(c.Row) || string(kept[i].Family) != string(c.Family) || string(kept[i].Qualifier) != string(c.Qualifier) {
			kept, n = append(kept, c), 1
			continue
		}
		if versions && (n > s.Versions || kept[i].Timestamp != c.Timestamp) {
			if n++; n <= s.Versions {
				kept = append(kept, c)
			}
			continue
		}
		ok = ok && CellLine(&kept[i]) == CellLine(&c)
		if s.Duplicates == "last" {
			kept[i] = c
		}
	}
	return kept, ok
}

// ClientDigest returns the digest of HBase's client for a table with exactly these cells.
func ClientDigest(cells []hfile.Cell) string {
	h := sha256.New()
	rows := map[string]bool{}
	for _, c := range cells {
		rows[string(c.Row)] = true
		fmt.Fprintf(h, "%s\x00%s\x00%s\x00%s\x01", c.Row, c.Family, c.Qualifier, c.Value)
	}
	return fmt.Sprintf("rows=%d cells=%d sha256=%x", len(rows), len(cells), h.Sum(nil))
}

// WriteRecords writes a dump of records.
func WriteRecords(t testing.TB, name string, records [][]string) {
	t.Helper()
	var b strings.Builder
	for _, r := range records {
		b.WriteString(strings.Join(r, "\x01") + "\x10")
	}
	testcheck.Must(t, os.WriteFile(name, []byte(b.String()), 0o600))
}

// recordCells computes the cells of records as documented, one by one.
func recordCells(t testing.TB, s spec.Spec, columns []string, records [][]string) []hfile.Cell {
	t.Helper()
	var cells []hfile.Cell
	for _, rec := range records {
		value := map[string]string{}
		for i, c := range columns {
			value[c] = rec[i]
		}
		stamp, tags := s.Timestamp, []byte(nil)
		if c := s.CellTimestamp; c != nil {
			at, err := time.ParseInLocation("20060102150405", value[c.Column], time.FixedZone("", 8*3600))
			testcheck.Must(t, err)
			stamp = at.UnixMilli()
		}
		if c := s.CellTTL; c != nil && value[c.Column] != "" {
			n, err := strconv.ParseInt(value[c.Column], 10, 64)
			testcheck.Must(t, err)
			if c.Unit != "ms" {
				n *= 1000
			}
			tags = binary.BigEndian.AppendUint64([]byte{0, 9, 8}, uint64(n))
		}
		add := func(family, qualifier string, v []byte) {
			family = cmp.Or(family, s.FamilyName())
			cells = append(cells, hfile.Cell{Row: []byte(rec[0]), Family: []byte(family), Qualifier: []byte(qualifier), Timestamp: stamp, Type: hfile.Put, Value: v, Tags: tags})
		}
		entries := s.Cells
		if len(entries) == 0 {
			entries = []spec.CellSpec{{Rest: true}}
		}
		for _, c := range entries {
			convert := func(text string) []byte {
				convert, err := c.CellType().Converter()
				testcheck.Must(t, err)
				if convert == nil {
					return []byte(text)
				}
				b, err := convert(nil, []byte(text))
				testcheck.Must(t, err)
				return b
			}
			if c.QualifierFrom != "" {
				c.Qualifier = value[c.QualifierFrom]
			}
			typed := c.Type != "" && c.Type != "text"
			list := c.Columns
			if c.Column != "" {
				list = []string{c.Column}
			}
			switch {
			case c.Value != nil:
				add(c.Family, c.Qualifier, convert(*c.Value))
				continue
			case c.JSON:
				if len(list) == 0 {
					for _, name := range columns {
						if !slices.Contains(s.Skip, name) {
							list = append(list, name)
						}
					}
				}
				var parts []string
				for _, name := range list {
					if value[name] == "" && s.Empty != "store" {
						continue
					}
					k, v := new(bytes.Buffer), new(bytes.Buffer)
					for b, text := range map[*bytes.Buffer]string{k: name, v: value[name]} {
						e := json.NewEncoder(b)
						e.SetEscapeHTML(false)
						_ = e.Encode(text)
					}
					parts = append(parts, strings.TrimSpace(k.String())+":"+strings.TrimSpace(v.String()))
				}
				add(c.Family, c.Qualifier, []byte("{"+strings.Join(parts, ",")+"}"))
				continue
			case c.Rest:
				for _, name := range columns {
					named := slices.Contains(s.Skip, name)
					for _, o := range s.Cells {
						named = named || o.QualifierFrom == name || !o.JSON && (o.Column == name || slices.Contains(o.Columns, name))
					}
					if !named {
						list = append(list, name)
					}
				}
			}
			for _, name := range list {
				q := cmp.Or(c.Qualifier, name)
				if value[name] != "" || s.Empty == "store" && !typed {
					if value[name] == "" {
						add(c.Family, q, nil)
					} else {
						add(c.Family, q, convert(value[name]))
					}
				}
			}
		}
	}
	return cells
}

// CellLine formats a cell, so that cells can be compared as text.
func CellLine(c *hfile.Cell) string {
	return fmt.Sprintf("%q %s:%q/%d %x %x", c.Row, c.Family, c.Qualifier, c.Timestamp, c.Value, c.Tags)
}

// Texts reads inputs: the values of each row by column, nil for NULL, split after split.
func Texts(ctx context.Context, in *source.Input) (rows []map[string]any, err error) {
	r := in.NewReader()
	for split := range in.Splits() {
		err := r.Read(ctx, split, func(b *source.Batch) error {
			for i := range b.Rows {
				row := map[string]any{}
				for c, name := range in.Columns() {
					if row[name] = nil; !b.Null(i, c) {
						row[name] = string(b.Field(i, c))
					}
				}
				rows = append(rows, row)
			}
			return nil
		})
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}
