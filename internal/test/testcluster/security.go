package testcluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Protection is a value of hadoop.rpc.protection, dfs.data.transfer.protection and hbase.rpc.protection:
// one level, or several with commas between. The client chooses one.
type Protection string

// The levels, each with what the one before it has.
const (
	Authentication Protection = "authentication" // the client is authenticated once, at the start
	Integrity      Protection = "integrity"      // every message is signed
	Privacy        Protection = "privacy"        // every message is encrypted
)

func (p Protection) validate(key string) error {
	for level := range strings.SplitSeq(string(p), ",") {
		if !slices.Contains([]Protection{Authentication, Integrity, Privacy}, Protection(level)) {
			return fmt.Errorf("test cluster: %s is %q, not %s, %s or %s", key, p, Authentication, Integrity, Privacy)
		}
	}
	return nil
}

// Security says which clients may use the cluster, and how. The zero value requires nothing. Two
// values that are equal describe the same cluster.
type Security struct {
	// Kerberos starts a KDC of the cluster's own and has HDFS and HBase accept Kerberos only. HBase's ACLs
	// are on, and hbase is not HDFS superuser: that is hdfs, the NameNode's user.
	Kerberos bool `json:"kerberos,omitempty"`

	// RPC is hadoop.rpc.protection, Data dfs.data.transfer.protection, HBase hbase.rpc.protection. With
	// Kerberos the default of each is Authentication; without, they must be empty.
	RPC   Protection `json:"rpc,omitempty"`
	Data  Protection `json:"data,omitempty"`
	HBase Protection `json:"hbase,omitempty"`

	// AES has DataNode connections that are encrypted go over to AES/CTR after the handshake
	// (dfs.encrypt.data.transfer.cipher.suites), which is many times as fast as what SASL has.
	AES bool `json:"aes,omitempty"`

	// EncryptData is dfs.encrypt.data.transfer, with or without Kerberos: DataNodes are spoken to with
	// keys that the NameNode hands out.
	EncryptData bool `json:"encrypt_data,omitempty"`

	// TicketLife bounds the tickets of the users; those of the daemons last a day, since Hadoop's do not
	// log in again within a minute. RenewLife is how long a ticket can be renewed. Defaults: a day, a week.
	// With a TicketLife the clocks may differ by 10 s, else a ticket outlives its end by 5 minutes.
	TicketLife time.Duration `json:"ticket_life,omitempty"`
	RenewLife  time.Duration `json:"renew_life,omitempty"`

	// TLS has HBase's servers take TLS only, with or without Kerberos; it is the form of the stores that
	// the configuration names. TLSClients has them ask clients for a certificate, which is HBase's default.
	TLS        StoreType `json:"tls,omitempty"`
	TLSClients bool      `json:"tls_clients,omitempty"`
}

// AtLevel is Kerberos with one level for everything, and AES where data is encrypted.
func AtLevel(level Protection) Security {
	return Security{Kerberos: true, RPC: level, Data: level, HBase: level, AES: level == Privacy}
}

func (s Security) withDefaults() Security {
	if !s.Kerberos {
		return s
	}
	for _, p := range []*Protection{&s.RPC, &s.Data, &s.HBase} {
		if *p == "" {
			*p = Authentication
		}
	}
	return s
}

func (s Security) validate() error {
	if err := s.TLS.validate(); err != nil {
		return err
	}
	if s.TLSClients && s.TLS == "" {
		return errors.New("test cluster: certificates of clients need Security.TLS")
	}
	if !s.Kerberos {
		if s.RPC != "" || s.Data != "" || s.HBase != "" || s.TicketLife != 0 || s.RenewLife != 0 {
			return errors.New("test cluster: protections and lives of tickets need Security.Kerberos")
		}
		return nil
	}
	s = s.withDefaults()
	if s.TicketLife < 0 || s.RenewLife < 0 {
		return errors.New("test cluster: the life of a ticket is negative")
	}
	return errors.Join(s.RPC.validate("hadoop.rpc.protection"), s.Data.validate("dfs.data.transfer.protection"),
		s.HBase.validate("hbase.rpc.protection"))
}

// describe is for an error about two clusters that are not the same.
func (s Security) describe() string {
	var parts []string
	if s.Kerberos {
		parts = append(parts, fmt.Sprintf("kerberos (rpc %s, data %s, hbase %s)", s.RPC, s.Data, s.HBase))
	}
	for name, on := range map[string]bool{"aes": s.AES, "encrypted data transfer": s.EncryptData, "tls by " + string(s.TLS): s.TLS != "", "certificates of clients": s.TLSClients} {
		if on {
			parts = append(parts, name)
		}
	}
	if s.TicketLife > 0 || s.RenewLife > 0 {
		parts = append(parts, fmt.Sprintf("tickets of %s, renewable for %s", s.TicketLife, s.RenewLife))
	}
	if len(parts) == 0 {
		return "no security"
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// Realm is the realm of a cluster with Kerberos.
const Realm = "BULKLOAD.TEST"

// The users of a cluster with Kerberos, each with a home. None is an HDFS superuser. What they may do on
// a table is in [Cluster.Grant].
const (
	Loader   = "loader"
	NoCreate = "nocreate"
	Nobody   = "nobody"
)

// Mapped is a principal that the servers call [Loader] (hadoop.security.auth_to_local).
const Mapped = "Night.Batch"

// The principals of the daemons. As HBaseAdmin one may do everything in HBase, as HDFSAdmin in HDFS.
const (
	HBaseAdmin = "hbase/localhost"
	HDFSAdmin  = "nn/localhost"
	dataNodeID = "dn/localhost"
	webID      = "HTTP/localhost"
)

var (
	users    = []string{Loader, NoCreate, Nobody, Mapped}
	services = []string{HDFSAdmin, dataNodeID, HBaseAdmin, webID}
	// yarnServices are those of a cluster with YARN.
	yarnServices = []string{resourceManagerID, nodeManagerID, historyServerID}
)

// Security returns what the cluster was started with.
func (c *Cluster) Security() Security { return c.state.Security }

// Grant gives the users their rights on tables: Loader reads, writes and creates, which is what a bulk load
// wants, NoCreate reads and writes, Nobody has none.
func (c *Cluster) Grant(ctx context.Context, tables ...string) error {
	a, err := c.Admin(ctx)
	if err != nil {
		return err
	}
	for _, table := range tables {
		for _, right := range [][2]string{{Loader, "RWC"}, {NoCreate, "RW"}} {
			if _, err := a.Run(ctx, "grant", table, right[0], right[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Principal returns the full name of a user or of a daemon: loader@BULKLOAD.TEST.
func Principal(name string) string { return name + "@" + Realm }

// Keytab returns the file with the keys of a user or of a daemon of a cluster with Kerberos.
func (c *Cluster) Keytab(name string) string { return c.layout.keytab(name) }

// Krb5Conf returns the krb5.conf of a cluster with Kerberos, for KRB5_CONFIG.
func (c *Cluster) Krb5Conf() string { return c.layout.krb5Conf() }

func (l layout) kdc() string      { return filepath.Join(l.dir, "kdc") }
func (l layout) krb5Conf() string { return filepath.Join(l.kdc(), "krb5.conf") }
func (l layout) kdcConf() string  { return filepath.Join(l.kdc(), "kdc.conf") }

// keytab is nn.keytab for nn/localhost.
func (l layout) keytab(name string) string {
	service, _, _ := strings.Cut(name, "/")
	return filepath.Join(l.kdc(), service+".keytab")
}
