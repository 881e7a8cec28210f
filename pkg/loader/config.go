package loader

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"path"
	"strings"
	"time"

	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/hadoop/registry"
	"bulkload/pkg/kerberos"
)

// Config holds the addresses of the cluster, the user and the timeouts.
type Config struct {
	// Quorum lists ZooKeeper's servers, host:port separated by commas. Required without Registry.
	Quorum string
	// Root is HBase's znode. Default /hbase.
	Root string
	// Registry lists servers, host:port, that are asked for HBase's locations in place of ZooKeeper: its RPC registry. Masters answer since
	// HBase 2.3, region servers since 2.5. One that answers is enough, at most 64. Default: ZooKeeper is asked.
	Registry []string
	// RegistryMasters says that the servers of Registry are masters, which matters where masters have a Kerberos principal of their own.
	RegistryMasters bool
	// EffectiveUser is the user of all calls. Without Kerberos the servers trust it; with Kerberos it is the whole principal. Loads need it
	// to be the user that owns the files on HDFS. Required.
	EffectiveUser string
	// Owner is the effective user's name as a file owner on HDFS. Default: the effective user.
	Owner string
	// Dialer makes the connections to the master and the region servers, as net.Dialer.DialContext does. Default: TCP.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)
	// Secure authenticates on a connection to the master or to a region server of that host name, and returns one to use like a connection
	// without security. It closes the connection on failure. Nil: the cluster has no security.
	Secure func(ctx context.Context, nc net.Conn, host string, master bool) (net.Conn, error)
	// Token returns the HDFS delegation token with which a region server reads a file as the user. Nil: the cluster has no security; the
	// server then reads files as itself.
	Token func(ctx context.Context, file string) (*kerberos.Token, error)
	// DialTimeout bounds a connect. Default 20 s.
	DialTimeout time.Duration
	// LookupTimeout bounds one look into ZooKeeper, or one round of questions to the RPC registry. Default 15 s.
	LookupTimeout time.Duration
	// CallTimeout bounds the answer to an ordinary call. A region server may take half of hbase.rpc.timeout (60 s) for a
	// step of a scan that finds nothing. A call whose server answers later ones waits three times as long. Default 60 s.
	CallTimeout time.Duration
	// RetryTimeout is how long repeatable calls are repeated while a server, the master or a region is unavailable. Default 2 min.
	RetryTimeout time.Duration
	// ProcedureTimeout bounds the wait for a procedure of the master, such as the creation of a table or a snapshot. Default 5 min.
	ProcedureTimeout time.Duration
	// LoadTimeout bounds the answer to one load. A rename that HDFS refuses is repeated by the server for 55 s, waiting for
	// the region's lock can take another 60 s, and files on another file system are copied during the call. Default and
	// least value 10 min.
	LoadTimeout time.Duration
	// LoadGrace is how long a load continues once its context has ended: the first half for the answers to calls in flight, the rest for
	// resolving the outcome of files without an answer, and for cleaning up. Unresolved outcomes are left for the next attempt. Default 8
	// s.
	LoadGrace time.Duration
	// StageQuiet is how long a file must be still in the staging directory, after a lost answer, before it is taken back
	// from there. The server moves it on within milliseconds unless it was stopped in between. A third of it is between two
	// looks whether a region has left a server that does not answer. Default 30 s.
	StageQuiet time.Duration
	// SettleTimeout bounds the search for files after a lost answer. Default 5 min.
	SettleTimeout time.Duration
	// RootDir is HBase's directory (hbase.rootdir), needed to find a loaded file in its store. Default: not known; a file that is neither
	// at its source nor in the staging directory can then only be found by its cells in the table ([LoadRequest.Timestamp]).
	RootDir string
}

func (c Config) withDefaults() Config {
	c.Root = cmp.Or(c.Root, "/hbase")
	c.Owner = cmp.Or(c.Owner, c.EffectiveUser)
	if c.Dialer == nil {
		c.Dialer = (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext
	}
	c.DialTimeout = cmp.Or(c.DialTimeout, 20*time.Second)
	c.LookupTimeout = cmp.Or(c.LookupTimeout, 15*time.Second)
	c.CallTimeout = cmp.Or(c.CallTimeout, time.Minute)
	c.RetryTimeout = cmp.Or(c.RetryTimeout, 2*time.Minute)
	c.ProcedureTimeout = cmp.Or(c.ProcedureTimeout, 5*time.Minute)
	c.LoadTimeout = max(c.LoadTimeout, 10*time.Minute)
	c.LoadGrace = cmp.Or(c.LoadGrace, 8*time.Second)
	c.StageQuiet = cmp.Or(c.StageQuiet, 30*time.Second)
	c.SettleTimeout = cmp.Or(c.SettleTimeout, 5*time.Minute)
	return c
}

// rpc returns the settings of the connections.
func (c Config) rpc() hbaserpc.Options {
	return hbaserpc.Options{
		User: c.EffectiveUser, Dialer: c.Dialer, Secure: c.Secure, RegistryMasters: c.RegistryMasters, DialTimeout: c.DialTimeout, CallTimeout: c.CallTimeout,
	}
}

// registry returns the settings of the lookups.
func (c Config) registry(log *slog.Logger) registry.Options {
	return registry.Options{Quorum: c.Quorum, Root: c.Root, Servers: c.Registry, DialTimeout: c.DialTimeout, Timeout: c.LookupTimeout, Log: log}
}

// Validate checks the fields without defaults.
func (c Config) Validate() error {
	switch {
	case len(c.Registry) == 0 && strings.Trim(c.Quorum, ", ") == "":
		return errors.New("no ZooKeeper quorum: set HBASE_CONF_DIR or name the servers")
	case c.EffectiveUser == "":
		return errors.New("no effective user for HBase")
	case c.Root != "" && !path.IsAbs(c.Root):
		return errors.New("the HBase znode " + c.Root + " does not begin with a slash")
	}
	return registry.CheckServers(c.Registry)
}
