package job

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// TestStoragePolicies checks in HDFS that the loaded files of a family are on the disks of its storage policy, for a run and for a load that copies
// and cuts. A policy for which no DataNode has disks, and one that does not exist, are warnings, and the rows are loaded.
func TestStoragePolicies(t *testing.T) {
	cluster := testcluster.Own(t, spread())
	env := jobtest.ClusterEnv(t, cluster)
	want := ""
	for _, c := range []struct {
		name, policy string
		disks        []string
		warned       bool
	}{
		{"none", "", []string{"DISK"}, false},
		{"all on SSD", "ALL_SSD", []string{"SSD"}, false},
		{"no archive", "COLD", []string{"DISK"}, true},
		{"unknown", "NO_SUCH_POLICY", []string{"DISK"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := jobtest.FreshTableAt(t, env, partition.SaltSplits(programRegions), func(f *loader.Family) {
				if c.policy == "NO_SUCH_POLICY" { // HBase refuses it in a descriptor
					return
				}
				f.Attributes = map[string]string{"STORAGE_POLICY": c.policy}
			})
			env := jobtest.ClusterEnv(t, cluster)
			if c.policy == "NO_SUCH_POLICY" {
				env.Conf.Set("hbase.hstore.block.storage.policy", c.policy, "test")
			}
			var warnings []string
			events := progress.Events{OnWarn: func(text string, _ ...any) { warnings = append(warnings, text) }}
			s := jobtest.Spec(t, "check")
			s.Table, s.Inputs, s.Verify = table, []string{jobtest.Export(t, "check.csv")}, "full"
			_, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{WorkOptions: build.WorkOptions{Events: events}, State: checkpoint.Options{Dir: t.TempDir()}})
			testcheck.Must(t, err)
			judge := func(what string) {
				t.Helper()
				if got := disksOf(t, cluster, table); !slices.Equal(got, c.disks) {
					t.Errorf("%s: files are on %q, want %q", what, got, c.disks)
				}
				if got := slices.Contains(warnings, "the files do not get the storage policy of their family"); got != c.warned {
					t.Errorf("%s: warned of %q", what, warnings)
				}
				digest, err := cluster.AdminT(t).Digest(t.Context(), table)
				testcheck.Must(t, err)
				if want == "" {
					want = digest
				}
				if digest != want {
					t.Errorf("%s: the table has %s, want %s", what, digest, want)
				}
			}
			judge("run")
			_, err = cluster.AdminT(t).Run(t.Context(), "truncate", table)
			testcheck.Must(t, err)
			dir, all := t.TempDir(), partition.SaltSplits(programRegions)
			s.Regions = programRegions
			_, err = build.Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, [][]byte{all[1]}, dir, build.WorkOptions{})
			testcheck.Must(t, err)
			_, err = LoadDir(t.Context(), env, table, dir, LoadOptions{RunOptions: RunOptions{WorkOptions: build.WorkOptions{Events: events}, State: checkpoint.Options{Dir: t.TempDir()}}, Verify: "full"})
			testcheck.Must(t, err)
			judge("load")
		})
	}
}

// storeFile matches a file of a family in Hadoop's list of files and blocks, with the text up to the next file.
var storeFile = regexp.MustCompile(`(?s)/f/[0-9a-f]{32}[^ ]* .*?(?:\n\n|\z)`)

// disksOf returns the types of disks with blocks of the files of a table's family f, as reported by Hadoop's fsck.
func disksOf(t *testing.T, c *testcluster.Cluster, table string) (types []string) {
	t.Helper()
	out, err := c.JavaClass(t.Context(), "org.apache.hadoop.hdfs.tools.DFSck", "/hbase/data/"+strings.ReplaceAll(table, ":", "/"), "-files", "-blocks", "-locations")
	testcheck.Must(t, err)
	for _, file := range storeFile.FindAllString(out, -1) {
		for _, m := range regexp.MustCompile(`DatanodeInfoWithStorage\[[^\]]*,([A-Z]+)\]`).FindAllStringSubmatch(file, -1) {
			types = append(types, m[1])
		}
	}
	if len(types) < programRegions {
		t.Errorf("blocks are on %q:\n%.2000s", types, out)
	}
	slices.Sort(types)
	return slices.Compact(types)
}
