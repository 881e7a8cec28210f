package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"bulkload/internal/base/retry"
	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/hadoop/registry"
	"bulkload/pkg/keygen/rowkey"
)

// ErrTableExists is the error of creating a table that exists already.
var ErrTableExists = errors.New("the table exists already")

// master calls the active master, and repeats the call while there is no master, or it is starting or does not answer. Every call made
// through it can be repeated safely: it has no effects, or carries a nonce, by which the master recognizes a repetition, or does no harm twice
// (DeleteSnapshot, and MoveRegion, which reopens the region once more).
func (c *Cluster) master(ctx context.Context, method string, req, resp proto.Message) (err error) {
	var at registry.Places
	defer func() {
		if err != nil && late(ctx) {
			c.registry.Forget(at) // the next caller may find another master
		}
	}()
	return c.retry(ctx, method, passing, func(attempt int) (err error) {
		if attempt > 0 {
			c.registry.Forget(at)
		}
		if at, err = c.registry.Master(ctx); err != nil {
			return err
		}
		l, err := c.rpc.Connect(ctx, at.Master, hbaserpc.MasterService)
		if err != nil {
			return err
		}
		fresh := resp.ProtoReflect().New().Interface() // a late answer to an abandoned call must not be written to resp
		if err = l.InvokeWithin(ctx, c.cfg.CallTimeout, method, req, fresh); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				l.Close() // a master that is frozen keeps its connections
			}
			return err
		}
		proto.Merge(resp, fresh)
		return nil
	})
}

// nonce identifies a call with effects. Zero would mean none.
func nonce() *uint64 { return new(NewNonce()) }

// TableSpec describes a table to create.
type TableSpec struct {
	Name TableName
	// Families of the table, at least one. Zero fields take the server's defaults.
	Families []Family
	// Attributes and Configuration of the table.
	Attributes, Configuration map[string]string
	// SplitKeys are the first rows of the second and following regions, in order.
	SplitKeys [][]byte
	// CreateNamespace makes the namespace when it does not exist. Default: that is an error.
	CreateNamespace bool
}

// Validate checks the errors that the master would report less clearly.
func (s TableSpec) Validate() error {
	if s.Name.Qualifier == "" {
		return errors.New("a table needs a name")
	}
	if len(s.Families) == 0 {
		return fmt.Errorf("table %s: no column family", s.Name)
	}
	for i, f := range s.Families {
		if err := CheckFamily(f.Name); err != nil {
			return fmt.Errorf("table %s: %w", s.Name, err)
		}
		if slices.ContainsFunc(s.Families[:i], func(other Family) bool { return other.Name == f.Name }) {
			return fmt.Errorf("table %s: family %s is there twice", s.Name, f.Name)
		}
	}
	for i, key := range s.SplitKeys {
		if len(key) == 0 {
			return fmt.Errorf("table %s: split key %d is empty", s.Name, i+1)
		}
		if i > 0 && bytes.Compare(s.SplitKeys[i-1], key) >= 0 {
			return fmt.Errorf("table %s: split key %d, %s, does not come after %s", s.Name, i+1, rowkey.String(key), rowkey.String(s.SplitKeys[i-1]))
		}
	}
	return nil
}

// CreateTable creates a table and waits until its regions are in service. It returns [ErrTableExists] if the table exists, whatever its
// schema. A wait longer than [Config.ProcedureTimeout] is an error; the table may still be created afterwards.
func (c *Cluster) CreateTable(ctx context.Context, spec TableSpec) error {
	if err := spec.Validate(); err != nil {
		return err
	}
	schema := &pb.TableSchema{
		TableName:     spec.Name.proto(),
		Attributes:    bytePairs(spec.Attributes),
		Configuration: stringPairs(spec.Configuration),
	}
	for _, f := range spec.Families {
		schema.ColumnFamilies = append(schema.ColumnFamilies, f.schema())
	}
	slices.SortFunc(schema.ColumnFamilies, func(a, b *pb.ColumnFamilySchema) int { return bytes.Compare(a.Name, b.Name) })
	create := func() error {
		req := &pb.CreateTableRequest{TableSchema: schema, SplitKeys: spec.SplitKeys, NonceGroup: nonce(), Nonce: nonce()}
		return c.masterDoes(ctx, "CreateTable", req, &pb.CreateTableResponse{})
	}
	err := create()
	// The namespace is not checked first: that needs the right ADMIN, and a user with CREATE on it may create the table.
	if hbaserpc.Threw(err, "NamespaceNotFoundException") && spec.CreateNamespace {
		if err := c.createNamespace(ctx, spec.Name.Namespace); err != nil {
			return err
		}
		err = create()
	}
	switch {
	case hbaserpc.Threw(err, "TableExistsException"):
		err = ErrTableExists
	case hbaserpc.Threw(err, "NamespaceNotFoundException"):
		err = fmt.Errorf("namespace %s does not exist: create_namespace '%[1]s' in HBase's shell makes it", spec.Name.Namespace)
	default:
		err = c.denied(err, "CREATE", "C", "@"+spec.Name.Namespace)
	}
	if err != nil {
		return fmt.Errorf("create table %s: %w", spec.Name, err)
	}
	return nil
}

