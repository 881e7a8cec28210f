package main

import (
	"bytes"
	"fmt"
	"strings"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/settings"
	"bulkload/internal/test/reference"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandsDoc returns docs/commands.md: every command with its flags, and the exit codes.
func commandsDoc(root *cobra.Command) []byte {
	var b bytes.Buffer
	b.WriteString(`# Commands

<!-- Made from the program by "make docs"; edit the help texts in cmd/bulkload, those of flags in internal/cli/settings/table.go and internal/model/spec/specfields.go. -->

` + "`bulkload help COMMAND` and `man bulkload-COMMAND` say the same; `bulkload COMMAND --help` is shorter.\n\n| command | what it does |\n|---|---|\n")
	all := shown(root)
	for _, cmd := range all[1:] {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", pathWithin(cmd), reference.Anchor(cmd.CommandPath()), reference.Escape(cmd.Short))
	}
	b.WriteString("\n## Exit status\n\n| code | meaning | what to do then |\n|---|---|---|\n")
	for _, e := range ending.Exits() {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", e.Code, reference.Escape(e.Meaning), e.Next)
	}
	b.WriteString("\nAny other code is a failure too.\n\n## Flags of every command\n\n")
	flagTable(&b, root.PersistentFlags())
	for _, cmd := range all[1:] {
		level := 1 + strings.Count(cmd.CommandPath(), " ")
		fmt.Fprintf(&b, "\n%s %s\n\n%s\n", strings.Repeat("#", level), cmd.CommandPath(), longHelp(cmd))
		if !cmd.HasSubCommands() {
			fmt.Fprintf(&b, "\n```\n%s\n```\n", cmd.UseLine())
		}
		if cmd.Example != "" {
			fmt.Fprintf(&b, "\nFor example:\n\n```\n%s\n```\n", unindent(cmd.Example))
		}
		if flags := cmd.NonInheritedFlags(); cmd.HasAvailableLocalFlags() && hasMore(flags) {
			b.WriteByte('\n')
			flagTable(&b, flags)
		}
	}
	return b.Bytes()
}

// pathWithin returns the path of a command without the program's name.
func pathWithin(cmd *cobra.Command) string {
	_, p, _ := strings.Cut(cmd.CommandPath(), " ")
	return p
}

// hasMore reports whether there are flags besides help, which every command has.
func hasMore(flags *pflag.FlagSet) bool {
	more := false
	flags.VisitAll(func(f *pflag.Flag) { more = more || !f.Hidden && f.Name != "help" })
	return more
}

func flagTable(b *bytes.Buffer, flags *pflag.FlagSet) {
	b.WriteString("| flag | meaning | default |\n|---|---|---|\n")
	for _, g := range settings.Grouped(flags) {
		if g.Title != "" {
			fmt.Fprintf(b, "| **%s** | | |\n", g.Title)
		}
		flagRows(b, g.Flags)
	}
}

// flagRows writes a row for each flag.
func flagRows(b *bytes.Buffer, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if v := value(f); v != "" {
			name += " " + v
		}
		usage, def := splitDefault(f.Usage)
		if p := preset(f); p != "" {
			def = "`" + p + "`"
		} else {
			def = reference.Escape(def)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, reference.Escape(usage), def)
	})
}

// splitDefault removes "(default …)" from the end of a help text.
func splitDefault(usage string) (rest, def string) {
	i := strings.LastIndex(usage, "(default")
	if i < 0 || !strings.HasSuffix(usage, ")") {
		return usage, ""
	}
	def = strings.TrimSuffix(usage[i+len("(default"):], ")")
	if def == "" {
		return usage, "" // one of several values is marked as the default
	}
	return strings.TrimSpace(usage[:i]), strings.TrimLeft(def, ": ")
}

// unindent removes the two leading blanks of examples in help texts.
func unindent(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "  ")
	}
	return strings.Join(lines, "\n")
}
