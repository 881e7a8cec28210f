package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/keygen"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
)

type keyOptions struct {
	spec    string
	recipe  string
	recipes bool
	funcs   bool
	splits  string
	unique  string
	explain bool
}

func newKeyCmd(g *globals) *cobra.Command {
	o := &keyOptions{}
	cmd := &cobra.Command{
		Use:   "key --spec SPEC --columns a,b,c",
		Short: "Print the row keys of records, and how they come about",
		Long: `Key reads CSV records on standard input and prints one row key per line: printable
ASCII unchanged, other bytes and the backslash as \xNN. With --explain it shows what
follows from the key spec alone, and the parts of each key, their bytes and the
region of the key. If neither --columns nor the job file names the columns, the first
record does; if they do, a first record with the same names gets no key.
docs/keys.md describes the language.`,
		Example: `  echo A208848994,59C1A1 | bulkload key --spec 'salt(check_id) + md5hex(check_id) + id' --columns check_id,id --salt-buckets 10
  bulkload key --recipe twits --columns user,ts --explain < twits.csv
  bulkload key --job examples/check.yaml --splits 1,2,3,4,5,6,7,8,9 --unique id --explain < check.csv`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.recipes {
				return g.Print(cmd.OutOrStdout(), keygen.Recipes(), printRecipes)
			}
			if o.funcs {
				return g.Print(cmd.OutOrStdout(), keygen.Functions(), printFunctions)
			}
			return o.run(cmd, g)
		},
	}
	f := cmd.Flags()
	settings.AddField(f, "columns", "salt_buckets")
	settings.Bind(f, settings.To{"job": new(string), "spec": &o.spec, "recipe": &o.recipe, "recipes": &o.recipes, "functions": &o.funcs, "splits": &o.splits, "unique": &o.unique, "explain": &o.explain})
	return cmd
}

func (o *keyOptions) run(cmd *cobra.Command, g *globals) error {
	spec, err := o.load(cmd)
	if err != nil {
		return err
	}
	k := cells.KeyOptions{Unique: o.unique}
	if k.Splits, err = splitsFlag(cmd.Context(), o.splits); err != nil {
		return err
	}
	stdin := bufio.NewReader(stdinOf(cmd))
	if mark, _ := stdin.Peek(3); string(mark) == "\ufeff" {
		stdin.Discard(3)
	}
	in := csv.NewReader(stdin)
	in.ReuseRecord = true
	columns := spec.Columns
	if len(columns) == 0 {
		first, err := in.Read()
		if err != nil {
			return fail.Usage(fmt.Errorf("no column names: give --columns, or a first record that holds them: %w", err))
		}
		columns = append(columns, first...)
	}
	in.FieldsPerRecord = len(columns)
	m, err := cells.NewKeyMaker(spec, columns, k)
	if err != nil {
		return err
	}
	w := &keyWriter{globals: g, out: bufio.NewWriter(cmd.OutOrStdout()), maker: m, columns: columns, explain: o.explain}
	if !o.explain {
		for _, text := range m.Report.Warnings {
			g.Logger().Warn("row key", "warning", text)
		}
	}
	return errors.Join(w.all(in), w.out.Flush())
}

// load returns the job file's spec, overridden by the flags.
func (o *keyOptions) load(cmd *cobra.Command) (spec.Job, error) {
	js := settings.JobSpec(cmd)
	switch {
	case o.spec != "" && o.recipe != "":
		return spec.Job{}, fail.Usage(settings.AboutFlags(errors.New("--spec and --recipe exclude each other: give one of them"), "spec", "recipe"))
	case o.recipe != "":
		r, ok := keygen.FindRecipe(o.recipe)
		if !ok {
			return spec.Job{}, fail.Usage(settings.AboutFlags(fmt.Errorf("unknown recipe %q: --recipes lists them", o.recipe), "recipes"))
		}
		js.Key = r.Spec
	case o.spec != "":
		js.Key = o.spec
	}
	return js.Resolve()
}

