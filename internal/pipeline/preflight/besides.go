package preflight

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// besidesFacts holds the other features of a table: those that normal writes
// pass through and a bulk load bypasses, and those that copy its data.
type besidesFacts struct {
	loaded   []string // simple names of coprocessors that the servers have loaded
	peers    []loader.Peer
	peersErr error
	backup   bool // the cluster keeps backups
	phoenix  phoenixFacts
}

// askBesides queries what the table's descriptor does not show.
func (f *checkFacts) askBesides(ctx context.Context, c *loader.Cluster) {
	b := &f.besides
	_, err := c.Describe(ctx, loader.TableName{Namespace: "backup", Qualifier: "system"})
	b.backup = err == nil
	if slices.ContainsFunc(f.table.Families, replicated) {
		b.peers, b.peersErr = c.Peers(ctx)
	}
	b.phoenix = askPhoenix(ctx, c, f.table)
}

// coprocessorsOf returns the classes that a table's descriptor names, sorted.
func coprocessorsOf(t *loader.Table) []string {
	classes := map[string]bool{}
	for _, m := range []map[string]string{t.Attributes, t.Configuration} {
		for key, value := range m {
			if !strings.HasPrefix(strings.ToLower(key), "coprocessor$") {
				continue
			}
			class := value
			if parts := strings.Split(value, "|"); len(parts) > 1 { // path|class|priority|arguments
				class = parts[1]
			}
			classes[strings.TrimSpace(class)] = true
		}
	}
	return slices.Sorted(maps.Keys(classes))
}

// simpleName returns the name of a class without its package.
func simpleName(class string) string { return class[strings.LastIndexByte(class, '.')+1:] }

// loadObservers are HBase's own coprocessors that take part in a bulk load,
// with their effects (classes of these names, 2.6.4).
var loadObservers = map[string]string{
	"AccessController":    "checks the right to load",
	"BackupObserver":      "notes the files for incremental backups",
	"ReplicationObserver": "notes the files for replication",
}

// checkCoprocessors names the coprocessors that a bulk load bypasses, with their put hooks,
// which maintain indexes other than Phoenix's, and the coprocessors that it does not bypass.
func checkCoprocessors(t *loader.Table, loaded []string) Check {
	const name = "coprocessors"
	own := slices.DeleteFunc(coprocessorsOf(t), ofPhoenix)
	var observers []string
	for _, class := range slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(loaded), own...)))) {
		if does := loadObservers[simpleName(class)]; does != "" {
			observers = append(observers, fmt.Sprintf("%s %s", simpleName(class), does))
		}
	}
	seen := ""
	if len(observers) > 0 {
		seen = "; of bulk loads, " + strings.Join(slices.Compact(observers), ", ")
	}
	indexed := slices.ContainsFunc(own, func(class string) bool { return strings.Contains(strings.ToLower(class), "index") })
	switch {
	case len(own) == 0 && seen == "":
		return Check{}
	case indexed:
		return Doubtful(name, "rebuild the indexes after the load", "a bulk load does not update indexes: %s%s", strings.Join(own, ", "), seen)
	case len(own) == 0:
		return good(name, "%s", strings.TrimPrefix(seen, "; "))
	}
	return good(name, "%s: put hooks do not run, bulk load hooks do%s", strings.Join(own, ", "), seen)
}

func replicated(cf loader.Family) bool {
	scope := cf.Attributes["REPLICATION_SCOPE"]
	return scope != "" && scope != "0"
}

// checkReplication names the peers that miss the load. A server has the class
// ReplicationObserver on its regions if hbase.replication.bulkload.enabled is
// true (HRegion, 2.6.4), and reports its coprocessors to the master.
func checkReplication(t loader.TableName, cf loader.Family, b besidesFacts, replicate string) Check {
	const name = "replication"
	if !replicated(cf) {
		return Check{}
	}
	scope := cf.Attributes["REPLICATION_SCOPE"]
	var peers []string
	for _, p := range b.peers {
		if p.Takes(t, cf.Name) {
			text := p.ID
			if !p.Enabled {
				text += " (disabled)"
			}
			peers = append(peers, text)
		}
	}
	enabled := slices.Contains(b.loaded, "ReplicationObserver")
	hint := setting.Textf("set hbase.replication.bulkload.enabled and hbase.replication.cluster.id on this cluster's servers, or load the peers too and give %s no", setting.Replicate)
	whose := "peers " + strings.Join(peers, ", ")
	if b.peersErr != nil {
		whose = "its peers (who they are cannot be seen: " + oneLine{b.peersErr}.Error() + ")"
	}
	switch {
	case b.peersErr == nil && len(peers) == 0:
		return good(name, "family %s is replicated (scope %s), but no peer takes it", cf.Name, scope)
	case replicate == "no":
		return good(name, "family %s is replicated (scope %s): the load says that %s leave it out", cf.Name, scope, whose)
	case enabled:
		return good(name, "family %s is replicated (scope %s): %s get the files, perhaps more than once", cf.Name, scope, whose)
	}
	return Doubtful(name, hint, "family %s is replicated (scope %s), and no server says that hbase.replication.bulkload.enabled is true: %s never get the rows, without an error anywhere", cf.Name, scope, whose)
}

// mobThreshold is the default of a family's MOB_THRESHOLD (ColumnFamilyDescriptorBuilder, 2.6).
const mobThreshold = "102400"

// checkMOB states where large values are until a compaction.
func checkMOB(t loader.TableName, cf loader.Family) Check {
	if cf.Attributes["IS_MOB"] != "true" {
		return Check{}
	}
	return Doubtful("mob", fmt.Sprintf("run major_compact '%s' in the hbase shell when it suits: it reads and writes all of them", t),
		"family %s is MOB: values of more than %s bytes stay in ordinary files until the first major compaction",
		cf.Name, cmp.Or(cf.Attributes["MOB_THRESHOLD"], mobThreshold))
}

// checkBackup reports whether incremental backups include the load: they copy WALs,
// which lack the cells of a bulk load, and the files that BackupObserver recorded.
func checkBackup(t *loader.Table, b besidesFacts) Check {
	const name = "backup"
	if !b.backup {
		return Check{}
	}
	own := slices.ContainsFunc(coprocessorsOf(t), func(class string) bool { return simpleName(class) == "BackupObserver" })
	if own || slices.Contains(b.loaded, "BackupObserver") {
		return good(name, "the cluster keeps backups, and BackupObserver records the files: the next incremental backup has them")
	}
	return Doubtful(name, "take a full backup of the table after the load, or a snapshot to export; or set hbase.coprocessor.region.classes to org.apache.hadoop.hbase.backup.BackupObserver",
		"the cluster keeps backups, but no server reports BackupObserver: incremental backups will silently lack this load")
}
