package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// Dial connects to the cluster of the configuration.
func (e *Env) Dial(ctx context.Context) (*loader.Cluster, error) {
	registry, err := FindRegistry(e.Conf)
	if err != nil {
		return nil, err
	}
	if registry.Quorum == "" && len(registry.Servers) == 0 {
		return nil, errNoCluster("HBase's ZooKeeper")
	}
	root := Root(e.Conf)
	if strings.HasPrefix(strings.ToLower(root), "viewfs:") {
		return nil, fail.Errorf(fail.Config, "hbase.rootdir = %s (%s) is a viewfs path, with which HBase copies files: set the hdfs:// path that region servers use", root, origin(e.Conf, RootDirKey))
	}
	const suffix = "hbase.meta.table.suffix"
	if v := e.Conf.Value(suffix); v != "" {
		return nil, fail.Errorf(fail.Config, "%s = %s (%s): a catalog of another name than hbase:meta, as read replica clusters have it, is not supported: use the primary cluster", suffix, v, origin(e.Conf, suffix))
	}
	user, err := e.User()
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	cfg := loader.Config{Quorum: registry.Quorum, Registry: registry.Servers, RegistryMasters: registry.Masters, Root: e.Conf.Znode(),
		EffectiveUser: user, RootDir: root}
	if err := e.secureHBase(&cfg); err != nil {
		return nil, err
	}
	c, err := loader.Dial(ctx, cfg, e.Log)
	return c, Failure(err)
}

// ClusterID connects to HBase and returns the cluster's id.
func (e *Env) ClusterID(ctx context.Context) (string, error) {
	c, err := e.Dial(ctx)
	if err != nil {
		return "", err
	}
	defer c.Close()
	id, err := c.ID(ctx)
	return id, Failure(err)
}

// Failure marks the error of a request about the job's table: with [fail.Load] if the cluster did not answer and may answer later, else with [fail.Check].
func Failure(err error) error {
	if loader.Unavailable(err) {
		return fail.With(fail.Load, err)
	}
	return fail.With(fail.Check, err)
}

// Facts holds the properties of a table that a job needs.
type Facts struct {
	Name     loader.TableName
	Table    *loader.Table
	Family   spec.Family   // the first of the requested families
	Families []spec.Family // all requested families
	Splits   [][]byte
	Regions  []loader.Region
	// Near returns the server of a row's region. It is nil if files need not be on the hosts of their regions.
	Near func(row []byte) string
	// Policies are the storage policies of families, by name. Families with HDFS's default policy are omitted.
	Policies map[string]string

	zstd hfile.ZstdFraming // see [ZstdFraming]
}

// StoragePolicy returns the storage policy of a family's files: that of the family if it has one, else that of the table, else that of the
// site configuration. It is empty for HDFS's default (HStore, HBase 2.6).
func StoragePolicy(t *loader.Table, cf loader.Family, site func(string) string) string {
	const key = "hbase.hstore.block.storage.policy"
	policy := strings.ToUpper(cmp.Or(cf.Attributes["STORAGE_POLICY"], cf.Configuration[key], cf.Attributes[key], t.Configuration[key], t.Attributes[key], site(key)))
	if policy == "HOT" || policy == "NONE" {
		return ""
	}
	return policy
}

// Expired reports whether readers do not see cells with this timestamp in a family, because of the family's TTL (StoreScanner, HBase 2.6). It also
// returns the TTL, 0 for none.
func Expired(cf loader.Family, timestamp int64) (bool, time.Duration) {
	if cf.TTL == loader.Forever || cf.TTL <= 0 {
		return false, 0
	}
	ttl := time.Duration(cf.TTL) * time.Second
	kept := cf.Attributes["MIN_VERSIONS"] // this many versions of each column do not expire
	return timestamp > 0 && (kept == "" || kept == "0") && time.Since(time.UnixMilli(timestamp)) > ttl, ttl
}

// localityKey enables writing HFiles on the hosts of their regions (HFileOutputFormat2, HBase 2.6); it is on by default.
const localityKey = "hbase.bulkload.locality.sensitive.enabled"

// SpecFacts returns the [TableFacts] of a spec's table, over a connection of its own.
func SpecFacts(ctx context.Context, env *Env, s spec.Job) (*Facts, error) {
	table, err := TableName(s)
	if err != nil {
		return nil, err
	}
	c, err := env.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return TableFacts(ctx, env, c, table.String(), s.Families()...)
}

