package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// An Entry is one setting of the program: all that is known of it but what it does. The flag has its text and default from
// here, and so have the environment, files and their schema, completion, `config show` and the documents.
type Entry struct {
	Flag    string // without dashes
	Short   string // one letter for the same
	Of      string // commands whose flag this is, separated by blanks; empty: all that no other entry of the flag names
	Own     bool   // it means another thing than elsewhere: files and the environment call it by its command too
	Usage   string // help text
	For     For    // help texts of commands that need their own
	Default string // empty: the value that the command's variable has

	Values []string // all that it takes; empty: any
	Range  string   // the least and the most number or time, such as 0..1024, or 0.. without a bound above

	Such []string // what a shell offers, where it takes others too
	Path string   // a file, a dir, or the endings of files: a shell offers those

	Once     bool // for one command: a file cannot give it
	Verbatim bool // {{ is nothing but two bytes of it
	Commas   bool // a list in a file is the same as its texts with commas between
}

// For has the help texts of commands in which a setting needs its own.
type For map[string]string

// find returns the place of the entry of a command's flag in a table, -1 where there is none, and the setting's name in files, with dashes.
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

// entryFlag marks a flag with the place of its entry in the table, and with its name.
const entryFlag = "bulkload_setting"

// entryOf returns the entry of a flag, an empty one of a flag that is none.
func entryOf(f *pflag.Flag) Entry {
	if at := f.Annotations[entryFlag]; at != nil {
		n, _ := strconv.Atoi(at[0])
		return table[n]
	}
	return Entry{}
}

// To are the variables of settings, by the names of their flags.
type To map[string]any

// Bind registers the flags of settings with a command, whose name the set has. A flag that the table lacks is a mistake in the
// program.
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

// add registers a flag by the type of its variable.
func add(f *pflag.FlagSet, e Entry, p any) {
	switch p := p.(type) {
	case *string:
		f.StringVar(p, e.Flag, *p, e.Usage)
	case *bool:
		f.BoolVar(p, e.Flag, *p, e.Usage)
	case *int:
		f.IntVar(p, e.Flag, *p, e.Usage)
	case *int64:
		f.Int64Var(p, e.Flag, *p, e.Usage)
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

// check returns an error if the value of a flag is invalid.
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

// number returns a number, or a time in seconds.
func number(text string) float64 {
	if d, err := time.ParseDuration(text); err == nil {
		return d.Seconds()
	}
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

// checkValues refuses the first value that a setting of a command does not take.
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

// Completion returns the words that a shell offers after a flag. files says that words are the endings of files, or if there are none, that
// any file may follow; dirs that any directory may.
func Completion(f *pflag.Flag) (words []string, files, dirs bool) {
	e := entryOf(f)
	if field, ok := fieldOf(f); ok {
		e.Values, e.Such = field.Enum, field.Such
		if ofInputs(f.Name) {
			e.Path = "file"
		}
	}
	switch e.Path {
	case "":
		return slices.Concat(e.Values, e.Such), false, false
	case "dir":
		return nil, false, true
	case "file":
		return nil, true, false
	}
	return strings.Fields(e.Path), true, false
}
