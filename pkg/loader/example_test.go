package loader_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
)

// Load a finished HFile from HDFS into a table. TestExample runs the same functions on a cluster.
func Example() {
	conf, err := hdfsio.LoadConf(nil) // of HADOOP_CONF_DIR and HBASE_CONF_DIR
	if err != nil {
		log.Fatal(err)
	}
	file := loader.HFile{Family: "f", Path: "hdfs:///staging/orders/f/5f2d8c90", First: []byte("order-1"), Last: []byte("order-3")}
	if err := load(context.Background(), os.Stdout, conf, "shop:orders", file); err != nil {
		log.Fatal(err)
	}
}

// load loads a file as the configured user, who owns it.
func load(ctx context.Context, out io.Writer, conf *hdfsio.Conf, table string, file loader.HFile) error {
	name, err := loader.ParseTableName(table)
	if err != nil {
		return err
	}
	user, err := conf.User()
	if err != nil {
		return err
	}
	cluster, err := loader.Dial(ctx, loader.Config{Quorum: conf.Quorum(), Root: conf.Znode(), EffectiveUser: user}, nil)
	if err != nil {
		return err
	}
	defer cluster.Close()
	place, err := conf.Resolve(file.Path)
	if err != nil {
		return err
	}
	options, err := conf.HDFSOptions(place, nil)
	if err != nil {
		return err
	}
	fsys, err := hdfsio.NewHDFS(options)
	if err != nil {
		return err
	}
	defer fsys.Close()
	file.Path = place.URI()

	report, err := cluster.Load(ctx, loader.LoadRequest{Table: name, Files: []loader.HFile{file}, FS: fsys})
	if unknown, ok := errors.AsType[*loader.UnknownOutcomeError](err); ok {
		// HBase may have the files, or may still take them. The next request has them in Unknown and the token in Token;
		// nothing else may touch them.
		return fmt.Errorf("load again with token %s: %w", unknown.Token, err)
	}
	if err != nil {
		return err // report.Regions has the place of each file
	}
	fmt.Fprintf(out, "%d file loaded into %d region\n", report.Loaded, len(report.Regions))
	return scan(ctx, out, cluster, name)
}

// scan prints a table's cells.
func scan(ctx context.Context, out io.Writer, cluster *loader.Cluster, table loader.TableName) error {
	return cluster.Scan(ctx, loader.ScanRequest{Table: table}, func(row loader.Row) error {
		for _, c := range row.Cells { // valid until this returns
			fmt.Fprintf(out, "%s %s:%s = %s\n", row.Key, c.Family, c.Qualifier, c.Value)
		}
		return nil
	})
}
