package loader

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// Defaults of a family's attributes (ColumnFamilyDescriptorBuilder, HBase 2.6).
const (
	defaultCompression = "NONE"
	defaultEncoding    = "NONE"
	defaultBloom       = "ROW"
	defaultBlockSize   = 64 << 10
	defaultVersions    = 1
	// Forever is the TTL, in seconds, of cells that do not expire.
	Forever = 1<<31 - 1
)

// Table describes a table.
type Table struct {
	Name  TableName
	State TableState
	// StateTime is when the master last wrote the state: not before the table was last created, truncated, restored, disabled or enabled.
	// Splits, merges and moves of regions do not change it.
	StateTime int64
	// Families are sorted by name.
	Families []Family
	// Attributes and Configuration are copied from the descriptor. HBase 2 keeps a table's configuration among its attributes.
	Attributes, Configuration map[string]string
	// MaxFileSize is the size in bytes at which a region splits; 0 means the server's hbase.hregion.max.filesize.
	MaxFileSize int64
	ReadOnly    bool
}

// Family describes a column family. Fields of an absent attribute have the server's default.
type Family struct {
	Name        string
	Compression string // NONE, SNAPPY, GZ, LZ4, ZSTD, …
	Encoding    string // of data blocks: NONE, FAST_DIFF, DIFF, PREFIX, ROW_INDEX_V1
	Bloom       string // NONE, ROW, ROWCOL, ROWPREFIX_FIXED_LENGTH
	BloomParam  string // the prefix length of ROWPREFIX_FIXED_LENGTH, else empty
	BlockSize   int    // bytes
	TTL         int64  // seconds
	Versions    int
	// Attributes and Configuration are copied from the descriptor.
	Attributes, Configuration map[string]string
}

// FamilyNames returns the names of the table's families, in their order.
func (t *Table) FamilyNames() (names []string) {
	for _, f := range t.Families {
		names = append(names, f.Name)
	}
	return names
}

// Family finds a family by name.
func (t *Table) Family(name string) (Family, bool) {
	for _, f := range t.Families {
		if f.Name == name {
			return f, true
		}
	}
	return Family{}, false
}

// FileTracker returns the table's or the family's store-file tracker, upper case as in hbase.store.file-tracker.impl, or
// DEFAULT.
func (t *Table) FileTracker(f Family) string {
	const key = "hbase.store.file-tracker.impl"
	return cmp.Or(f.Configuration[key], f.Attributes[key], t.Configuration[key], t.Attributes[key], "DEFAULT")
}

// Describe reads the table's descriptor from the master. For a table that does not exist it returns ErrTableNotFound.
func (c *Cluster) Describe(ctx context.Context, table TableName) (*Table, error) {
	// The state needs no master, so a mistyped name is found without one. The master is asked at the same time.
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	var t *Table
	answered := make(chan error, 1)
	go func() {
		schema, err := c.descriptor(asking, table)
		if err == nil {
			t, err = parseTable(table, schema)
		}
		answered <- err
	}()
	state, at, err := c.tableStateAt(ctx, table)
	if err != nil {
		cancel()
		<-answered
		return nil, fmt.Errorf("describe table: %w", err)
	}
	if err := <-answered; err != nil {
		return nil, fmt.Errorf("describe table %s: %w", table, err)
	}
	t.State, t.StateTime = state, at
	return t, nil
}

// descriptor reads a table's descriptor from the master, with fields unknown to this program.
func (c *Cluster) descriptor(ctx context.Context, table TableName) (*pb.TableSchema, error) {
	var resp pb.GetTableDescriptorsResponse
	if err := c.master(ctx, "GetTableDescriptors", &pb.GetTableDescriptorsRequest{TableNames: []*pb.TableName{table.proto()}}, &resp); err != nil {
		return nil, c.denied(err, "CREATE", "RWC", table.String())
	}
	if len(resp.GetTableSchema()) != 1 {
		return nil, ErrTableNotFound
	}
	return resp.GetTableSchema()[0], nil
}

// Tables lists the user tables that this user may see, in the master's order.
func (c *Cluster) Tables(ctx context.Context) ([]TableName, error) {
	var resp pb.GetTableNamesResponse
	if err := c.master(ctx, "GetTableNames", &pb.GetTableNamesRequest{IncludeSysTables: proto.Bool(false)}, &resp); err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	var all []TableName
	for _, n := range resp.GetTableNames() {
		all = append(all, TableName{string(n.GetNamespace()), string(n.GetQualifier())})
	}
	return all, nil
}

// DescribedBy returns the table of a descriptor, such as that of a snapshot. Its state is not known.
func DescribedBy(name TableName, schema *pb.TableSchema) (*Table, error) {
	t, err := parseTable(name, schema)
	if err != nil {
		return nil, fmt.Errorf("descriptor of table %s: %w", name, err)
	}
	return t, nil
}

