package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// phoenixFacts holds the contents of SYSTEM.CATALOG about a Phoenix table.
type phoenixFacts struct {
	indexes []string // names
	views   bool     // there are indexes on views of the table
	err     error    // why this is unknown
}

func ofPhoenix(class string) bool { return strings.HasPrefix(class, "org.apache.phoenix.") }

// Phoenix reports the effect of a bulk load on the indexes of a table, if it is
// a Phoenix table. indexes is refuse or ignore: it determines whether a table
// with indexes is an error. The Check is empty for other tables.
func Phoenix(ctx context.Context, c *loader.Cluster, t *loader.Table, indexes string) Check {
	return checkPhoenix(t, askPhoenix(ctx, c, t), indexes)
}

// askPhoenix reads the links to indexes. The classes in the descriptor do not
// show whether there are any: Phoenix puts IndexRegionObserver on every mutable
// table (ConnectionQueryServicesImpl, 5.2).
func askPhoenix(ctx context.Context, c *loader.Cluster, t *loader.Table) (p phoenixFacts) {
	if !slices.ContainsFunc(coprocessorsOf(t), ofPhoenix) {
		return p
	}
	_, err := c.Describe(ctx, loader.TableName{Namespace: t.Name.Namespace, Qualifier: "_IDX_" + t.Name.Qualifier})
	p.views = err == nil
	catalogs := []loader.TableName{{Namespace: loader.DefaultNamespace, Qualifier: "SYSTEM.CATALOG"}, {Namespace: "SYSTEM", Qualifier: "CATALOG"}}
	for _, catalog := range catalogs {
		if _, p.err = c.Describe(ctx, catalog); p.err == nil {
			p.indexes, p.err = linksOf(ctx, c, catalog, t.Name)
			return p
		} else if !errors.Is(p.err, loader.ErrTableNotFound) {
			return p
		}
	}
	return p
}

// catalogPrefix returns the prefix of the rows of a table's links in SYSTEM.CATALOG:
// tenant, schema, table and an empty column, each followed by a zero byte.
func catalogPrefix(t loader.TableName) []byte {
	schema, table := t.Namespace, t.Qualifier // with phoenix.schema.isNamespaceMappingEnabled
	if schema == loader.DefaultNamespace {
		if s, rest, ok := strings.Cut(table, "."); ok {
			schema, table = s, rest
		} else {
			schema = ""
		}
	}
	return fmt.Appendf(nil, "\x00%s\x00%s\x00\x00", schema, table)
}

// linkToIndex is the LINK_TYPE of an index (PTable.LinkType.INDEX_TABLE, 5.2).
const linkToIndex = 1

const maxLinks = 1000

func linksOf(ctx context.Context, c *loader.Cluster, catalog, t loader.TableName) (indexes []string, err error) {
	prefix := catalogPrefix(t)
	req := loader.ScanRequest{Table: catalog, Start: prefix, Stop: loader.PrefixEnd(prefix), Columns: []loader.Column{{Family: "0", Qualifier: []byte("LINK_TYPE")}},
		MaxRows: maxLinks, ChunkBytes: 256 << 10, RowBytes: 1 << 20, Prompt: true}
	err = c.Scan(ctx, req, func(r loader.Row) error {
		if name, ok := indexOf(r, len(prefix)); ok {
			indexes = append(indexes, name)
		}
		return nil
	})
	return indexes, err
}

// indexOf returns the index that a row of links names after the prefix.
func indexOf(r loader.Row, prefix int) (string, bool) {
	for _, cell := range r.Cells {
		if string(cell.Qualifier) == "LINK_TYPE" && len(cell.Value) == 1 && cell.Value[0]&0x7f == linkToIndex && len(r.Key) > prefix {
			return string(r.Key[prefix:]), true
		}
	}
	return "", false
}

// checkPhoenix reports the requirements of a Phoenix table. It reports an error for one with
// indexes unless the job ignores them: a query by an index misses every row of the load.
func checkPhoenix(t *loader.Table, p phoenixFacts, indexes string) Check {
	const name = "phoenix"
	classes := coprocessorsOf(t)
	if !slices.ContainsFunc(classes, ofPhoenix) {
		return Check{}
	}
	has := func(simple string) bool {
		return slices.ContainsFunc(classes, func(class string) bool { return ofPhoenix(class) && simpleName(class) == simple })
	}
	var found []string
	for _, f := range t.Families {
		if strings.HasPrefix(f.Name, "L#") {
			found = append(found, "local indexes in family "+f.Name)
		}
	}
	if has("GlobalIndexChecker") {
		found = append(found, "the table is an index (GlobalIndexChecker)")
	}
	if len(p.indexes) > 0 {
		found = append(found, "indexes "+strings.Join(p.indexes, ", "))
	}
	if p.views {
		found = append(found, "indexes of views in _IDX_"+t.Name.Qualifier)
	}
	if observed := has("Indexer") || has("IndexRegionObserver"); observed && p.err != nil {
		found = append(found, fmt.Sprintf("perhaps indexes: it has an index coprocessor, but SYSTEM.CATALOG cannot be read: %s", oneLine{p.err}))
	}
	const rebuild = "rebuild the indexes after the load with Phoenix's IndexTool"
	const lost = "table %s is a Phoenix table with %s: a bulk load does not update them, so queries silently miss its rows"
	switch what := strings.Join(found, ", "); {
	case len(found) == 0:
		return Doubtful(name, "compare with a row that Phoenix wrote: its key, the types (encoding phoenix, under cells) and the empty cell, \\x00\\x00\\x00\\x00 or _0 in the first family",
			"table %s is a Phoenix table without indexes: queries need Phoenix's encodings of keys and values, and an empty cell in each row", t.Name)
	case indexes == "ignore":
		return Doubtful(name, rebuild, lost, t.Name, what)
	default:
		return bad(name, setting.Textf("load with Phoenix's CsvBulkLoadTool, or give %s ignore and %s", setting.PhoenixIndexes, rebuild), lost, t.Name, what)
	}
}
