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

// Protection is a value of hadoop.rpc.protection, dfs.data.transfer.protection and hbase.rpc.protection: one level,
// or several separated by commas. The client chooses one.
type Protection string

// The levels; each includes the previous one.
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

// Security defines the requirements for clients of the cluster. The zero value requires nothing. Equal values
// describe the same cluster.
type Security struct {
	// Kerberos starts a KDC for the cluster, and makes HDFS and HBase accept only Kerberos. HBase's ACLs are enabled.
	// hbase is not the HDFS superuser: that is hdfs, the NameNode's user.
	Kerberos bool `json:"kerberos,omitempty"`

	// RPC is hadoop.rpc.protection, Data dfs.data.transfer.protection, HBase hbase.rpc.protection. With
	// Kerberos the default of each is Authentication; without, they must be empty.
	RPC   Protection `json:"rpc,omitempty"`
	Data  Protection `json:"data,omitempty"`
	HBase Protection `json:"hbase,omitempty"`

	// AES makes encrypted DataNode connections switch to AES/CTR after the handshake
	// (dfs.encrypt.data.transfer.cipher.suites), which is many times as fast as SASL's ciphers.
	AES bool `json:"aes,omitempty"`

	// EncryptData is dfs.encrypt.data.transfer, with or without Kerberos: connections to DataNodes use keys that the
	// NameNode issues.
	EncryptData bool `json:"encrypt_data,omitempty"`

	// TicketLife limits the tickets of the users; those of the daemons last a day, since Hadoop does not log in again
	// within a minute. RenewLife is the renewable lifetime of a ticket. Defaults: a day, a week. With a TicketLife
	// the clocks may differ by 10 s; otherwise a ticket would be valid for 5 minutes after its end.
	TicketLife time.Duration `json:"ticket_life,omitempty"`
	RenewLife  time.Duration `json:"renew_life,omitempty"`

	// TLS makes HBase's servers accept only TLS, with or without Kerberos; its value is the form of the stores in the
	// configuration. TLSClients makes them request client certificates, which is HBase's default.
	TLS        StoreType `json:"tls,omitempty"`
	TLSClients bool      `json:"tls_clients,omitempty"`
}

// AtLevel returns Kerberos with one level for everything, and AES where data are encrypted.
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

// describe returns a description for an error about two clusters that differ.
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

// The users of a cluster with Kerberos, each with a home directory. None is an HDFS superuser. [Cluster.Grant] gives
// them their rights on tables.
const (
	Loader   = "loader"
	NoCreate = "nocreate"
	Nobody   = "nobody"
)

// Mapped is a principal that the servers map to [Loader] (hadoop.security.auth_to_local).
const Mapped = "Night.Batch"

// The principals of the daemons. HBaseAdmin has all rights in HBase, HDFSAdmin in HDFS.
const (
	HBaseAdmin = "hbase/localhost"
	HDFSAdmin  = "nn/localhost"
	dataNodeID = "dn/localhost"
	webID      = "HTTP/localhost"
)

var (
	users    = []string{Loader, NoCreate, Nobody, Mapped}
	services = []string{HDFSAdmin, dataNodeID, HBaseAdmin, webID}
	// yarnServices are the services of a cluster with YARN.
	yarnServices = []string{resourceManagerID, nodeManagerID, historyServerID}
)

// Security returns the security options of the cluster's start.
func (c *Cluster) Security() Security { return c.state.Security }

// Grant gives the users their rights on tables: Loader reads, writes and creates, as a bulk load requires, NoCreate
// reads and writes, Nobody has none.
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

// keytab returns nn.keytab for nn/localhost.
func (l layout) keytab(name string) string {
	service, _, _ := strings.Cut(name, "/")
	return filepath.Join(l.kdc(), service+".keytab")
}
