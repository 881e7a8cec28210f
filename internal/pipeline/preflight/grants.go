package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/pipeline/verify"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// openFiles returns the commands that let a user read HBase's files, later ones too, and more of HBase's directories. One names one directory:
// hdfs dfs -setfacl takes no more.
func openFiles(user, root string, more ...string) (commands []string) {
	for _, dir := range append([]string{"data", "archive"}, more...) {
		commands = append(commands, fmt.Sprintf("hdfs dfs -setfacl -R -m user:%s:r-x,default:user:%[1]s:r-x %s", user, path.Join(root, dir)))
	}
	return commands
}

// reads returns the statements for the tables that the job reads, the tables that it reads by their files, and whether it reads HBase's files:
// those of such a table, or of a snapshot.
func (f *checkFacts) reads() (statements []string, tables []loader.TableName, files bool) {
	if files = f.spec.Replace; files {
		tables = append(tables, f.name)
	}
	for _, input := range f.spec.Inputs {
		rights, scan := "RA", tablesource.ReadBy(f.spec.ReadBy) == tablesource.ByScan
		if scan {
			rights = "RC"
		}
		files = files || cluster.IsTable(input) && !scan
		if name, err := loader.ParseTableName(strings.TrimPrefix(input, cluster.TableScheme)); err == nil && strings.HasPrefix(input, cluster.TableScheme) {
			statements = append(statements, fmt.Sprintf("grant '%s', '%s', '%s'", f.user, rights, name))
			if !scan {
				tables = append(tables, name)
			}
		}
	}
	return statements, tables, files
}

// unasked returns why the rights are not complete: HBase or HDFS could not be asked. It is nil if both were.
func (f *checkFacts) unasked() error {
	err := cmp.Or(f.dialErr, f.staging.err)
	if err == nil && (is[*hdfsio.UnmetError](f.staging.probeErr) || hdfsio.Unavailable(f.staging.probeErr)) {
		err = f.staging.probeErr
	}
	if err == nil {
		return nil
	}
	return fail.With(fail.Check, setting.Errorf("the rights are not complete: %w", oneLine{err}))
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
	var lines []string
	if f.unasked() != nil {
		lines = append(lines, "# not complete: HBase or HDFS could not be asked")
	}
	lines = append(lines, "# HBase, by hbase shell", fmt.Sprintf("grant '%s', '%s', '%s'", user, rights, f.name))
	statements, _, files := f.reads()
	lines = append(lines, statements...)
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
	if root := verify.Root(f.env); root != "" && (files || f.spec.Verify == "files") {
		why, more := "by which the job is verified", []string(nil)
		if files {
			why, more = "which the job reads", []string{".hbase-snapshot"}
		}
		lines = append(lines, fmt.Sprintf("# HBase's files, %s, as HDFS's superuser", why), fmt.Sprintf("hdfs dfs -setfacl -m user:%s:--x %s", user, root))
		lines = append(lines, openFiles(user, root, more...)...)
		if f.env.Conf.Value("hbase.security.authentication") == "kerberos" { // MasterFileSystem.checkSubDir, 2.6.4
			lines = append(lines, "# HBase's master takes these rights away when it starts, unless its hbase-site.xml has hbase.rootdir.perms 750")
		}
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