// createNamespace creates a namespace. It succeeds if another client has created it meanwhile.
func (c *Cluster) createNamespace(ctx context.Context, name string) error {
	req := &pb.CreateNamespaceRequest{NamespaceDescriptor: &pb.NamespaceDescriptor{Name: []byte(name)}, NonceGroup: nonce(), Nonce: nonce()}
	err := c.masterDoes(ctx, "CreateNamespace", req, &pb.CreateNamespaceResponse{})
	if err == nil || hbaserpc.Threw(err, "NamespaceExistException") {
		return nil
	}
	return fmt.Errorf("create namespace %s: %w", name, c.denied(err, "ADMIN", "A"))
}

// DisableTable disables a table and waits for that for at most [Config.ProcedureTimeout]. A disabled table stays as it is; for a table that
// does not exist it returns [ErrTableNotFound].
func (c *Cluster) DisableTable(ctx context.Context, table TableName) error {
	req := &pb.DisableTableRequest{TableName: table.proto(), NonceGroup: nonce(), Nonce: nonce()}
	return tableError("disable", table, c.masterDoes(ctx, "DisableTable", req, &pb.DisableTableResponse{}), "TableNotEnabledException")
}

// EnableTable enables a table and waits for that for at most [Config.ProcedureTimeout]. An enabled table stays as it is; for a table that
// does not exist it returns [ErrTableNotFound].
func (c *Cluster) EnableTable(ctx context.Context, table TableName) error {
	req := &pb.EnableTableRequest{TableName: table.proto(), NonceGroup: nonce(), Nonce: nonce()}
	return tableError("enable", table, c.masterDoes(ctx, "EnableTable", req, &pb.EnableTableResponse{}), "TableNotDisabledException")
}

// DeleteTable disables a table and deletes it with its data, each within [Config.ProcedureTimeout]. For a table that does not exist it
// returns [ErrTableNotFound].
func (c *Cluster) DeleteTable(ctx context.Context, table TableName) error {
	if err := c.DisableTable(ctx, table); err != nil {
		return err
	}
	req := &pb.DeleteTableRequest{TableName: table.proto(), NonceGroup: nonce(), Nonce: nonce()}
	err := c.masterDoes(ctx, "DeleteTable", req, &pb.DeleteTableResponse{})
	c.regions.put(table, nil)
	return tableError("delete", table, err)
}

// ChangeAttributes changes attributes of a table, and waits until the master has stored them. change gets the present attributes and returns those
// to change, with empty values for those to remove; an empty result changes nothing. HBase 2.5.13, 2.6 or later reopens no regions for this;
// earlier versions reopen them, one after the other. HBase cannot refuse the change if another client changes the table at the same moment.
func (c *Cluster) ChangeAttributes(ctx context.Context, table TableName, change func(now map[string]string) map[string]string) error {
	schema, err := c.descriptor(ctx, table)
	if err != nil {
		return fmt.Errorf("describe table %s: %w", table, err)
	}
	set := change(byteMap(schema.GetAttributes()))
	if len(set) == 0 {
		return nil
	}
	schema.Attributes = slices.DeleteFunc(schema.Attributes, func(p *pb.BytesBytesPair) bool {
		_, other := set[string(p.GetFirst())]
		return other
	})
	for _, p := range bytePairs(set) {
		if len(p.Second) > 0 {
			schema.Attributes = append(schema.Attributes, p)
		}
	}
	const reopenRegions = 5 // of ModifyTableRequest; gohbase's message has no field for it
	req := &pb.ModifyTableRequest{TableName: table.proto(), TableSchema: schema, NonceGroup: nonce(), Nonce: nonce()}
	req.ProtoReflect().SetUnknown(frames.AppendNumber(nil, reopenRegions, 0))
	err = c.masterDoes(ctx, "ModifyTable", req, &pb.ModifyTableResponse{})
	return tableError("modify", table, c.denied(err, "CREATE", "RWC", table.String()))
}

