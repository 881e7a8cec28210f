package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"bulkload/internal/test/testcluster"
)

// secureOptions are the flags of "up" for a secured cluster.
type secureOptions struct {
	kerberos    bool
	level       string
	rpc, data   string
	hbase       string
	aes         string
	encryptData bool
	tls         string
	tlsClients  bool
	ticketLife  time.Duration
	renewLife   time.Duration
}

func (s *secureOptions) register(f *pflag.FlagSet) {
	f.BoolVar(&s.kerberos, "secure", false, "Kerberos with a KDC of the cluster's own, and HBase's ACLs")
	f.StringVar(&s.level, "level", "authentication", "with --secure: authentication, integrity or privacy, for all of HDFS and HBase")
	f.StringVar(&s.rpc, "rpc-protection", "", "hadoop.rpc.protection (default: the level)")
	f.StringVar(&s.data, "data-protection", "", "dfs.data.transfer.protection (default: the level)")
	f.StringVar(&s.hbase, "hbase-protection", "", "hbase.rpc.protection (default: the level)")
	f.StringVar(&s.aes, "aes", "", "on or off: AES for encrypted DataNode connections (default: on with privacy)")
	f.BoolVar(&s.encryptData, "encrypt-data", false, "dfs.encrypt.data.transfer, with or without --secure")
	f.StringVar(&s.tls, "tls", "", "TLS on HBase's RPC, with or without --secure, by stores of this form: PEM, JKS or PKCS12")
	f.BoolVar(&s.tlsClients, "tls-clients", false, "with --tls: clients show a certificate")
	f.DurationVar(&s.ticketLife, "ticket-life", 0, "life of the users' tickets (default a day)")
	f.DurationVar(&s.renewLife, "renew-life", 0, "how long tickets can be renewed (default a week)")
}

func (s secureOptions) security() (testcluster.Security, error) {
	var out testcluster.Security
	if s.kerberos {
		out = testcluster.AtLevel(testcluster.Protection(s.level))
	}
	for _, p := range []struct {
		to    *testcluster.Protection
		given string
	}{{&out.RPC, s.rpc}, {&out.Data, s.data}, {&out.HBase, s.hbase}} {
		if p.given != "" {
			*p.to = testcluster.Protection(p.given)
		}
	}
	switch s.aes {
	case "":
	case "on", "off":
		out.AES = s.aes == "on"
	default:
		return out, fmt.Errorf("--aes is %q, not on or off", s.aes)
	}
	out.TLS, out.TLSClients = testcluster.StoreType(s.tls), s.tlsClients
	out.EncryptData, out.TicketLife, out.RenewLife = s.encryptData, s.ticketLife, s.renewLife
	return out, nil
}
