package settings

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"bulkload/pkg/spec"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// JobFileFlag marks the flag --job that names a job file.
const JobFileFlag = "bulkload_job_file"

// Name is what a flag is called in files and, in capitals, in the
// environment. It is the flag's name, but where a command's flag has another
// meaning than the one of that name elsewhere: then the command goes before it.
func Name(cmd *cobra.Command, f *pflag.Flag) string {
	own := false
	path := strings.Fields(cmd.CommandPath())[1:]
	switch f.Name {
	case "job":
		own = f.Annotations[JobFileFlag] == nil
	case "format", "columns", "memory":
		own = slices.Contains(path, "get") || slices.Contains(path, "scan") || slices.Contains(path, "serve") || // of what is printed, not of the input
			slices.Contains(path, "export") && f.Name != "memory" // of what is written
	case "listen":
		own = slices.Contains(path, "serve") // for callers, not for observers of a job
	case "verify":
		own = slices.Contains(path, "load") || slices.Contains(path, "rekey") || slices.Contains(path, "undo") // know fewer ways
	case "key", "from", "to", "snapshot", "duplicates", "bad-records":
		own = slices.Contains(path, "rekey") || // of rows of a table, not of records
			slices.Contains(path, "export") && f.Name == "to" // a directory, not a key
	case "plan":
		own = slices.Contains(path, "rekey") // no file of a plan
	case "splits":
		own = slices.Contains(path, "run") || slices.Contains(path, "load") // of a table that this one makes
	case "family":
		own = slices.Contains(path, "create") // several, with settings
	}
	if own {
		return strings.Join(append(path, f.Name), "-")
	}
	return f.Name
}

// Variable is the environment variable of a setting.
func Variable(name string) string { return "BULKLOAD_" + strings.ToUpper(Snake(name)) }

// Snake is a setting's name in files.
func Snake(name string) string { return strings.ReplaceAll(name, "-", "_") }

// FieldName is the field of a job file that a setting would override.
func FieldName(name string) string {
	if name == "input" {
		return "inputs"
	}
	return Snake(name)
}

// IsField reports whether a job file has such a field, the settings aside.
func IsField(name string) bool {
	f, ok := spec.FieldOf(name)
	return ok && f.Type != spec.FieldSettings
}

// OneCommand are settings that are for one command, not for a file.
var OneCommand = []string{"help", "config", "job", "restart", "force", "yes", "dry-run", "insert-only", "drop-old"}

// Known are those of any command, with underscores, sorted.
func Known(root *cobra.Command) []string {
	var names []string
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if Bare(c) {
			return
		}
		add := func(f *pflag.Flag) {
			if f.Name != "help" {
				names = append(names, Snake(Name(c, f)))
			}
		}
		c.Flags().VisitAll(add)
		c.PersistentFlags().VisitAll(add)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	slices.Sort(names)
	return slices.Compact(names)
}

// ForFiles reports whether a file may give a setting: any, or the section of a
// job file, whose own fields are next to it.
func ForFiles(name string, section bool) bool {
	return !slices.Contains(OneCommand, name) && !(section && IsField(FieldName(name)))
}

// CheckNames refuses settings of a file that no command has.
func CheckNames(file string, options spec.Options, known []string, section bool) error {
	for _, o := range options {
		at := fmt.Sprintf("%s:%d", file, o.Line)
		switch {
		case slices.Contains(OneCommand, o.Name):
			return fmt.Errorf("%s: %s is for one command, not for a file: give it as --%[2]s", at, o.Name)
		case section && IsField(FieldName(o.Name)):
			return fmt.Errorf("%s: %s is a field of the job file itself: put it at the top level, not under options", at, FieldName(o.Name))
		case slices.Contains(known, o.Name):
		case IsField(o.Name) && !section:
			return fmt.Errorf("%s: %s is a field of job files%s", at, o.Name, suggest(o.Name, known))
		default:
			return fmt.Errorf("%s: no setting is called %q%s", at, o.Name, suggest(o.Name, known))
		}
	}
	return nil
}

// warnUnknown reports variables that look like settings and are not.
func warnUnknown(log *slog.Logger, root *cobra.Command, environ []string) {
	known := Known(root)
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		rest, ours := strings.CutPrefix(name, "BULKLOAD_")
		if !ours || slices.Contains(known, strings.ToLower(rest)) && rest == strings.ToUpper(rest) {
			continue
		}
		// Those of the program's own tests, and those that Kubernetes makes for a service named bulkload.
		if slices.ContainsFunc([]string{"TEST_", "CLUSTER_", "COMPAT", "FAULTS", "CONFORMANCE_", "SERVICE_", "PORT"}, func(p string) bool { return strings.HasPrefix(rest, p) }) {
			continue
		}
		hint := ""
		if near := Nearest(strings.ToLower(rest), known); near != "" {
			hint = Variable(near)
		}
		log.Warn("environment variable names no setting", "variable", name, "did_you_mean", hint)
	}
}

// suggest is the end of a message about a name that is not known.
func suggest(name string, known []string) string {
	if near := Nearest(strings.ReplaceAll(name, "-", "_"), known); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return " (bulkload config show lists the settings)"
}

// Nearest is the known name that takes the fewest changes, at most a third of
// its letters, else "".
func Nearest(name string, known []string) string {
	best, least := "", max(1, len(name)/3)+1
	for _, k := range known {
		if slices.ContainsFunc(Renames(), func(r Rename) bool { return Snake(r.Old) == k }) {
			continue
		}
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is how many letters must be put in, left out or changed (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
