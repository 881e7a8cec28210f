package testcluster

import (
	"maps"
	"strings"
)

// clientSecurity adds the settings of every client of a secured cluster.
func clientSecurity(s Security, core, hdfs, hbase map[string]string) {
	if s.AES {
		hdfs["dfs.encrypt.data.transfer.cipher.suites"] = "AES/CTR/NoPadding"
	}
	if s.EncryptData {
		hdfs["dfs.encrypt.data.transfer"] = "true"
	}
	if !s.Kerberos {
		return
	}
	core["hadoop.security.authentication"] = "kerberos"
	core["hadoop.security.authorization"] = "true"
	core["hadoop.rpc.protection"] = string(s.RPC)
	// A rule's pattern ends at its first closing parenthesis.
	core["hadoop.security.auth_to_local"] = strings.Join([]string{
		"RULE:[2:$1@$0](nn@" + Realm + ")s/.*/hdfs/",
		"RULE:[2:$1@$0](dn@" + Realm + ")s/.*/hdfs/",
		"RULE:[2:$1@$0](hbase@" + Realm + ")s/.*/hbase/",
		"RULE:[1:$1@$0](" + Mapped + "@" + Realm + ")s/.*/" + Loader + "/",
		"RULE:[2:$1@$0](rm@" + Realm + ")s/.*/" + yarnUser + "/",
		"RULE:[2:$1@$0](nm@" + Realm + ")s/.*/" + yarnUser + "/",
		"RULE:[2:$1@$0](jhs@" + Realm + ")s/.*/" + mapredUser + "/",
		"DEFAULT",
	}, "\n")
	// The history server reads files that other users' tasks write for its group.
	core["hadoop.user.group.static.mapping.overrides"] = "dr.who=;" + yarnUser + "=" + yarnGroup + ";" + mapredUser + "=" + yarnGroup
	hdfs["dfs.namenode.kerberos.principal"] = Principal("nn/_HOST")
	hdfs["dfs.journalnode.kerberos.principal"] = Principal("nn/_HOST")
	hdfs["dfs.journalnode.kerberos.internal.spnego.principal"] = Principal("HTTP/_HOST")
	hdfs["dfs.datanode.kerberos.principal"] = Principal("dn/_HOST")
	hdfs["dfs.data.transfer.protection"] = string(s.Data)
	hbase["hbase.security.authentication"] = "kerberos"
	hbase["hbase.security.authorization"] = "true"
	hbase["hbase.rpc.protection"] = string(s.HBase)
	hbase["hbase.master.kerberos.principal"] = Principal("hbase/_HOST")
	hbase["hbase.regionserver.kerberos.principal"] = Principal("hbase/_HOST")
}

// daemonSecurity adds the settings that only the daemons have, such as keytabs.
func daemonSecurity(l layout, s Security, hdfs, hbase map[string]string) {
	if s.EncryptData || s.Kerberos {
		hdfs["dfs.block.access.token.enable"] = "true"
	}
	if !s.Kerberos {
		return
	}
	const access = "org.apache.hadoop.hbase.security.access.AccessController"
	maps.Copy(hdfs, map[string]string{
		"dfs.datanode.hostname":                     "localhost",
		"dfs.namenode.keytab.file":                  l.keytab(HDFSAdmin),
		"dfs.journalnode.keytab.file":               l.keytab(HDFSAdmin),
		"dfs.datanode.keytab.file":                  l.keytab(dataNodeID),
		"dfs.web.authentication.kerberos.principal": Principal("HTTP/_HOST"),
		"dfs.web.authentication.kerberos.keytab":    l.keytab(webID),
		// Otherwise a DataNode requires a port below 1024 or TLS on its web pages; SASL stays on.
		"ignore.secure.ports.for.testing": "true",
	})
	maps.Copy(hbase, map[string]string{
		"hbase.master.keytab.file":               l.keytab(HBaseAdmin),
		"hbase.regionserver.keytab.file":         l.keytab(HBaseAdmin),
		"hbase.coprocessor.master.classes":       access,
		"hbase.coprocessor.regionserver.classes": access,
		"hbase.coprocessor.region.classes":       "org.apache.hadoop.hbase.security.token.TokenProvider," + access,
	})
}
