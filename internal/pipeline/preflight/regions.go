package preflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/spec"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"

	"google.golang.org/protobuf/encoding/protowire"
)

// checkRegions reports whether the regions cover all rows exactly once and are served.
func checkRegions(regions []loader.Region, err error, s loader.Status) Check {
	const name = "regions"
	if err != nil {
		hint := "check that the region servers are up"
		if _, hole := errors.AsType[*loader.HoleError](err); hole {
			hint = "have hbase hbck2 repair it (fixMeta, or addFsRegionsMissingInMeta and assigns), then check again"
		}
		return bad(name, hint, "%s", oneLine{err})
	}
	var closed []loader.Region
	for _, r := range regions {
		if r.Server == "" || len(s.Servers) > 0 && !slices.Contains(s.Servers, r.Server) {
			closed = append(closed, r)
		}
	}
	if len(closed) > 0 {
		where := "no server"
		if closed[0].Server != "" {
			where = closed[0].Server + ", which is not alive"
		}
		return Doubtful(name, "a load waits for them; when they stay so, see the master's log", "%d of %s are not served: %s is on %s", len(closed), setting.Count(len(regions), "region"), closed[0], where)
	}
	return good(name, "%d, without gaps, all served", len(regions))
}

// DefaultMaxRegion is HBase's default of hbase.hregion.max.filesize.
const DefaultMaxRegion = 10 << 30

// MaxRegionSize returns the size at which a region splits, and the origin of that
// setting: the table's own, else hbase.hregion.max.filesize of the configuration.
func MaxRegionSize(table int64, configured string) (size int64, from string) {
	if table > 0 {
		return table, "the table's MAX_FILESIZE"
	}
	if n, err := strconv.ParseInt(configured, 10, 64); err == nil && n > 0 {
		return n, "hbase.hregion.max.filesize"
	}
	return DefaultMaxRegion, "HBase's default"
}

// checkRegionSize warns of regions that would split as soon as they are loaded.
// Files are usually smaller than their text.
func checkRegionSize(regions int, in inputFacts, table int64, configured string) Check {
	const name = "region size"
	if regions == 0 || in.err != nil || in.text == 0 {
		return Check{}
	}
	most, _ := MaxRegionSize(table, configured)
	each := in.text / int64(regions)
	if each > most {
		return Doubtful(name, "create the table with more split points, or raise its MAX_FILESIZE", "about %s of text for each of %s, which split at %s: splits and compactions follow the load",
			spec.Size(each).Rounded(), setting.Count(regions, "region"), spec.Size(most).Rounded())
	}
	return good(name, "about %s of text for each of %s, which split at %s", spec.Size(each).Rounded(), setting.Count(regions, "region"), spec.Size(most).Rounded())
}

// checkKey reports whether the salt of the key can be determined from the table.
func checkKey(s spec.Job, regions []loader.Region) Check {
	const name = "key"
	if s.Key() == "" || len(regions) == 0 {
		return Check{}
	}
	var splits [][]byte
	for _, r := range regions[1:] {
		splits = append(splits, r.Start)
	}
	n, err := s.SaltModulus(splits)
	if err != nil {
		return bad(name, setting.Textf("give %s", setting.SaltBuckets), "%s", oneLine{err})
	}
	if keygen.NeedsRegions(s.RowKey()) {
		return good(name, "%s, %s", s.RowKey(), setting.Count(n, "salt"))
	}
	return good(name, "%s", s.RowKey())
}

// spaceQuota is HBase's space quota for a table; zero if there is no limit.
type spaceQuota struct {
	of          string // the table or namespace of the quota
	limit, used int64  // bytes; used is 0 if it was not reported yet
	reported    int64  // the limit of the last report; 0: there is none
	violated    bool
}

// quotaTable is the table of quotas (QuotaTableUtil, 2.6.4): rows t.TABLE and
// n.NAMESPACE, settings in q:s as Quotas after PBUF, the last report in u:p as
// SpaceQuotaSnapshot. A violated quota of a namespace is reported in the rows of its
// tables, whatever its policy is, and a region server compares a load with that report.
var quotaTable = loader.TableName{Namespace: "hbase", Qualifier: "quota"}