type keyWriter struct {
	globals *globals
	out     *bufio.Writer
	maker   *cells.KeyMaker
	columns []string
	explain bool
}

func (w *keyWriter) all(in *csv.Reader) error {
	if w.explain {
		if err := w.report(); err != nil {
			return err
		}
	}
	var record [][]byte
	headed := false
	for n := 1; ; n++ {
		fields, err := in.Read()
		if n == 1 && !headed && err == nil && slices.Equal(fields, w.columns) {
			w.globals.Logger().Warn("the first record has the names of the columns, and gets no key")
			headed, n = true, 0
			continue
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return &fail.Error{Kind: fail.BadRows, Err: fmt.Errorf("standard input: record %d: %w", n, err)}
		}
		record = record[:0]
		for _, f := range fields {
			record = append(record, []byte(f))
		}
		if err := w.write(record); err != nil {
			line, _ := in.FieldPos(0)
			return fmt.Errorf("standard input: record %d, line %d, %w", n, line, err)
		}
	}
}

func (w *keyWriter) write(record [][]byte) error {
	if !w.explain && !w.globals.JSON() {
		key, err := w.maker.Key(record)
		if err != nil {
			return err
		}
		_, err = w.out.Write(append(rowkey.Append(nil, key), '\n'))
		return err
	}
	x, err := w.maker.Explain(record)
	if err != nil {
		return err
	}
	if w.globals.JSON() {
		return json.NewEncoder(w.out).Encode(x)
	}
	fmt.Fprintf(w.out, "\n%s\n", x.Key)
	width := 0
	for _, p := range x.Parts {
		width = max(width, utf8.RuneCountInString(p.Part))
	}
	for _, p := range x.Parts {
		fmt.Fprintf(w.out, "  %-*s  %5d  %s\n", width, p.Part, p.Bytes, p.Value)
	}
	if r := x.Region; r != nil {
		fmt.Fprintf(w.out, "  region %d of %d%s\n", r.Number, r.Of, bounds(r))
	}
	return nil
}

func bounds(r *cells.RegionOfKeys) string {
	text := ""
	if r.Start != "" {
		text += " from " + r.Start
	}
	if r.End != "" {
		text += " up to " + r.End
	}
	if r.Share > 0 {
		text += fmt.Sprintf(", with %.1f %% of all rows", 100*r.Share)
	}
	return text
}

// report prints the properties of the keys that are known without a record.
func (w *keyWriter) report() error {
	r := w.maker.Report
	if w.globals.JSON() {
		return json.NewEncoder(w.out).Encode(map[string]any{"schema": 1, "spec": w.maker.Spec, "min_bytes": r.Min, "max_bytes": r.Max, "first_byte": r.First.String(),
			"uniqueness": r.Uniqueness.String(), "shares": r.Shares, "warnings": r.Warnings})
	}
	fmt.Fprintf(w.out, "%s\n  %s, the first one of %s\n", w.maker.Spec, lengthText(r.Min, r.Max), r.First)
	if r.Uniqueness != keygen.NotAsked {
		fmt.Fprintf(w.out, "  %s: %s\n", r.Uniqueness, r.Why)
	}
	for _, text := range r.Warnings {
		fmt.Fprintf(w.out, "  warning: %s\n", text)
	}
	return nil
}

func lengthText(least, most int) string {
	switch most {
	case least:
		return setting.Count(least, "byte")
	case keygen.MaxKey:
		return fmt.Sprintf("%s or more", setting.Count(least, "byte"))
	}
	return fmt.Sprintf("%d to %s", least, setting.Count(most, "byte"))
}

func printFunctions(w io.Writer) {
	for _, f := range keygen.Functions() {
		fmt.Fprintf(w, "%-40s %s\n", f.Form, f.About)
	}
}

func printRecipes(w io.Writer) {
	for _, r := range keygen.Recipes() {
		fmt.Fprintf(w, "%-16s %s\n%-16s %s\n", r.Name, r.Spec, "", r.About)
	}
}
