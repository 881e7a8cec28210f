package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"bulkload/internal/pipeline/verify"
)

// openFiles returns the command that lets a user read HBase's files, later ones too.
func openFiles(user, root string) string {
	return fmt.Sprintf("hdfs dfs -setfacl -R -m user:%s:r-x,default:user:%[1]s:r-x %[2]s/data %[2]s/archive", user, root)
}

// grants returns the rights that the job's user needs on this cluster, as lines for an administrator: commands, and comments that begin
// with "#". It includes existing rights: granting them again changes nothing.
func (f *checkFacts) grants() []string {
	user, hbase := f.user, cmp.Or(f.bulk.owner, "hbase")
	rights := "RC"
	switch {
	case f.spec.Replace, f.options.Snapshot:
		rights = "RCA" // the job takes a snapshot
	case f.spec.Verify == "off":
		rights = "C"
	}
	lines := []string{"# HBase, by hbase shell", fmt.Sprintf("grant '%s', '%s', '%s'", user, rights, f.name)}
	if l := f.staging.location; l.Path != "" {
		lines = append(lines, "# HDFS, as its superuser",
			fmt.Sprintf("hdfs dfs -mkdir -p %s", l.Path), fmt.Sprintf("hdfs dfs -chown %s %s", user, l.Path), fmt.Sprintf("hdfs dfs -chmod 711 %s", l.Path))
		for _, a := range slices.Backward(f.staging.above) {
			if a.path != l.Path && a.mode.Perm()&0o001 == 0 && a.owner != hbase {
				// Without a mask HDFS makes it the union of all entries; a given one would take rights from others.
				lines = append(lines, fmt.Sprintf("hdfs dfs -setfacl -m user:%s:--x %s", hbase, a.path))
			}
		}
	}
	if b := f.bulk; b.staging != nil && b.staging.Mode().Perm()&0o011 != 0o011 {
		dir := b.token[:strings.LastIndexByte(b.token, '/')]
		lines = append(lines, fmt.Sprintf("hdfs dfs -chmod 711 %s", dir))
	}
	if root := verify.Root(f.env); f.spec.Verify == "files" && root != "" {
		lines = append(lines, "# HBase's files, by which the job is verified, as HDFS's superuser", openFiles(f.user, root), fmt.Sprintf("hdfs dfs -setfacl -m user:%s:--x %s", user, root))
	}
	for _, input := range f.security.inputs {
		lines = append(lines, fmt.Sprintf("hdfs dfs -setfacl -R -m user:%s:r-x %s", user, input))
		if dir := path.Dir(input); dir != "/" {
			lines = append(lines, fmt.Sprintf("hdfs dfs -setfacl -m user:%s:r-x %s", user, dir))
		}
	}
	keys := map[string]bool{}
	for _, zone := range f.security.zones {
		keys[cmp.Or(zone.Key, "the key of "+zone.Root)] = true
	}
	for i, key := range slices.Sorted(maps.Keys(keys)) {
		if i == 0 {
			lines = append(lines, "# KMS, in kms-acls.xml: properties with the user's name; in Ranger: Decrypt EEK on these keys")
		}
		lines = append(lines, fmt.Sprintf("key.acl.%s.DECRYPT_EEK=%s", key, user))
	}
	return lines
}
