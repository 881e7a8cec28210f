package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/hbase/table"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
)

type createOptions struct {
	families    []string
	splits      string
	salts       int
	salted      bool // the flag salts is given
	like        string
	defaults    loader.Family // of all families, without blockSize
	blockSize   spec.Size
	maxFileSize spec.Size
	ifMissing   bool
	show        bool
}

func newTableCreateCmd(g *globals, c *clusterFlags) *cobra.Command {
	o := &createOptions{families: []string{"f"}, blockSize: 64 << 10}
	cmd := &cobra.Command{
		Use:   "create TABLE",
		Short: "Create a pre-split table, its namespace too if it is missing",
		Long: `Create makes a table that is split at the given points. Settings for all families can
be overridden for one family: --family 'g:compression=GZ,bloom=NONE,ttl=86400'
(compression, encoding, bloom, block-size, versions, ttl). With --like the table gets
the families, attributes and split points of another table.`,
		Example: `  bulkload table create check --splits salt:10
  bulkload table create users --splits hex:32 --family f --family 'log:compression=GZ,ttl=604800'
  bulkload table create test:check --like check
  bulkload table create events --splits @splits.txt --print`,
		Args: usage.ExactArgs("TABLE"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, g, c, args[0]) },
	}
	f := cmd.Flags()
	settings.Bind(f, settings.To{
		"family": &o.families, "splits": &o.splits, "salts": &o.salts, "like": &o.like, "compression": &o.defaults.Compression, "encoding": &o.defaults.Encoding, "bloom": &o.defaults.Bloom, "block-size": &o.blockSize,
		"max-file-size": &o.maxFileSize, "versions": &o.defaults.Versions, "ttl": &o.defaults.TTL, "if-missing": &o.ifMissing, "print": &o.show,
	})
	return cmd
}

// spec returns the table that the flags describe. The template is the table of --like.
func (o *createOptions) spec(ctx context.Context, name loader.TableName, like *table.Template) (loader.TableSpec, error) {
	spec := loader.TableSpec{Name: name, CreateNamespace: true, Attributes: map[string]string{}}
	if o.salted && (o.salts < 1 || o.salts > partition.MaxRegions) {
		return spec, settings.AboutFlags(fmt.Errorf("--salts %d is outside 1..%d", o.salts, partition.MaxRegions), "salts")
	}
	if o.salts > 0 && o.splits != "" {
		return spec, settings.AboutFlags(errors.New("--splits and --salts exclude each other"), "splits", "salts")
	}
	var err error
	if spec.SplitKeys, err = readSplits(ctx, o.splits); err != nil {
		return spec, settings.AboutFlags(fmt.Errorf("--splits: %w", err), "splits")
	}
	if o.salts > 0 {
		spec.SplitKeys = partition.SaltSplits(o.salts)
	}
	if like != nil {
		if o.splits == "" && o.salts == 0 {
			spec.SplitKeys = like.SplitKeys
		}
		spec.Families, spec.Attributes, spec.Configuration = like.Families, like.Attributes, like.Configuration
	} else {
		for _, text := range o.families {
			f, err := o.family(text)
			if err != nil {
				return spec, settings.AboutFlags(fmt.Errorf("--family: %w", err), "family")
			}
			spec.Families = append(spec.Families, f)
		}
	}
	if o.maxFileSize > 0 {
		spec.Attributes["MAX_FILESIZE"] = strconv.FormatInt(int64(o.maxFileSize), 10)
	}
	return spec, spec.Validate()
}

