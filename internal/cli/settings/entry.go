package settings

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// An Entry defines one setting of the program, except its effect. The flag has its text and default from here, and so have
// the environment, files and their schema, completion, `config show` and the documents.
type Entry struct {
	Flag    string // without dashes
	Short   string // one-letter form of the flag
	Of      string // commands that have this flag, separated by blanks; empty: all commands that no other entry of the flag names
	Own     bool   // its meaning differs from the flag's usual one: in files and the environment its name includes the command
	Usage   string // help text
	For     For    // help texts of commands that need their own
	Default string // empty: the value of the command's variable

	Values []string // all valid values; empty: any
	Range  string   // minimum and maximum of a number or a time, such as 0..1024, or 0.. without a maximum

	Suggested []string // values that a shell offers, where others are valid too
	Path      string   // file, dir, or file name endings, which a shell offers

	Once     bool // for one command line: a file cannot set it
	Verbatim bool // {{ is not special in its value
	NotEmpty bool // an empty value on the command line is refused: the command would do more than it is asked
	Commas   bool // a list in a file is the same as its texts joined by commas
}

// For has the help texts of commands that need their own text for a setting.
type For map[string]string

// find returns the index of the entry of a command's flag in a table, or -1, and the setting's name in files, with
// dashes.
func find(table []Entry, command, flag string) (at int, name string) {
	at, name = -1, flag
	for i := range table {
		e := &table[i]
		if e.Flag != flag {
			continue
		}
		if e.Of == "" && at < 0 {
			at = i
		}
		for _, path := range strings.Fields(e.Of) {
			if path == command || strings.HasSuffix(path, "-"+command) {
				if e.Own {
					name = path + "-" + flag
				}
				return i, name
			}
		}
	}
	return at, name
}

// entryFlag is the annotation of a flag with the index of its entry in the table, and its name.
const entryFlag = "bulkload_setting"

// entryOf returns the entry of a flag, or an empty entry for a flag without one.
func entryOf(f *pflag.Flag) Entry {
	if at := f.Annotations[entryFlag]; at != nil {
		n, _ := strconv.Atoi(at[0])
		return table[n]
	}
	return Entry{}
}

// To are the variables of settings, by the names of their flags.
type To map[string]any

// Bind registers the flags of settings with the command that the set is named after. It panics for a flag that the table
// lacks.
func Bind(f *pflag.FlagSet, to To) {
	for flag, p := range to {
		at, name := find(table, f.Name(), flag)
		if at < 0 {
			panic("no setting has the flag " + flag)
		}
		e := table[at]
		e.Usage = cmp.Or(e.For[f.Name()], e.Usage)
		add(f, e, p)
		own := f.Lookup(flag)
		own.Annotations = map[string][]string{entryFlag: {strconv.Itoa(at), name}}
		if e.Default != "" {
			if err := own.Value.Set(e.Default); err != nil {
				panic(err)
			}
			own.DefValue = own.Value.String()
		}
	}
}

func add(f *pflag.FlagSet, e Entry, p any) {
	switch p := p.(type) {
	case *string:
		f.StringVar(p, e.Flag, *p, e.Usage)
	case *bool:
		f.BoolVar(p, e.Flag, *p, e.Usage)
	case *int:
		f.Var(whole[int]{p}, e.Flag, e.Usage)
	case *int64:
		f.Var(whole[int64]{p}, e.Flag, e.Usage)
	case *float64:
		f.Float64Var(p, e.Flag, *p, e.Usage)
	case *time.Duration:
		f.DurationVar(p, e.Flag, *p, e.Usage)
	case *[]string:
		f.StringArrayVarP(p, e.Flag, e.Short, *p, e.Usage)
	default:
		f.Var(p.(pflag.Value), e.Flag, e.Usage)
	}
}

// whole is the value of a flag that takes a whole number. It is decimal, as in a job file: zeros before it do not make it octal.
type whole[T int | int64] struct{ p *T }

func (w whole[T]) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, reflect.TypeFor[T]().Bits())
	if err == nil {
		*w.p = T(n)
	}
	return err
}

func (w whole[T]) String() string { return strconv.FormatInt(int64(*w.p), 10) }
func (w whole[T]) Type() string   { return fmt.Sprintf("%T", *w.p) }

func (e Entry) check(f *pflag.Flag) error {
	v := f.Value.String()
	least, most, bounded := strings.Cut(e.Range, "..")
	switch {
	case len(e.Values) > 0 && v != "" && !slices.Contains(e.Values, v):
		last := len(e.Values) - 1
		return fmt.Errorf("--%s %q is invalid: want %s or %s", e.Flag, v, strings.Join(e.Values[:last], ", "), e.Values[last])
	case !bounded:
		return nil
	case !(number(v) >= number(least)) && most == "":
		return fmt.Errorf("--%s %s is below %s", e.Flag, v, least)
	case !(number(v) >= number(least)) || most != "" && number(v) > number(most):
		return fmt.Errorf("--%s %s is outside %s", e.Flag, v, e.Range)
	}
	return nil
}

// number parses a number, or a duration in seconds.
func number(text string) float64 {
	if d, err := time.ParseDuration(text); err == nil {
		return d.Seconds()
	}
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

// checkValues returns an error for the first invalid value of a command's settings.
func checkValues(cmd *cobra.Command) (err error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if err == nil {
			if err = entryOf(f).check(f); err != nil {
				err = AboutFlags(err, f.Name)
			}
		}
	})
	return err
}

// Lacks reports whether a flag that must not be empty is, as by a variable of a script that is not set.
func Lacks(f *pflag.Flag, text string) bool {
	return text == "" && entryOf(f).NotEmpty
}

// Completion returns the completions that a shell offers for a flag. files means that words are file name endings, or
// without words, that any file may follow; dirs means that any directory may follow.
func Completion(f *pflag.Flag) (words []string, files, dirs bool) {
	e := entryOf(f)
	if field, ok := fieldOf(f); ok {
		e.Values, e.Suggested = field.Enum, field.Suggested
		if ofInputs(f.Name) {
			e.Path = "file"
		}
	}
	switch e.Path {
	case "":
		return slices.Concat(e.Values, e.Suggested), false, false
	case "dir":
		return nil, false, true
	case "file":
		return nil, true, false
	}
	return strings.Fields(e.Path), true, false
}
