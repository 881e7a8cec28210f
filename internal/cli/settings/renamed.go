package settings

import (
	"fmt"
	"slices"

	"bulkload/internal/model/spec"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A Rename is a renamed flag. The old name works for one more release, in files and in the environment too.
type Rename struct {
	Old, Now string
	values   map[string]string // renamed values
}

// Renames returns all renamed flags. An entry is removed in the release after the one that introduced it.
func Renames() []Rename {
	return []Rename{
		{Old: "regions", Now: "salt-buckets"},
		{Old: "stage", Now: "load-mode", values: map[string]string{"token": "secure"}},
	}
}

func (r Rename) value(v string) string {
	if now, ok := r.values[v]; ok {
		return now
	}
	return v
}

// warning returns the message about an old name. old and now are the names in the form of their source.
func (r Rename) warning(old, now string, values ...string) string {
	text := fmt.Sprintf("%s is now %s", old, now)
	for _, v := range values {
		if r.value(v) != v {
			text += fmt.Sprintf(", its value %s is now %s", v, r.value(v))
		}
	}
	return text + "; the next release drops the old name"
}

// oldName is the value of the flag's old name: both names set the same variable.
type oldName struct {
	pflag.Value
	rename Rename
	given  string
}

func (o *oldName) Set(v string) error {
	o.given = v
	return o.Value.Set(o.rename.value(v))
}

// AddOldNames registers the old names of flags, for a command and its subcommands.
func AddOldNames(cmd *cobra.Command) {
	for _, r := range Renames() {
		if now := cmd.Flags().Lookup(r.Now); now != nil {
			f := cmd.Flags().VarPF(&oldName{Value: now.Value, rename: r}, r.Old, "", "old name of --"+r.Now)
			f.Hidden = true
		}
	}
	for _, c := range cmd.Commands() {
		AddOldNames(c)
	}
}

// asOldName reports whether a flag is the old name of another one.
func asOldName(f *pflag.Flag) (*oldName, bool) {
	o, ok := f.Value.(*oldName)
	return o, ok
}

// renameGiven moves values that flags and the environment give under old names to the current names. It refuses a
// source that gives both.
func (s *Settled) renameGiven(cmd *cobra.Command, env map[string]string) error {
	for _, r := range Renames() {
		f, now := cmd.Flags().Lookup(r.Old), cmd.Flags().Lookup(r.Now)
		if f == nil || now == nil {
			continue
		}
		old, ok := asOldName(f)
		if !ok {
			continue
		}
		if f.Changed {
			if now.Changed {
				return fmt.Errorf("--%s is the old name of --%s: give --%[2]s only", r.Old, r.Now)
			}
			now.Changed, s.Origins[r.Now] = true, "flag --"+r.Old
			s.warn(r, r.warning("--"+r.Old, "--"+r.Now, old.given))
		}
		was, is := Variable(r.Old), Variable(r.Now)
		if v := env[was]; v != "" {
			if env[is] != "" {
				return fmt.Errorf("environment variable %s is the old name of %s: set %[2]s only", was, is)
			}
			env[is], s.variables[is] = r.value(v), was
			s.warn(r, r.warning(was, is, v))
		}
	}
	return nil
}

// renameOptions gives the settings of a file their current names.
func (s *Settled) renameOptions(file string, options spec.Options) (spec.Options, error) {
	options = slices.Clone(options)
	for _, r := range Renames() {
		was, is := Snake(r.Old), Snake(r.Now)
		i := slices.IndexFunc(options, func(o spec.Option) bool { return o.Name == was })
		if i < 0 {
			continue
		}
		at := fmt.Sprintf("%s:%d", file, options[i].Line)
		if _, both := option(options, r.Now); both {
			return nil, fmt.Errorf("%s: %s is the old name of %s: give %[3]s only", at, was, is)
		}
		s.warn(r, at+": "+r.warning(was, is, options[i].Values...))
		values := slices.Clone(options[i].Values)
		for j, v := range values {
			values[j] = r.value(v)
		}
		options[i].Name, options[i].Values = is, values
	}
	return options, nil
}

// renameFields gives the fields of the job file their current names.
func (s *Settled) renameFields() {
	for _, r := range Renames() {
		was, is := FieldName(r.Old), FieldName(r.Now)
		line, ok := s.lines[was]
		if !ok || !IsField(is) {
			continue
		}
		s.warn(r, fmt.Sprintf("job file %s:%d: %s", s.jobFile, line, r.warning(was, is)))
		s.lines[is] = line
		delete(s.lines, was)
	}
}

// warn keeps the first warning about each old name until there is a log.
func (s *Settled) warn(r Rename, text string) {
	if !slices.ContainsFunc(s.renamed, func(w renameWarning) bool { return w.old == r.Old }) {
		s.renamed = append(s.renamed, renameWarning{r.Old, text})
	}
}

type renameWarning struct{ old, text string }

// NameNow returns the setting that a flag is the old name of.
func NameNow(f *pflag.Flag) (name string, old bool) {
	o, old := asOldName(f)
	if !old {
		return "", false
	}
	return Snake(o.rename.Now), true
}
