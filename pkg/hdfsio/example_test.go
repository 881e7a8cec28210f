package hdfsio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"

	"bulkload/pkg/hdfsio"
)

// A file exists once Finish has returned nil. An earlier failure leaves no file
// that a reader could mistake for it.
func Example() {
	ctx := context.Background()
	fsys := hdfsio.NewMemory() // or hdfsio.Local{}, or hdfsio.NewHDFS
	if err := write(ctx, fsys, "/out/part-0", "one record\n"); err != nil {
		log.Fatal(err)
	}
	err := write(ctx, fsys, "/out/part-0", "another\n")
	fmt.Println("a second time:", errors.Is(err, fs.ErrExist))

	f, err := fsys.Open(ctx, "/out/part-0")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", text)
	// Output:
	// a second time: true
	// one record
}

func write(ctx context.Context, fsys hdfsio.FS, name, text string) error {
	if err := fsys.MkdirAll(ctx, "/out", 0o755); err != nil {
		return err
	}
	w, err := fsys.Create(ctx, name, hdfsio.CreateOptions{Perm: 0o640})
	if err != nil {
		return err
	}
	defer w.Abort() // does nothing after Finish
	if _, err := io.WriteString(w, text); err != nil {
		return err // if it is an ErrRewrite, write the whole file again under another name
	}
	return w.Finish()
}

// Resolve turns a path from user input into a location by Hadoop's
// configuration.
func ExampleConf_Resolve() {
	conf := &hdfsio.Conf{} // or LoadConf, for HADOOP_CONF_DIR
	conf.Set("fs.defaultFS", "hdfs://namenode:8020", "example")
	for _, path := range []string{"hdfs:///exports/day", "/tmp/day", "s3a://bucket/day"} {
		l, err := conf.Resolve(path)
		if err != nil {
			fmt.Println("refused:", path)
			continue
		}
		fmt.Println(l, l.Local(), l.Path)
	}
	// Output:
	// hdfs://namenode:8020/exports/day false /exports/day
	// /tmp/day true /tmp/day
	// refused: s3a://bucket/day
}
