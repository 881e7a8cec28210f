package table

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"bulkload/pkg/loader"
)

const (
	// maxFileSize is the attribute with the size at which a region splits.
	maxFileSize = "MAX_FILESIZE"
	// prefixLength is the configuration of a bloom filter of prefixes, [loader.Family.BloomParam].
	prefixLength = "RowPrefixBloomFilter.prefix_length"
	// fileTracker is the attribute that the master of HBase 2.5 adds to each new table that has none.
	fileTracker = "hbase.store.file-tracker.impl"
)

// familyFields returns the attributes that are fields of [loader.Family], in the order of a statement.
func familyFields() []string {
	return []string{"COMPRESSION", "DATA_BLOCK_ENCODING", "BLOOMFILTER", "BLOCKSIZE", "VERSIONS", "TTL"}
}

// familyDefaults returns the further attributes of families that HBase's shell knows by name (admin.rb, from HBase 2.0 on), with their defaults. An
// empty default means that the servers' configuration decides.
func familyDefaults() map[string]string {
	return map[string]string{
		"BLOCKCACHE": "true", "REPLICATION_SCOPE": "0", "MIN_VERSIONS": "0", "KEEP_DELETED_CELLS": "FALSE", "IN_MEMORY": "false",
		"CACHE_DATA_ON_WRITE": "false", "CACHE_INDEX_ON_WRITE": "false", "CACHE_BLOOMS_ON_WRITE": "false", "EVICT_BLOCKS_ON_CLOSE": "false",
		"PREFETCH_BLOCKS_ON_OPEN": "false", "NEW_VERSION_BEHAVIOR": "false", "IS_MOB": "false", "MOB_THRESHOLD": "102400",
		"MOB_COMPACT_PARTITION_POLICY": "DAILY", "DFS_REPLICATION": "0", "STORAGE_POLICY": "", "ENCRYPTION": "", "IN_MEMORY_COMPACTION": "",
	}
}

// tableDefaults is familyDefaults for tables. It also has the default of the store file tracker, which the shell does not know by name.
func tableDefaults() map[string]string {
	return map[string]string{
		maxFileSize: "-1", "MEMSTORE_FLUSHSIZE": "-1", "DURABILITY": "USE_DEFAULT", "REGION_REPLICATION": "1", "REGION_MEMSTORE_REPLICATION": "true",
		"PRIORITY": "0", "READONLY": "false", "COMPACTION_ENABLED": "true", "SPLIT_ENABLED": "true", "MERGE_ENABLED": "true",
		"NORMALIZATION_ENABLED": "", "SPLIT_POLICY": "", "FLUSH_POLICY": "", fileTracker: "DEFAULT",
	}
}

// design returns the attributes that differ from HBase's defaults. It omits those that belong to one particular table: whether it is a catalog table, its
// owner, and the key that HBase has generated for an encrypted family.
func design(attributes, defaults map[string]string) map[string]string {
	all := maps.Clone(attributes)
	maps.DeleteFunc(all, func(k, v string) bool {
		return v == "" || strings.EqualFold(v, defaults[k]) || slices.Contains([]string{"IS_META", "IS_ROOT", "OWNER", "ENCRYPTION_KEY"}, k)
	})
	return all
}

// familyAttributes returns a family's attributes and configuration as they are in its descriptor: fields that are set override attributes.
func familyAttributes(f loader.Family) (attributes, configuration map[string]string) {
	attributes, configuration = map[string]string{}, map[string]string{}
	maps.Copy(attributes, f.Attributes)
	maps.Copy(configuration, f.Configuration)
	for i, v := range []string{f.Compression, f.Encoding, f.Bloom, number(int64(f.BlockSize)), number(int64(f.Versions)), ttl(f.TTL)} {
		if v != "" {
			attributes[familyFields()[i]] = v
		}
	}
	if f.BloomParam != "" {
		delete(attributes, prefixLength)
		configuration[prefixLength] = f.BloomParam
	}
	return attributes, configuration
}

// furtherAttributes returns the attributes and the configuration of a family that are not fields of [loader.Family].
func furtherAttributes(f loader.Family) map[string]string {
	all, configuration := familyAttributes(f)
	maps.Copy(all, configuration)
	for _, k := range familyFields() {
		delete(all, k)
	}
	return all
}

// tableAttributes returns the attributes and the configuration of a table: HBase 2 keeps them together.
func tableAttributes(attributes, configuration map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, attributes)
	maps.Copy(all, configuration)
	return all
}

// shellPairs returns attributes and configuration as pairs for a hash of HBase's shell. The shell ignores keys of a create statement that it does not
// know, so such attributes, for example coprocessors, are in METADATA. The keys in first precede the others.
func shellPairs(first []string, attributes, configuration, defaults map[string]string) (pairs []string) {
	attributes = design(attributes, defaults)
	metadata := map[string]string{}
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(attributes)), func(k string) bool { return slices.Contains(first, k) })
	for _, k := range slices.Concat(first, others) {
		switch _, known := defaults[k]; {
		case attributes[k] == "":
		case slices.Contains(first, k) || known && k != fileTracker:
			pairs = append(pairs, k+" => "+rubyString([]byte(attributes[k])))
		default:
			metadata[k] = attributes[k]
		}
	}
	return append(pairs, append(hash("METADATA", metadata), hash("CONFIGURATION", configuration)...)...)
}

// hash returns one pair whose value is a hash of the strings in m, or no pair if m is empty.
func hash(name string, m map[string]string) []string {
	if len(m) == 0 {
		return nil
	}
	var pairs []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, rubyString([]byte(k))+" => "+rubyString([]byte(m[k])))
	}
	return []string{name + " => {" + strings.Join(pairs, ", ") + "}"}
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func ttl(seconds int64) string {
	if seconds == loader.Forever {
		return "FOREVER"
	}
	return number(seconds)
}
