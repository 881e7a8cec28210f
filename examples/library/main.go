// Command library uses the packages of bulkload that other programs may import: it reads an export, makes keys, sorts the rows by region,
// writes an HFile for each region and reads it back. With --table it loads the files from HDFS into a table.
//
//	library --input people.csv --out hdfs:///staging/people --table people
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/source"
)

const family = "f"

func main() {
	input := flag.String("input", "", "CSV file with a header")
	out := flag.String("out", "", "directory for the HFiles, local or hdfs://")
	key := flag.String("key", "salt(id, 10) + id", "key of a row")
	table := flag.String("table", "", "table that the files are loaded into; empty: none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *input, *out, *key, *table); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, input, out, key, table string) error {
	conf, err := hdfsio.LoadConf(nil) // from HADOOP_CONF_DIR and HBASE_CONF_DIR
	if err != nil {
		return err
	}
	dir, err := open(conf, out)
	if err != nil {
		return err
	}
	defer dir.close()
	target, err := dial(ctx, conf, table)
	if err != nil {
		return err
	}
	defer target.close()
	regions, err := partition.New(target.splits)
	if err != nil {
		return err
	}
	sorted, err := extsort.New(extsort.Options{Regions: regions.Len(), Memory: 16 << 20})
	if err != nil {
		return err
	}
	defer sorted.Close()
	columns, err := sortInput(ctx, input, key, regions, sorted)
	if err != nil {
		return err
	}
	var files []loader.HFile
	for region := range regions.Len() {
		file, err := writeRegion(ctx, dir, sorted, region, columns)
		if err != nil {
			return err
		}
		if file == nil {
			continue
		}
		if err := readBack(ctx, dir, *file); err != nil {
			return err
		}
		files = append(files, *file)
	}
	return target.load(ctx, dir, files)
}

// place is a directory with its file system.
type place struct {
	hdfsio.FS
	location hdfsio.Location
	close    func() error
}

// open returns a directory with its file system.
func open(conf *hdfsio.Conf, name string) (*place, error) {
	location, err := conf.Resolve(name)
	if err != nil {
		return nil, err
	}
	if location.Local() {
		return &place{hdfsio.Local{}, location, func() error { return nil }}, nil
	}
	options, err := conf.HDFSOptions(location, nil)
	if err != nil {
		return nil, err
	}
	fsys, err := hdfsio.NewHDFS(options)
	if err != nil {
		return nil, err
	}
	return &place{fsys, location, fsys.Close}, nil
}

// sortInput adds the rows of a CSV file to the sorter, and returns the names of its columns.
func sortInput(ctx context.Context, name, key string, regions *partition.Ranges, sorted *extsort.Sorter) ([]string, error) {
	resolve := func(path string) (source.FS, string, error) { return hdfsio.Local{}, path, nil }
	file, err := filepath.Abs(name) // a file system takes absolute paths
	if err != nil {
		return nil, err
	}
	in, err := source.Open(ctx, resolve, []string{file}, source.Options{}) // without Reject, a bad record is an error
	if err != nil {
		return nil, err
	}
	expr, err := keygen.Parse(key)
	if err != nil {
		return nil, err
	}
	keys, err := keygen.Compile(expr, keygen.Options{})
	if err != nil {
		return nil, err
	}
	w, err := sorted.Writer() // one for each goroutine
	if err != nil {
		return nil, err
	}
	rows := &rows{w: w, keys: keys, regions: regions, lengths: make([]int, len(in.Columns())), offsets: make([]uint32, len(in.Columns()))}
	for _, c := range keys.Columns() {
		i := slices.Index(in.Columns(), c)
		if i < 0 {
			return nil, fmt.Errorf("%s has no column %s: the key %s needs it", name, c, key)
		}
		rows.columns = append(rows.columns, i)
	}
	reader := in.NewReader() // one for each goroutine
	for split := range in.Splits() {
		if err := reader.Read(ctx, split, rows.add); err != nil {
			return nil, err
		}
	}
	return in.Columns(), sorted.Finish()
}

// rows makes rows from batches and adds them to the sorter.
type rows struct {
	w       *extsort.Writer
	keys    *keygen.Program
	regions *partition.Ranges
	columns []int // the columns of the input that the key uses

	number  uint64 // the number of the next record
	key     []byte
	data    []byte
	lengths []int
	offsets []uint32
}

// add adds the records of a batch, which is valid until add returns.
func (r *rows) add(b *source.Batch) error {
	fields := make([][]byte, len(r.columns))
	for row := range b.Rows {
		for i, c := range r.columns {
			fields[i] = b.Field(row, c)
		}
		var err error
		if r.key, err = r.keys.Append(r.key[:0], fields); err != nil {
			return err
		}
		if len(r.key) == 0 { // HBase has no row without a key
			return fmt.Errorf("record %d: %w", r.number+1, keygen.ErrNoKey)
		}
		r.data = r.data[:0]
		for c := range r.lengths {
			value := b.Field(row, c)
			r.lengths[c], r.offsets[c] = len(value), uint32(len(r.data))
			r.data = append(r.data, value...)
		}
		room, err := r.w.Add(r.regions.Find(r.key), r.number, r.key, extsort.PayloadSize(r.lengths))
		if err != nil {
			return err
		}
		extsort.Fill(room, r.lengths, r.data, r.offsets)
		r.number++
	}
	return nil
}

// writeRegion writes the HFile of a region. It returns nil if the region has no rows.
func writeRegion(ctx context.Context, dir *place, sorted *extsort.Sorter, region int, columns []string) (*loader.HFile, error) {
	merge, err := sorted.Region(region)
	if err != nil {
		return nil, err
	}
	defer merge.Close()
	if !merge.Next() {
		return nil, merge.Err()
	}
	if err := dir.MkdirAll(ctx, path.Join(dir.location.Path, family), 0o777); err != nil {
		return nil, err
	}
	location := dir.location.Join(family, hfile.Name("%s %d", dir.location.Path, region))
	out, err := dir.Create(ctx, location.Path, hdfsio.CreateOptions{Perm: 0o666})
	if err != nil {
		return nil, err
	}
	schema := hfile.Schema{Timestamp: time.Now().UnixMilli()}
	order := make([]int, len(columns)) // the columns sorted by name, as HBase sorts cells
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(columns[a], columns[b]) })
	for _, c := range order {
		schema.Qualifiers = append(schema.Qualifiers, []byte(columns[c]))
	}
	w, err := hfile.NewRowWriter(out, hfile.Options{Family: []byte(family), Compression: hfile.CompressionSnappy, Encoding: hfile.EncodingFastDiff, Bloom: hfile.BloomRow}, schema)
	if err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	values, cells := make([][]byte, len(columns)), make([][]byte, len(columns))
	for more := true; more && err == nil; more = merge.Next() {
		if err = extsort.Values(merge.Payload(), values); err == nil {
			for i, c := range order {
				cells[i] = values[c]
			}
			err = w.AppendRow(merge.Key(), cells)
		}
	}
	if err = cmp.Or(err, merge.Err()); err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	stats, err := w.Finish()
	if err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	if err := out.Finish(); err != nil { // the file exists only after Finish
		return nil, errors.Join(err, out.Abort())
	}
	return &loader.HFile{Family: family, Path: location.URI(), First: stats.FirstRow, Last: stats.LastRow, Size: stats.Bytes, Cells: stats.Cells}, nil
}