// readSpaceQuota returns the tighter of the table's and its namespace's quota.
// It is empty if the cluster has none.
func readSpaceQuota(ctx context.Context, c *loader.Cluster, table loader.TableName) (spaceQuota, error) {
	if _, err := c.Describe(ctx, quotaTable); err != nil {
		if errors.Is(err, loader.ErrTableNotFound) {
			return spaceQuota{}, nil
		}
		return spaceQuota{}, err
	}
	rows, err := c.Rows(ctx, quotaTable, [][]byte{[]byte("t." + table.String()), []byte("n." + table.Namespace)})
	if err != nil {
		return spaceQuota{}, err
	}
	own, shared := parseSpaceQuota(rows[0]), parseSpaceQuota(rows[1])
	if own.reported == 0 && shared.limit > 0 { // a new table is reported later than the others
		if own, err = sharedReport(ctx, c, table, shared.limit); err != nil {
			return spaceQuota{}, err
		}
	}
	return tightestQuota(table, own, shared), nil
}

// sharedReport returns the report of a namespace's quota from the row of any of its tables, empty if none has it.
func sharedReport(ctx context.Context, c *loader.Cluster, table loader.TableName, limit int64) (found spaceQuota, err error) {
	start, stop := "t."+table.Namespace+":", "t."+table.Namespace+";"
	if table.Namespace == "default" { // its tables are named without it
		start, stop = "t.", "t/"
	}
	err = c.Scan(ctx, loader.ScanRequest{Table: quotaTable, Start: []byte(start), Stop: []byte(stop)}, func(row loader.Row) error {
		of, _ := loader.ParseTableName(strings.TrimPrefix(string(row.Key), "t."))
		if q := parseSpaceQuota(row); of.Namespace == table.Namespace && q.limit == 0 && q.reported == limit {
			found = q
		}
		return nil
	})
	return found, err
}

// tightestQuota returns the tighter one of a table's row and its namespace's. The last report is in the table's row, for either.
func tightestQuota(table loader.TableName, own, shared spaceQuota) spaceQuota {
	own.of, shared.of = "table "+table.String(), "namespace "+table.Namespace
	if shared.limit > 0 && own.reported == shared.limit && own.limit != shared.limit {
		shared.used, shared.violated = own.used, own.violated
		own.used, own.violated = 0, false
	}
	if own.limit == 0 || shared.limit > 0 && shared.limit-shared.used < own.limit-own.used {
		return shared
	}
	return own
}

// Quota checks the space quota of a table, or of its namespace: the check is empty if there is none. The table may be missing.
func Quota(ctx context.Context, c *loader.Cluster, table loader.TableName) Check {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	q, err := readSpaceQuota(ctx, c, table)
	return checkQuota(q, err, inputFacts{})
}

// parseSpaceQuota reads one row of the quota table. It ignores values that it
// cannot parse (Quotas.space = 3, SpaceQuota.soft_limit = 1; SpaceQuotaSnapshot
// .quota_status = 1, .quota_usage = 2, .quota_limit = 3; SpaceQuotaStatus
// .in_violation = 2).
func parseSpaceQuota(row loader.Row) (q spaceQuota) {
	for _, cell := range row.Cells {
		switch string(cell.Family) + ":" + string(cell.Qualifier) {
		case "q:s":
			value := cell.Value
			if len(value) > 4 && string(value[:4]) == "PBUF" {
				value = value[4:]
			}
			if limit := int64(frames.Number(within(value, 3), 1)); limit > 0 {
				q.limit = limit
			}
		case "u:p":
			q.used, q.reported = int64(frames.Number(cell.Value, 2)), int64(frames.Number(cell.Value, 3))
			q.violated = frames.Number(within(cell.Value, 1), 2) != 0
		}
	}
	return q
}

// within returns a message within a message, nil if it is missing.
func within(message []byte, number protowire.Number) []byte {
	found, _ := frames.Bytes(message, number)
	return found
}

// checkQuota compares the remaining quota with the input. HFiles are about 0.3
// to 1 times as large as their text.
func checkQuota(q spaceQuota, err error, in inputFacts) Check {
	const name = "quota"
	if err != nil {
		return good(name, "quotas cannot be seen: %s", oneLine{err})
	}
	if q.limit == 0 {
		return Check{}
	}
	hint := "raise the quota, or remove data"
	left := q.limit - q.used
	switch {
	case q.violated || left <= 0:
		return bad(name, hint, "the space quota of %s is used up: %s of %s", q.of, spec.Size(q.used).Rounded(), spec.Size(q.limit).Rounded())
	case in.err == nil && in.text > left:
		return Doubtful(name, hint, "the space quota of %s leaves %s, and the input is about %s of text", q.of, spec.Size(left).Rounded(), spec.Size(in.text).Rounded())
	}
	return good(name, "the space quota of %s leaves %s of %s", q.of, spec.Size(left).Rounded(), spec.Size(q.limit).Rounded())
}

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