func parseTable(name TableName, schema *pb.TableSchema) (*Table, error) {
	t := &Table{Name: name, Attributes: byteMap(schema.GetAttributes()), Configuration: stringMap(schema.GetConfiguration())}
	var err error
	if v := t.Attributes["MAX_FILESIZE"]; v != "" {
		if t.MaxFileSize, err = strconv.ParseInt(v, 10, 64); err != nil {
			return nil, fmt.Errorf("MAX_FILESIZE: %w", err)
		}
		t.MaxFileSize = max(t.MaxFileSize, 0) // -1 is the default written out
	}
	t.ReadOnly = t.Attributes["READONLY"] == "true"
	for _, cf := range schema.GetColumnFamilies() {
		f, err := parseFamily(cf)
		if err != nil {
			return nil, fmt.Errorf("family %s: %w", cf.GetName(), err)
		}
		t.Families = append(t.Families, f)
	}
	return t, nil
}

func parseFamily(cf *pb.ColumnFamilySchema) (Family, error) {
	f := Family{
		Name:        string(cf.GetName()),
		Compression: defaultCompression, Encoding: defaultEncoding, Bloom: defaultBloom,
		BlockSize: defaultBlockSize, TTL: Forever, Versions: defaultVersions,
		Attributes: byteMap(cf.GetAttributes()), Configuration: stringMap(cf.GetConfiguration()),
	}
	for key, field := range map[string]*string{"COMPRESSION": &f.Compression, "DATA_BLOCK_ENCODING": &f.Encoding, "BLOOMFILTER": &f.Bloom} {
		if v := f.Attributes[key]; v != "" {
			*field = v
		}
	}
	for _, m := range []map[string]string{f.Attributes, f.Configuration} {
		if v := m[bloomPrefixLength]; v != "" {
			f.BloomParam = v
		}
	}
	for _, n := range []struct {
		key string
		set func(int64)
	}{
		{"BLOCKSIZE", func(v int64) { f.BlockSize = int(v) }},
		{"VERSIONS", func(v int64) { f.Versions = int(v) }},
		{"TTL", func(v int64) { f.TTL = v }},
	} {
		value := f.Attributes[n.key]
		if value == "" || value == "FOREVER" && n.key == "TTL" { // the shell may have stored FOREVER
			continue
		}
		v, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return f, fmt.Errorf("%s: %w", n.key, err)
		}
		n.set(v)
	}
	return f, nil
}

// bloomPrefixLength is the parameter of a ROWPREFIX_FIXED_LENGTH bloom filter (BloomFilterUtil.PREFIX_LENGTH_KEY).
const bloomPrefixLength = "RowPrefixBloomFilter.prefix_length"

// schema returns the family as a descriptor. Fields override the attributes of the same meaning; a zero field keeps the attribute, or the
// server's default.
func (f Family) schema() *pb.ColumnFamilySchema {
	attributes := map[string]string{}
	maps.Copy(attributes, f.Attributes)
	set := func(key, value string) {
		if value != "" && value != "0" {
			attributes[key] = value
		}
	}
	set("COMPRESSION", f.Compression)
	set("DATA_BLOCK_ENCODING", f.Encoding)
	set("BLOOMFILTER", f.Bloom)
	set("BLOCKSIZE", strconv.Itoa(f.BlockSize))
	set("TTL", strconv.FormatInt(f.TTL, 10))
	set("VERSIONS", strconv.Itoa(f.Versions))
	configuration := map[string]string{}
	maps.Copy(configuration, f.Configuration)
	if f.BloomParam != "" {
		configuration[bloomPrefixLength] = f.BloomParam
	}
	return &pb.ColumnFamilySchema{Name: []byte(f.Name), Attributes: bytePairs(attributes), Configuration: stringPairs(configuration)}
}

func byteMap(pairs []*pb.BytesBytesPair) map[string]string {
	m := make(map[string]string, len(pairs))
	for _, p := range pairs {
		m[string(p.GetFirst())] = string(p.GetSecond())
	}
	return m
}

func stringMap(pairs []*pb.NameStringPair) map[string]string {
	m := make(map[string]string, len(pairs))
	for _, p := range pairs {
		m[p.GetName()] = p.GetValue()
	}
	return m
}

func bytePairs(m map[string]string) []*pb.BytesBytesPair {
	var pairs []*pb.BytesBytesPair
	for _, key := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, &pb.BytesBytesPair{First: []byte(key), Second: []byte(m[key])})
	}
	return pairs
}

func stringPairs(m map[string]string) []*pb.NameStringPair {
	var pairs []*pb.NameStringPair
	for _, key := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, &pb.NameStringPair{Name: &key, Value: new(m[key])})
	}
	return pairs
}
