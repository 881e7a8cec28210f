package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"bulkload/pkg/hfile"
	"bulkload/pkg/job"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"

	"github.com/spf13/cobra"
)

func newTableCmd(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "table", Short: "Create tables and look at their regions"}
	c := &clusterFlags{}
	c.add(cmd.PersistentFlags())
	cmd.AddCommand(newTableCreateCmd(g, c), newTableRegionsCmd(g, c))
	return cmd
}

type createOptions struct {
	family      string
	splits      string
	salts       int
	compression string
	encoding    string
	bloom       string
	blockSize   job.Size
	maxFileSize job.Size
	versions    int
	ttl         int64
	ifMissing   bool
}

func newTableCreateCmd(g *globals, c *clusterFlags) *cobra.Command {
	o := &createOptions{blockSize: 64 << 10}
	cmd := &cobra.Command{
		Use:   "create TABLE",
		Short: "Create a pre-split table, its namespace too if it is missing",
		Long: `Create makes a table with one family, split at the given points or for a salt: with
--salts 10 one region for each salt 0 to 9.` + "\n" + exitHelp,
		Example: `  bulkload table create check --salts 10
  bulkload table create test:opinion --salts 50
  bulkload table create users --splits 19999999,33333332,4ccccccb`,
		Args: exactArgs("TABLE"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, g, c, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&o.family, "family", "f", "column family")
	f.StringVar(&o.splits, "splits", "", `split points separated by commas, bytes as \xNN`)
	f.IntVar(&o.salts, "salts", 0, "split for a decimal salt of this modulus, one region for each")
	f.StringVar(&o.compression, "compression", "SNAPPY", "NONE, SNAPPY, GZ, …")
	f.StringVar(&o.encoding, "encoding", "FAST_DIFF", "data block encoding: NONE, PREFIX, DIFF, FAST_DIFF, ROW_INDEX_V1")
	f.StringVar(&o.bloom, "bloom", "ROW", "NONE, ROW, ROWCOL")
	f.Var(&o.blockSize, "block-size", "size of a data block")
	f.Var(&o.maxFileSize, "max-file-size", "size at which a region splits (default: the server's)")
	f.IntVar(&o.versions, "versions", 1, "versions of a cell to keep")
	f.Int64Var(&o.ttl, "ttl", 0, "seconds after which cells expire (default: never)")
	f.BoolVar(&o.ifMissing, "if-missing", false, "a table that exists already is no failure")
	return cmd
}

// spec is the table that the flags describe.
func (o *createOptions) spec(table string) (loader.TableSpec, error) {
	name, err := loader.ParseTableName(table)
	if err != nil {
		return loader.TableSpec{}, err
	}
	splits, err := partition.ParseSplits(o.splits)
	if err != nil {
		return loader.TableSpec{}, fmt.Errorf("--splits: %w", err)
	}
	if o.salts < 0 || o.salts > 100_000 {
		return loader.TableSpec{}, fmt.Errorf("--salts %d is outside 0..100000", o.salts)
	}
	if o.salts > 0 {
		if len(splits) > 0 {
			return loader.TableSpec{}, errors.New("--splits and --salts exclude each other")
		}
		splits = partition.SaltSplits(o.salts)
	}
	// what this program could not load later is refused now
	_, e1 := hfile.ParseCompression(o.compression)
	_, e2 := hfile.ParseEncoding(o.encoding)
	_, e3 := hfile.ParseBloomType(o.bloom)
	if err := errors.Join(e1, e2, e3); err != nil {
		return loader.TableSpec{}, err
	}
	family := loader.Family{Name: o.family, Compression: o.compression, Encoding: o.encoding, Bloom: o.bloom, BlockSize: int(o.blockSize),
		Versions: o.versions, TTL: o.ttl}
	spec := loader.TableSpec{Name: name, Families: []loader.Family{family}, SplitKeys: splits, CreateNamespace: true}
	if o.maxFileSize > 0 {
		spec.Attributes = map[string]string{"MAX_FILESIZE": strconv.FormatInt(int64(o.maxFileSize), 10)}
	}
	return spec, nil
}

func (o *createOptions) run(cmd *cobra.Command, g *globals, c *clusterFlags, table string) error {
	spec, err := o.spec(table)
	if err != nil {
		return usageError{err}
	}
	created := true
	err = c.withCluster(cmd.Context(), g, func(cluster *loader.Cluster) error { return cluster.CreateTable(cmd.Context(), spec) })
	if errors.Is(err, loader.ErrTableExists) {
		if !o.ifMissing {
			return &job.Error{Kind: job.KindCheck, Err: err}
		}
		created = false
	} else if err != nil {
		return err
	}
	v := map[string]any{"table": spec.Name.String(), "created": created, "regions": len(spec.SplitKeys) + 1}
	return g.print(cmd.OutOrStdout(), v, func(w io.Writer) {
		if created {
			fmt.Fprintf(w, "table %s created with %d regions\n", spec.Name, len(spec.SplitKeys)+1)
		} else {
			fmt.Fprintf(w, "table %s exists already and is left as it is\n", spec.Name)
		}
	})
}

// regionLine is one region as it is printed.
type regionLine struct {
	Region string `json:"region"`
	Start  string `json:"start"`
	End    string `json:"end"`
	Server string `json:"server"`
}

func newTableRegionsCmd(g *globals, c *clusterFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "regions TABLE",
		Short: "Print a table's regions with their bounds and servers",
		Args:  exactArgs("TABLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := loader.ParseTableName(args[0])
			if err != nil {
				return usageError{err}
			}
			var regions []loader.Region
			err = c.withCluster(cmd.Context(), g, func(cluster *loader.Cluster) error {
				regions, err = cluster.Regions(cmd.Context(), name)
				return err
			})
			if errors.Is(err, loader.ErrTableNotFound) {
				return &job.Error{Kind: job.KindCheck, Err: err}
			}
			if err != nil {
				return err
			}
			lines := make([]regionLine, len(regions))
			for i, r := range regions {
				lines[i] = regionLine{r.Encoded, partition.FormatKey(r.Start), partition.FormatKey(r.End), r.Server}
			}
			return g.print(cmd.OutOrStdout(), lines, func(w io.Writer) {
				for _, l := range lines {
					fmt.Fprintf(w, "%s  [%s, %s)  %s\n", l.Region, l.Start, l.End, l.Server)
				}
			})
		},
	}
}
