package settings

import (
	"slices"
	"strings"

	"bulkload/internal/model/spec"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// fieldFlag is the annotation of flags that set a field of the job file.
const fieldFlag = "bulkload_job_field"

// AddFields registers the flags of the job file's fields that belong to the given parts. A flag counts as given once the
// command line, a file or the environment sets it.
func AddFields(f *pflag.FlagSet, parts ...spec.Part) {
	for _, field := range spec.SpecFields() {
		if field.Usage != "" && slices.Contains(parts, field.Part) {
			addField(f, field)
		}
	}
}

// AddField registers the flags of fields by their names.
func AddField(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		field, _ := spec.FieldOf(name)
		addField(f, field)
	}
}

func fieldOf(f *pflag.Flag) (spec.SpecField, bool) {
	if f == nil || f.Annotations[fieldFlag] == nil {
		return spec.SpecField{}, false
	}
	return spec.FieldOf(f.Annotations[fieldFlag][0])
}

func addField(f *pflag.FlagSet, field spec.SpecField) {
	e := Entry{Flag: field.Flag(), Usage: setting.Parse(field.Usage).In(Flag)}
	if at, _ := find(table, f.Name(), e.Flag); at >= 0 {
		e.Usage = table[at].Usage // usage text of this command
	}
	switch {
	case field.Type == spec.FieldBool:
		add(f, e, new(bool))
	case field.Type == spec.FieldNumber:
		add(f, e, new(int64))
	case field.Type == spec.FieldSize:
		add(f, e, new(spec.Size))
	case field.Type == spec.FieldTexts && field.Repeated:
		f.StringSlice(e.Flag, nil, e.Usage)
	case field.Type == spec.FieldTexts && !field.Commas:
		add(f, e, new([]string))
	default:
		add(f, e, new(string))
	}
	f.Lookup(e.Flag).Annotations = map[string][]string{fieldFlag: {field.Name}}
}

// JobSpec returns the job file of a command, overridden by flags, the environment and the configuration file. Of the inputs
// and the list of inputs only the one from the stronger source is kept, so that a flag overrides both of a job file.
func JobSpec(cmd *cobra.Command) spec.Spec {
	s := Of(cmd)
	job := s.JobSpec()
	for _, field := range spec.SpecFields() {
		f := cmd.Flags().Lookup(field.Flag())
		if _, ok := fieldOf(f); !ok || !f.Changed {
			continue
		}
		texts := []string{f.Value.String()}
		switch list, ok := f.Value.(pflag.SliceValue); {
		case ok:
			texts = list.GetSlice()
		case field.Commas && texts[0] == "":
			texts = nil
		case field.Commas:
			texts = SplitList(texts[0])
		}
		_ = job.Set(field.Name, texts) // the flag has accepted them
	}
	switch s.Overridden() {
	case "input":
		job.Inputs = nil
	case "inputs-from":
		job.InputsFrom = ""
	}
	return job
}

// SplitList splits a list of names at commas.
func SplitList(text string) []string {
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}
