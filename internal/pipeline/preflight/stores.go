package preflight

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"bulkload/internal/hbase/cluster"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// configured returns a setting of a family: its own, else its table's, else the site's.
func configured(t *loader.Table, cf loader.Family, site func(string) string, key string) string {
	return cmp.Or(cf.Configuration[key], cf.Attributes[key], t.Configuration[key], t.Attributes[key], site(key))
}

// checkEngine warns of compactions that put loaded cells into a tier that does not fit their rows.
func checkEngine(t *loader.Table, cf loader.Family, site func(string) string, timed bool) Check {
	const name = "store engine"
	engine := configured(t, cf, site, "hbase.hstore.engine.class")
	engine = engine[strings.LastIndexByte(engine, '.')+1:]
	switch {
	case engine == "CustomTieredStoreEngine":
		return Doubtful(name, fmt.Sprintf("run major_compact '%s' twice after the load, or HBase 2.6.8 or later", t.Name),
			"family %s has CustomTieredStoreEngine: before HBase 2.6.8 the first major compaction puts loaded rows into one tier, whatever values they hold", cf.Name)
	case engine == "DateTieredStoreEngine" && !timed:
		return Doubtful(name, setting.Textf("map a column by `cell_timestamp`, or give the time of the rows with %s", setting.Timestamp),
			"family %s has DateTieredStoreEngine: rows of this load have one timestamp, and are of one tier", cf.Name)
	case engine != "" && engine != "DefaultStoreEngine":
		return good(name, "family %s has %s", cf.Name, engine)
	}
	return Check{}
}

// checkStorage reports the storage policy that the files of a load get.
func checkStorage(t *loader.Table, cf loader.Family, site func(string) string) Check {
	policy := cluster.StoragePolicy(t, cf, site)
	if policy == "" {
		return Check{}
	}
	return good("storage policy", "family %s has %s, which its files get in the staging directory", cf.Name, policy)
}

// usualBlocking is the default of hbase.hstore.blockingStoreFiles (HStore, HBase 2.6).
const usualBlocking = 16

// checkStoreFiles checks for a store that has, with the file that the load adds, so many files that flushes wait for compactions.
func checkStoreFiles(t *loader.Table, cf loader.Family, site func(string) string, regions []loader.Region, s loader.Status) Check {
	const name, key = "store files", "hbase.hstore.blockingStoreFiles"
	limit, err := strconv.Atoi(configured(t, cf, site, key))
	if err != nil || limit <= 0 {
		limit = usualBlocking
	}
	worst, most, full := "", 0, 0
	for _, r := range regions {
		n := s.StoreFiles[string(r.Name)]
		if n+1 >= limit {
			full++
		}
		if n > most {
			worst, most = r.Encoded, n
		}
	}
	if full == 0 {
		return Check{}
	}
	return Doubtful(name, fmt.Sprintf("compact it first: hbase shell, compact '%s' (is COMPACTION_ENABLED false?)", t.Name),
		"%s of %d have %d store files or more in a store (%s has %d): with %d (%s) writes of others wait", setting.Count(full, "region"), len(regions), limit-1, worst, most, limit, key)
}

func (f *checkFacts) stores(cf loader.Family) []Check {
	site := f.env.Conf.Value
	return []Check{checkEngine(f.table, cf, site, f.spec.CellTimestamp != nil || f.spec.Timestamp != 0), checkStorage(f.table, cf, site),
		checkStoreFiles(f.table, cf, site, f.regions, f.status)}
}
