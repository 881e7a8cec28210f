package main

import (
	"fmt"
	"slices"

	"bulkload/pkg/spec"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A rename is a flag that got another name. The old name works for one more
// release, in files and in the environment too.
type rename struct {
	old, now string
	values   map[string]string // the values that got another name
}

// renames are all of them. Each leaves this list with the release after the one that brought it.
func renames() []rename {
	return []rename{
		{old: "regions", now: "salt-buckets"},
		{old: "stage", now: "load-mode", values: map[string]string{"token": "secure"}},
	}
}

// value is the name that a value has today.
func (r rename) value(v string) string {
	if now, ok := r.values[v]; ok {
		return now
	}
	return v
}

// warning says under which name a setting is to be given, the old and the new
// one as their source writes them.
func (r rename) warning(old, now string, values ...string) string {
	text := fmt.Sprintf("%s is now %s", old, now)
	for _, v := range values {
		if r.value(v) != v {
			text += fmt.Sprintf(", its value %s is now %s", v, r.value(v))
		}
	}
	return text + "; the old name goes away in the next release"
}

// oldName is the flag's value under its old name: both set the same variable.
type oldName struct {
	pflag.Value
	rename rename
	given  string
}

// Set sets what the flag of today's name sets.
func (o *oldName) Set(v string) error {
	o.given = v
	return o.Value.Set(o.rename.value(v))
}

// addOldNames registers the old names of flags, for a command and those below it.
func addOldNames(cmd *cobra.Command) {
	for _, r := range renames() {
		if now := cmd.Flags().Lookup(r.now); now != nil {
			f := cmd.Flags().VarPF(&oldName{Value: now.Value, rename: r}, r.old, "", "old name of --"+r.now)
			f.Hidden = true
		}
	}
	for _, c := range cmd.Commands() {
		addOldNames(c)
	}
}

// asOldName says whether a flag is the old name of another one.
func asOldName(f *pflag.Flag) (*oldName, bool) {
	o, ok := f.Value.(*oldName)
	return o, ok
}

// renameGiven moves what flags and the environment give under old names to
// today's. A source that gives both is refused.
func (s *settled) renameGiven(cmd *cobra.Command, env map[string]string) error {
	for _, r := range renames() {
		f, now := cmd.Flags().Lookup(r.old), cmd.Flags().Lookup(r.now)
		if f == nil || now == nil {
			continue
		}
		old, ok := asOldName(f)
		if !ok {
			continue
		}
		if f.Changed {
			if now.Changed {
				return fmt.Errorf("--%s is the old name of --%s: give --%[2]s only", r.old, r.now)
			}
			now.Changed, s.origins[r.now] = true, "flag --"+r.old
			s.warn(r, r.warning("--"+r.old, "--"+r.now, old.given))
		}
		was, is := variable(r.old), variable(r.now)
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

// renameOptions gives settings of a file their names of today.
func (s *settled) renameOptions(file string, options spec.Options) (spec.Options, error) {
	options = slices.Clone(options)
	for _, r := range renames() {
		was, is := snake(r.old), snake(r.now)
		i := slices.IndexFunc(options, func(o spec.Option) bool { return o.Name == was })
		if i < 0 {
			continue
		}
		at := fmt.Sprintf("%s:%d", file, options[i].Line)
		if _, both := option(options, r.now); both {
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

// renameFields gives the fields of the job file that was read their names of today.
func (s *settled) renameFields() {
	for _, r := range renames() {
		was, is := fieldName(r.old), fieldName(r.now)
		line, ok := s.lines[was]
		if !ok || !isField(is) {
			continue
		}
		s.warn(r, fmt.Sprintf("job file %s:%d: %s", s.jobFile, line, r.warning(was, is)))
		s.lines[is] = line
		delete(s.lines, was)
	}
}

// warn keeps the first warning of each old name, for when there is a log.
func (s *settled) warn(r rename, text string) {
	if !slices.ContainsFunc(s.renamed, func(w renameWarning) bool { return w.old == r.old }) {
		s.renamed = append(s.renamed, renameWarning{r.old, text})
	}
}

// A renameWarning is what a log says of an old name.
type renameWarning struct{ old, text string }
