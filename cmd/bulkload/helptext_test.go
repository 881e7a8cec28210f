package main

import (
	"strings"

	"bulkload/internal/test/reference"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// longHelp returns a command's long help as Markdown. Indented lines become a code block.
func longHelp(cmd *cobra.Command) string {
	text := cmd.Long
	if text == "" {
		text = sentence(cmd.Short)
	}
	var out []string
	for _, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(paragraph, "  ") {
			out = append(out, "```\n"+paragraph+"\n```")
			continue
		}
		out = append(out, reference.Escape(paragraph))
	}
	return strings.Join(out, "\n\n")
}

// sentence adds a full stop if there is none.
func sentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// value returns the placeholder of a flag's value in a list of flags: its type as a word.
func value(f *pflag.Flag) string {
	switch t := f.Value.Type(); t {
	case "bool":
		return ""
	case "string":
		return "TEXT"
	case "stringArray", "stringSlice":
		return "TEXT"
	case "int", "int64", "float64", "uint64", "float":
		return "N"
	default:
		return strings.ToUpper(t)
	}
}

// preset returns a flag's default if its help does not name one.
func preset(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "0", "false", "[]", "0s":
		return ""
	}
	if strings.Contains(f.Usage, "(default") {
		return ""
	}
	return f.DefValue
}

// shown returns the visible commands, each before its subcommands.
func shown(cmd *cobra.Command) []*cobra.Command {
	if cmd.Hidden || cmd.Name() == "help" {
		return nil
	}
	all := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		all = append(all, shown(c)...)
	}
	return all
}