// TableFacts queries the cluster. It returns an error if the table cannot be loaded.
func TableFacts(ctx context.Context, env *Env, c *loader.Cluster, table string, families ...string) (*Facts, error) {
	name, err := loader.ParseTableName(table)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	f := &Facts{Name: name}
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	regions := make(chan regionMap, 1)
	go func() {
		list, err := c.Regions(reading, name)
		regions <- regionMap{list, err}
	}()
	if f.Table, err = c.Describe(ctx, name); err != nil {
		if errors.Is(err, loader.ErrTableNotFound) {
			err = fmt.Errorf("%w (bulkload table create %s makes it)", err, table)
		}
		return nil, Failure(err)
	}
	if f.Table.State != loader.Enabled {
		return nil, fail.Errorf(fail.Check, "table %s is %s: enable it first", name, f.Table.State)
	}
	if f.Table.ReadOnly {
		return nil, fail.Errorf(fail.Check, "table %s is read-only: set READONLY to false first", name)
	}
	if err := f.addFamilies(env, families); err != nil {
		return nil, err
	}
	read := <-regions
	if read.err != nil {
		return nil, Failure(read.err)
	}
	f.Regions = read.list
	for _, r := range f.Regions[1:] {
		f.Splits = append(f.Splits, r.Start)
	}
	if env.Conf.Bool(localityKey, true) {
		f.Near = func(row []byte) string { return loader.ServerOf(f.Regions, row) }
	}
	return f, nil
}

// addFamilies adds the settings of the table's families.
func (f *Facts) addFamilies(env *Env, families []string) (err error) {
	if f.Families, err = FamiliesOf(env, f.Table, families...); err != nil {
		return err
	}
	f.Family, f.Policies, f.zstd = f.Families[0], map[string]string{}, zstdOf(env)
	for _, cf := range f.Table.Families {
		if policy := StoragePolicy(f.Table, cf, env.Conf.Value); policy != "" {
			f.Policies[cf.Name] = policy
		}
	}
	return nil
}

// FamilyOf returns the settings of a family of the table, whether or not the job writes it.
func (f *Facts) FamilyOf(name string) spec.Family {
	for _, own := range f.Families {
		if own.Name == name {
			return own
		}
	}
	if cf, ok := f.Table.Family(name); ok {
		if settings, err := FamilySettings(cf); err == nil {
			settings.Zstd = f.zstd
			return settings
		}
	}
	return spec.DefaultFamily(name)
}

// FamiliesOf returns the settings of a table's families. It returns an error for a family that cannot be loaded.
func FamiliesOf(env *Env, t *loader.Table, families ...string) (all []spec.Family, err error) {
	for _, family := range families {
		cf, ok := t.Family(family)
		if !ok {
			return nil, fail.Errorf(fail.Check, "table %s has no family %q (families: %s): add it to the table, or use another", t.Name, family, strings.Join(t.FamilyNames(), ", "))
		}
		settings, err := FamilySettings(cf)
		if err != nil {
			return nil, fail.Errorf(fail.Check, "family %s of table %s: %w", family, t.Name, err)
		}
		settings.Zstd = zstdOf(env)
		all = append(all, settings)
	}
	return all, nil
}

// regionMap is the result of listing a table's regions.
type regionMap struct {
	list []loader.Region
	err  error
}

// ZstdFraming returns the framing that a codec class of hbase-site.xml uses. The codecs
// of HBase's own modules and of Hadoop cannot read each other's ZSTD blocks.
func ZstdFraming(class string) hfile.ZstdFraming {
	if strings.HasPrefix(class, "org.apache.hadoop.hbase.") {
		return hfile.ZstdBlocks
	}
	return hfile.ZstdPlain
}

// zstdOf returns the framing that the servers of the environment's cluster read.
func zstdOf(env *Env) hfile.ZstdFraming {
	return ZstdFraming(env.Conf.Value("hbase.io.compress.zstd.codec"))
}

// FamilySettings translates a descriptor. The error names the settings that
// this program cannot write.
func FamilySettings(cf loader.Family) (f spec.Family, err error) {
	f = spec.Family{Name: cf.Name, BlockSize: cf.BlockSize, Versions: max(cf.Versions, 1)}
	var errs []error
	keep := func(e error) { errs = append(errs, e) }
	f.Compression, err = hfile.ParseCompression(cf.Compression)
	keep(err)
	f.Encoding, err = hfile.ParseEncoding(cf.Encoding)
	keep(err)
	f.Bloom, err = hfile.ParseBloomType(cf.Bloom)
	keep(err)
	if f.Bloom == hfile.BloomRowPrefix {
		f.BloomPrefix, err = strconv.Atoi(cf.BloomParam)
		keep(err)
	}
	if v := cf.Attributes["ENCRYPTION"]; v != "" {
		keep(fmt.Errorf("encryption %s: %w", v, hfile.ErrUnsupported))
	}
	return f, errors.Join(errs...)
}