// readBack reads a file and prints its cells.
func readBack(ctx context.Context, dir *place, file loader.HFile) error {
	in, err := dir.Open(ctx, dir.location.Join(family, path.Base(file.Path)).Path)
	if err != nil {
		return err
	}
	defer in.Close()
	r, err := hfile.Open(in.(io.ReaderAt), file.Size, hfile.ReaderOptions{})
	if err != nil {
		return err
	}
	s := r.Scan()
	for s.Next() {
		c := s.Cell()
		fmt.Printf("%s %s:%s = %s\n", c.Row, c.Family, c.Qualifier, c.Value)
	}
	return s.Err()
}

// target is a table on its cluster. Without a cluster there is one region, and nothing is loaded.
type target struct {
	cluster *loader.Cluster
	table   loader.TableName
	splits  [][]byte
}

// dial connects to the cluster of a table, and finds its regions. Without a table it returns an empty target.
func dial(ctx context.Context, conf *hdfsio.Conf, table string) (*target, error) {
	if table == "" {
		return &target{}, nil
	}
	name, err := loader.ParseTableName(table)
	if err != nil {
		return nil, err
	}
	user, err := conf.User()
	if err != nil {
		return nil, err
	}
	cluster, err := loader.Dial(ctx, loader.Config{Quorum: conf.Quorum(), Root: conf.Znode(), EffectiveUser: user}, nil)
	if err != nil {
		return nil, err
	}
	regions, err := cluster.Regions(ctx, name)
	if err != nil {
		return nil, errors.Join(err, cluster.Close())
	}
	t := &target{cluster: cluster, table: name}
	for _, r := range regions[1:] { // the first region begins with the empty key
		t.splits = append(t.splits, r.Start)
	}
	return t, nil
}

func (t *target) close() {
	if t.cluster != nil {
		t.cluster.Close()
	}
}

// load loads files on HDFS into the table.
func (t *target) load(ctx context.Context, dir *place, files []loader.HFile) error {
	if t.cluster == nil {
		return nil
	}
	report, err := t.cluster.Load(ctx, loader.LoadRequest{Table: t.table, Files: files, FS: dir.FS})
	if unknown, ok := errors.AsType[*loader.UnknownOutcomeError](err); ok {
		// HBase may have loaded the files, or may still load them. The next request has the files in Unknown and the token in Token.
		return fmt.Errorf("load again with token %s: %w", unknown.Token, err)
	}
	if err != nil {
		return err
	}
	fmt.Printf("%d files loaded into %d regions\n", report.Loaded, len(report.Regions))
	return nil
}
