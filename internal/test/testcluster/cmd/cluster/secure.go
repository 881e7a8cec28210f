package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/pflag"

	"bulkload/internal/test/testcluster"
)

// addSecure registers the flags of "up" for a secured cluster.
func (o *options) addSecure(f *pflag.FlagSet) {
	s := &o.Security
	f.BoolVar(&o.secure, "secure", false, "Kerberos with a KDC of the cluster's own, and HBase's ACLs")
	f.StringVar(&o.level, "level", "authentication", "with --secure: authentication, integrity or privacy, for all of HDFS and HBase")
	f.StringVar((*string)(&s.RPC), "rpc-protection", "", "hadoop.rpc.protection (default: the level)")
	f.StringVar((*string)(&s.Data), "data-protection", "", "dfs.data.transfer.protection (default: the level)")
	f.StringVar((*string)(&s.HBase), "hbase-protection", "", "hbase.rpc.protection (default: the level)")
	f.StringVar(&o.aes, "aes", "", "on or off: AES for encrypted DataNode connections (default: on with privacy)")
	f.BoolVar(&s.EncryptData, "encrypt-data", false, "dfs.encrypt.data.transfer, with or without --secure")
	f.StringVar((*string)(&s.TLS), "tls", "", "TLS on HBase's RPC, with or without --secure, by stores of this form: PEM, JKS or PKCS12")
	f.BoolVar(&s.TLSClients, "tls-clients", false, "with --tls: clients show a certificate")
	f.DurationVar(&s.TicketLife, "ticket-life", 0, "life of the users' tickets (default a day)")
	f.DurationVar(&s.RenewLife, "renew-life", 0, "how long tickets can be renewed (default a week)")
}

// completeSecurity fills in what the level determines.
func (o *options) completeSecurity() error {
	s := &o.Security
	if o.secure {
		of := testcluster.AtLevel(testcluster.Protection(o.level))
		s.Kerberos, s.AES = true, of.AES
		s.RPC, s.Data, s.HBase = cmp.Or(s.RPC, of.RPC), cmp.Or(s.Data, of.Data), cmp.Or(s.HBase, of.HBase)
	}
	switch o.aes {
	case "":
	case "on", "off":
		s.AES = o.aes == "on"
	default:
		return fmt.Errorf("--aes is %q, not on or off", o.aes)
	}
	return nil
}
