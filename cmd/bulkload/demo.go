package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"bulkload/internal/cli/session"
	"bulkload/internal/cli/ui"
	"bulkload/internal/model/fail"

	"github.com/spf13/cobra"
)

func newDemoCmd(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "demo [DIR]",
		Short: "Build HFiles of a small sample, and show them: without a cluster",
		Long: `Demo writes a sample export and its job file to a new directory (bulkload-demo),
inspects the export, builds HFiles from it and shows the content of one. It needs
neither Java nor a cluster. It shows each command that it runs, so that you can try
it with other flags; the last lines say how to load the same files into a table.`,
		Example: `  bulkload demo
  bulkload demo /tmp/first-try`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d := demo{cmd: cmd, globals: g, dir: "bulkload-demo", out: cmd.OutOrStdout()}
			if len(args) > 0 {
				d.dir = args[0]
			}
			return d.run()
		},
	}
}

// A demo runs commands of the program on a sample, and prints each command before its output.
type demo struct {
	cmd     *cobra.Command
	globals *globals
	dir     string
	out     io.Writer
}

const demoJob = `# All orders of a customer are neighbours, spread over the regions by a salt.
table: orders
family: f
key: salt(customer) + md5hex(customer) + order_id
query: [customer]
`

// demoOrders returns the sample: a thousand made-up orders of sixty customers.
func demoOrders() []byte {
	notes := []string{"", "gift", "call first", `leave it, "as always", at the door`}
	var b bytes.Buffer
	b.WriteString("order_id,customer,day,amount,note\n")
	for i := range 1000 {
		note := notes[i%7%len(notes)]
		if strings.Contains(note, ",") {
			note = `"` + strings.ReplaceAll(note, `"`, `""`) + `"`
		}
		fmt.Fprintf(&b, "%d,C%03d,2026-%02d-%02d,%d.%02d,%s\n", 100000+i, i*37%60, 1+i%12, 1+i%28, 5+i*13%400, i*7%100, note)
	}
	return b.Bytes()
}

func (d *demo) run() error {
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return fail.Usage(err)
	}
	if entries, err := os.ReadDir(d.dir); err != nil || len(entries) > 0 {
		return fail.Usage(errors.Join(err, fmt.Errorf("%s has files: name a new directory, such as bulkload demo /tmp/first-try", d.dir)))
	}
	export, job, files := filepath.Join(d.dir, "orders.csv"), filepath.Join(d.dir, "orders.yaml"), filepath.Join(d.dir, "hfiles")
	for name, data := range map[string][]byte{export: demoOrders(), job: []byte(demoJob)} {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(d.out, "1. An export, and what bulkload finds in it\n")
	if err := d.does("inspect", export); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\n2. HFiles for a table of four regions, one each\n")
	if err := d.does("build", "--log-level", "warn", "--job", job, "--input", export, "--out", files, "--splits", "1,2,3"); err != nil {
		return err
	}
	built, err := filepath.Glob(filepath.Join(files, "*", "*")) // in the directories of families
	if err == nil && len(built) == 0 {
		err = fmt.Errorf("%s has no HFiles", files)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\n3. One of them, as HBase reads it\n")
	if err := d.does("hfile", "meta", built[0]); err != nil {
		return err
	}
	fmt.Fprintf(d.out, `
4. With a cluster: HADOOP_CONF_DIR and HBASE_CONF_DIR name its configuration

$ bulkload table create orders --salts 4
$ bulkload check --job %[1]s --input %[2]s
$ bulkload run --job %[1]s --input %[2]s
$ bulkload get --job %[1]s C017

Your own export: bulkload inspect FILE --write JOB.yaml
`, ui.Word(job), ui.Word(export))
	return nil
}

// does prints a command of the program and runs it.
func (d *demo) does(args ...string) error {
	line := "bulkload"
	for _, arg := range args {
		line += " " + ui.Word(arg)
	}
	fmt.Fprintf(d.out, "\n$ %s\n", line)
	root := newRootCmd(&globals{Program: session.Program{Console: d.globals.Console}, cores: d.globals.cores})
	root.SetOut(d.out)
	root.SetArgs(args)
	return root.ExecuteContext(d.cmd.Context())
}
