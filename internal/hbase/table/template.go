package table

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
)

// Template holds the settings from which a table can be created.
type Template struct {
	Families                  []loader.Family
	Attributes, Configuration map[string]string
	SplitKeys                 [][]byte
}

// Of returns the settings of an existing table. Its split points are the start
// keys of its current regions, including those created by splits.
func Of(ctx context.Context, c *loader.Cluster, name loader.TableName) (*Template, error) {
	t, err := c.Describe(ctx, name)
	if err != nil {
		return nil, err
	}
	regions, err := c.Regions(ctx, name)
	if err != nil {
		return nil, err
	}
	like := Like(t)
	for _, r := range regions[1:] {
		like.SplitKeys = append(like.SplitKeys, r.Start)
	}
	return like, nil
}

// Like returns a template with the settings of a table descriptor, without split points.
func Like(t *loader.Table) *Template {
	like := &Template{Families: t.Families, Attributes: maps.Clone(t.Attributes), Configuration: t.Configuration}
	// IS_META is internal to the server, and a copy of a read-only table must be writable for its load.
	delete(like.Attributes, "IS_META")
	delete(like.Attributes, "READONLY")
	return like
}

// ErrDiffers reports that a table exists but differs from the request.
var ErrDiffers = errors.New("the table exists, but differs from the request")

// Same returns an error that wraps [ErrDiffers] and lists the differences if an
// existing table does not match the request. Regions may have split since:
// additional split points are not differences, missing ones are.
func Same(ctx context.Context, c *loader.Cluster, want loader.TableSpec) error {
	have, err := Of(ctx, c, want.Name)
	if err != nil {
		return err
	}
	if all := differences(have, want); len(all) > 0 {
		return fmt.Errorf("%w: table %s: %s", ErrDiffers, want.Name, strings.Join(all, "; "))
	}
	return nil
}

// differences lists where a table differs from a request. If the request is copied from a table, it has all attributes of that table's families, and all
// must be equal. In any other request, attributes that it does not name may have any value.
func differences(have *Template, want loader.TableSpec) (all []string) {
	differ := func(what string, have, want any) {
		if have != want {
			all = append(all, fmt.Sprintf("%s is %v, not %v", what, have, want))
		}
	}
	copied := slices.ContainsFunc(want.Families, func(f loader.Family) bool { return f.Attributes != nil })
	further := func(of string, have, want, defaults map[string]string) {
		both := design(have, defaults)
		maps.Copy(both, design(want, defaults))
		for _, k := range slices.Sorted(maps.Keys(both)) {
			if want[k] == "" && (!copied || k == fileTracker) {
				continue
			}
			what := k
			if k == maxFileSize {
				what = "max file size"
			}
			differ(what+of, cmp.Or(have[k], defaults[k], "not set"), cmp.Or(want[k], defaults[k], "not set"))
		}
	}
	for _, f := range want.Families {
		i := slices.IndexFunc(have.Families, func(x loader.Family) bool { return x.Name == f.Name })
		if i < 0 {
			all = append(all, "it has no family "+f.Name)
			continue
		}
		h := have.Families[i]
		differ("compression of "+f.Name, h.Compression, f.Compression)
		differ("encoding of "+f.Name, h.Encoding, f.Encoding)
		differ("bloom of "+f.Name, h.Bloom, f.Bloom)
		if f.BlockSize > 0 {
			differ("block size of "+f.Name, h.BlockSize, f.BlockSize)
		}
		if f.Versions > 0 {
			differ("versions of "+f.Name, h.Versions, f.Versions)
		}
		if f.TTL > 0 {
			differ("TTL of "+f.Name, h.TTL, f.TTL)
		} else {
			differ("TTL of "+f.Name, h.TTL, int64(loader.Forever))
		}
		further(" of "+f.Name, furtherAttributes(h), furtherAttributes(f), familyDefaults())
	}
	further("", tableAttributes(have.Attributes, have.Configuration), tableAttributes(want.Attributes, want.Configuration), tableDefaults())
	missing := 0
	for _, s := range want.SplitKeys {
		if _, ok := slices.BinarySearchFunc(have.SplitKeys, s, bytes.Compare); !ok {
			missing++
		}
	}
	if missing > 0 {
		all = append(all, fmt.Sprintf("%d of %d split points are missing", missing, len(want.SplitKeys)))
	}
	return all
}

// Statement returns the HBase shell (JRuby) statement that creates a table, with all attributes that differ from HBase's defaults, except those of
// [design] that belong to one table.
func Statement(t loader.TableSpec) string {
	var b strings.Builder
	fmt.Fprintf(&b, "create %s", rubyString([]byte(t.Name.String())))
	for _, f := range t.Families {
		attributes, configuration := familyAttributes(f)
		pairs := shellPairs(familyFields(), attributes, configuration, familyDefaults())
		fmt.Fprintf(&b, ",\n  {%s}", strings.Join(append([]string{"NAME => " + rubyString([]byte(f.Name))}, pairs...), ", "))
	}
	if pairs := shellPairs(nil, t.Attributes, t.Configuration, tableDefaults()); len(pairs) > 0 {
		fmt.Fprintf(&b, ",\n  {%s}", strings.Join(pairs, ", "))
	}
	if len(t.SplitKeys) > 0 {
		points := make([]string, len(t.SplitKeys))
		for i, s := range t.SplitKeys {
			points[i] = binaryString(s)
		}
		fmt.Fprintf(&b, ",\n  SPLITS => [%s]", strings.Join(points, ", "))
	}
	return b.String()
}

// binaryString quotes a split point for the shell, which passes it to
// Bytes.toBytesBinary. That method decodes \xNN with capital digits, which Ruby leaves
// unchanged in single quotes. In double quotes, Ruby would decode "\xNN" itself, Java
// would take it for a character, and bytes from 0x80 on would be lost (admin.rb and
// Bytes of HBase 2.6).
func binaryString(key []byte) string {
	return "'" + strings.ReplaceAll(rowkey.String(key), "'", `\x27`) + "'"
}

// rubyString quotes bytes for Ruby: plain text in single quotes, anything else
// in double quotes, where # begins an interpolation.
func rubyString(text []byte) string {
	plain := !slices.ContainsFunc(text, func(c byte) bool { return c < 0x20 || c >= 0x7f || c == '\'' || c == '\\' })
	if plain {
		return "'" + string(text) + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\' || c == '#':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= 0x20 && c < 0x7f:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