// tableError returns the error of a call about a table. The exceptions of done say that the table was so already.
func tableError(what string, table TableName, err error, done ...string) error {
	if err == nil || hbaserpc.Threw(err, done...) {
		return nil
	}
	if hbaserpc.Threw(err, "TableNotFoundException") {
		err = ErrTableNotFound
	}
	return fmt.Errorf("%s table %s: %w", what, table, err)
}

// masterDoes sends a request that the master runs as a procedure, and waits for its end for at most [Config.ProcedureTimeout].
func (c *Cluster) masterDoes(ctx context.Context, method string, req, resp proto.Message) error {
	if err := c.master(ctx, method, req, resp); err != nil {
		return err
	}
	// proc_id is 1 in all of these answers since HBase 2.0; some of gohbase's messages have no field for it.
	b, err := proto.Marshal(resp)
	if err != nil {
		return err
	}
	id, ok := varintField(b, 1)
	if !ok {
		return fmt.Errorf("%s: the master names no procedure", method)
	}
	return c.procedure(ctx, id)
}

// procedure waits until a procedure of the master has finished.
func (c *Cluster) procedure(ctx context.Context, id uint64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.ProcedureTimeout,
		fmt.Errorf("procedure %d was not done within %s: look at the master's procedures", id, c.cfg.ProcedureTimeout))
	defer cancel()
	pauses := retry.Policy{First: 20 * time.Millisecond, Most: time.Second}
	for asked := 1; ; asked++ {
		var resp pb.GetProcedureResultResponse
		if err := c.master(ctx, "getProcedureResult", &pb.GetProcedureResultRequest{ProcId: &id}, &resp); err != nil {
			return err
		}
		switch resp.GetState() {
		case pb.GetProcedureResultResponse_FINISHED:
			if e := resp.GetException().GetGenericException(); e != nil {
				return hbaserpc.NewRemoteError(e.GetClassName(), e.GetMessage())
			}
			return nil
		case pb.GetProcedureResultResponse_NOT_FOUND:
			return fmt.Errorf("the master no longer knows procedure %d: look whether it was done", id)
		}
		if err := pauses.Sleep(ctx, asked); err != nil {
			return err
		}
	}
}

// Status is a summary of the cluster's state.
type Status struct {
	Version string // the master's HBase version
	Master  string // host:port
	// Servers are the live region servers, host:port, sorted.
	Servers []string
	// Started are the live region servers with their start times: host,port,milliseconds, sorted. A restarted server has another name.
	Started []string
	// Dead is the number of region servers that the master lists as dead; it removes one when another starts at the same address.
	Dead int
	// Coprocessors are the simple class names of the coprocessors that live servers report for their WALs and regions, sorted.
	Coprocessors []string
	// StoreFiles is the average number of files per store, rounded up, by region name, as the servers last reported it.
	StoreFiles map[string]int
}

// Status reads the cluster's status from the master.
func (c *Cluster) Status(ctx context.Context) (Status, error) {
	var resp pb.GetClusterStatusResponse
	if err := c.master(ctx, "GetClusterStatus", &pb.GetClusterStatusRequest{}, &resp); err != nil {
		return Status{}, fmt.Errorf("cluster status: %w", err)
	}
	cs := resp.GetClusterStatus()
	s := Status{Version: cs.GetHbaseVersion().GetVersion(), Dead: len(cs.GetDeadServers()), Master: registry.Address(cs.GetMaster()), StoreFiles: map[string]int{}}
	for _, live := range cs.GetLiveServers() {
		s.Servers = append(s.Servers, registry.Address(live.GetServer()))
		s.Started = append(s.Started, fmt.Sprintf("%s,%d,%d", live.GetServer().GetHostName(), live.GetServer().GetPort(), live.GetServer().GetStartCode()))
		for _, class := range live.GetServerLoad().GetCoprocessors() {
			s.Coprocessors = append(s.Coprocessors, class.GetName())
		}
		for _, r := range live.GetServerLoad().GetRegionLoads() {
			if n, stores := r.GetStorefiles(), max(r.GetStores(), 1); n > 0 {
				s.StoreFiles[string(r.GetRegionSpecifier().GetValue())] = int((n + stores - 1) / stores)
			}
		}
	}
	slices.Sort(s.Servers)
	slices.Sort(s.Started)
	slices.Sort(s.Coprocessors)
	s.Coprocessors = slices.Compact(s.Coprocessors)
	return s, nil
}