// family parses NAME or NAME:setting=value,….
func (o *createOptions) family(text string) (loader.Family, error) {
	name, settings, _ := strings.Cut(text, ":")
	f := o.defaults
	f.Name, f.BlockSize = name, int(o.blockSize)
	if name == "" || strings.ContainsAny(name, "/,=") {
		return f, fmt.Errorf("%q is not a family name: repeat --family for each family", name)
	}
	for setting := range strings.SplitSeq(settings, ",") {
		if setting == "" {
			continue
		}
		key, value, _ := strings.Cut(setting, "=")
		var err error
		switch key {
		case "compression":
			f.Compression = value
		case "encoding":
			f.Encoding = value
		case "bloom":
			f.Bloom = value
		case "block-size":
			var size spec.Size
			err = size.Set(value)
			f.BlockSize = int(size)
		case "versions":
			if f.Versions, err = strconv.Atoi(value); err != nil {
				err = fmt.Errorf("%q is not a whole number", value)
			}
		case "ttl":
			if f.TTL, err = strconv.ParseInt(value, 10, 64); err != nil {
				err = fmt.Errorf("%q is not a number of seconds", value)
			}
		default:
			err = errors.New("unknown setting: want compression, encoding, bloom, block-size, versions or ttl")
		}
		if err != nil {
			return f, fmt.Errorf("%s, setting %s: %w", name, key, err)
		}
	}
	// refuse settings that this program could not load into later
	_, e1 := hfile.ParseCompression(f.Compression)
	_, e2 := hfile.ParseEncoding(f.Encoding)
	_, e3 := hfile.ParseBloomType(f.Bloom)
	var e4 error
	if f.BlockSize < 0 || f.BlockSize > hfile.MaxBlockSize || f.Versions < 0 || f.Versions > math.MaxInt32 || f.TTL < 0 || f.TTL > loader.Forever {
		e4 = fmt.Errorf("a block size of %s, %s or a TTL of %d s is out of range", setting.Count(f.BlockSize, "byte"), setting.Count(f.Versions, "version"), f.TTL)
	}
	if err := errors.Join(e1, e2, e3, e4); err != nil {
		return f, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

func (o *createOptions) run(cmd *cobra.Command, g *globals, c *clusterFlags, given string) error {
	name, err := loader.ParseTableName(given)
	if err != nil {
		return fail.Usage(err)
	}
	o.salted = cmd.Flags().Changed("salts")
	ctx := cmd.Context()
	var spec loader.TableSpec
	if o.like == "" { // before the cluster is contacted
		if spec, err = o.spec(ctx, name, nil); err != nil {
			return fail.Usage(err)
		}
		if o.show {
			return o.print(cmd, g, spec)
		}
	}
	created := true
	err = c.withCluster(ctx, g, func(cluster *loader.Cluster) (err error) {
		if o.like != "" {
			if spec, err = o.alike(ctx, cluster, name); err != nil || o.show {
				return err
			}
		}
		err = cluster.CreateTable(ctx, spec)
		if errors.Is(err, loader.ErrTableExists) && o.ifMissing {
			created = false
			return table.Same(ctx, cluster, spec)
		}
		return err
	})
	_, denied := errors.AsType[*loader.DeniedError](err)
	_, answered := errors.AsType[*loader.RemoteError](err)
	if denied || answered && !loader.Unavailable(err) || errors.Is(err, loader.ErrTableExists) || errors.Is(err, table.ErrDiffers) {
		return &fail.Error{Kind: fail.Check, Err: err}
	}
	if err != nil {
		return err
	}
	if o.show {
		return o.print(cmd, g, spec)
	}
	v := map[string]any{"table": spec.Name.String(), "created": created, "regions": len(spec.SplitKeys) + 1}
	return g.Print(cmd.OutOrStdout(), v, func(w io.Writer) {
		if created {
			fmt.Fprintf(w, "table %s created with %s\n", spec.Name, setting.Count(len(spec.SplitKeys)+1, "region"))
		} else {
			fmt.Fprintf(w, "table %s exists already and was not changed\n", spec.Name)
		}
	})
}

// alike returns the table to create, with the properties of the table of --like.
func (o *createOptions) alike(ctx context.Context, cluster *loader.Cluster, name loader.TableName) (loader.TableSpec, error) {
	other, err := loader.ParseTableName(o.like)
	if err != nil {
		return loader.TableSpec{}, fail.Usage(settings.AboutFlags(fmt.Errorf("--like: %w", err), "like"))
	}
	like, err := table.Of(ctx, cluster, other)
	if err != nil {
		return loader.TableSpec{}, &fail.Error{Kind: fail.Check, Err: settings.AboutFlags(fmt.Errorf("--like %s: %w", o.like, err), "like")}
	}
	spec, err := o.spec(ctx, name, like)
	if err != nil {
		return spec, fail.Usage(err)
	}
	return spec, nil
}

func (o *createOptions) print(cmd *cobra.Command, g *globals, spec loader.TableSpec) error {
	text := table.Statement(spec)
	return g.Print(cmd.OutOrStdout(), map[string]any{"table": spec.Name.String(), "statement": text}, func(w io.Writer) { fmt.Fprintln(w, text) })
}
