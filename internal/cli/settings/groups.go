package settings

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// groups are the flags of commands by topic, in the order of help texts. A flag of another meaning in one command may have its name in files.
var groups = []struct{ title, flags string }{
	{"What", "job input inputs-from table key columns query family salt-buckets from to old-key out splits table-splits shares plan share jobs b-conf all-versions timestamps new-key digests differences repair-b"},
	{"Rows that are printed", "by limit page prefix full explain"},
	{"Rows and cells of a table that are read", "from-key to-key key-prefix start-row stop-row row-prefix since until only export-versions rekey-versions input-versions"},
	{"What is looked at", "sample values write profile profile-share hide"},
	{"How inputs are read", "format dialect header field-sep record-sep quote quotes escape escape-map null-value null-quoted empty trim comment skip-lines " +
		"skip-end charset extra missing parse partitions where read-by"},
	{"Which rows", "filter filtered-file bad-records reject-file duplicates versions duplicates-file expect-records allow-empty timestamp"},
	{"HFiles", "compression compression-level encoding bloom block-size max-file-size"},
	{"Loading and verification", "verify snapshot keep-snapshots staging keep-staging load-mode max-files replicate phoenix-indexes trust-files compact-after quiet-table also"},
	{"In place of what a table holds", "replace into drop-old max-deletes replace-rejected"},
	{"Estimates", "exact suggest skew svg split-size"},
	{"Limits", "memory workers spill-dir spill-limit upload-limit upload-streams load-concurrency only-between timeout"},
	{"YARN, and a job for each directory", "engine split-by yarn-queue hadoop maps reduces map-memory reduce-memory on-stop"},
	{"State", "state job-id restart lock-wait skip-exit-code"},
	{"Progress and reports", "progress report report-records result-file listen stalled-after metrics-file metrics-push metrics-label openlineage openlineage-job"},
	{"Clients and limits of a service", "admin-listen clients control negotiate-keytab tls-cert tls-key tls-client-ca insecure audit audit-keys compat deadline max-rows max-keys " +
		"max-bytes max-body max-in-flight max-queue queue-wait max-per-client max-rate max-connections scan-memory batch-reads drain-delay drain-time"},
	{"Cluster and login", "hdfs endpoint zookeeper znode principal keytab ticket-cache user"},
}

// most are the flags that most jobs need.
const most = "differences repair-b b-conf timestamps job input table key columns out from to verify bad-records duplicates replace memory state jobs clients tls-cert"

// fewFlags is the number of flags that fit a screen, so that they need no groups.
const fewFlags = 24

// A Group is a group of a command's flags.
type Group struct {
	Title string // empty: the group has all flags
	Flags *pflag.FlagSet
}

// Grouped returns the visible flags of a command, in groups if they are many.
func Grouped(f *pflag.FlagSet) []Group {
	all := pflag.NewFlagSet(f.Name(), pflag.ContinueOnError)
	left := map[string]*pflag.Flag{}
	f.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			all.AddFlag(f)
			left[f.Name] = f
		}
	})
	if len(left) <= fewFlags {
		return []Group{{"", all}}
	}
	var list []Group
	add := func(title string, has func(f *pflag.Flag) bool) {
		some := pflag.NewFlagSet(title, pflag.ContinueOnError)
		all.VisitAll(func(f *pflag.Flag) {
			if left[f.Name] != nil && has(f) {
				some.AddFlag(f)
				delete(left, f.Name)
			}
		})
		if some.HasFlags() {
			list = append(list, Group{title, some})
		}
	}
	for _, g := range groups {
		names := strings.Fields(g.flags)
		add(g.title, func(f *pflag.Flag) bool { return slices.Contains(names, f.Name) || slices.Contains(names, Name(f)) })
	}
	add("More", func(*pflag.Flag) bool { return true })
	return list
}

// Most returns the flags of a command that most jobs need, or all of them if they are few.
func Most(f *pflag.FlagSet) *pflag.FlagSet {
	list := Grouped(f)
	if len(list) == 1 {
		return list[0].Flags
	}
	some := pflag.NewFlagSet(f.Name(), pflag.ContinueOnError)
	for _, name := range strings.Fields(most) {
		if f := f.Lookup(name); f != nil && !f.Hidden {
			some.AddFlag(f)
		}
	}
	some.SortFlags = false
	return some
}
