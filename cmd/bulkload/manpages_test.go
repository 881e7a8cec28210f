package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/test/reference"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manPages writes a page of section 1 for each command into a directory. It does not use cobra's own generator of man
// pages, which indents options by tabs: mandoc warns of them.
func manPages(root *cobra.Command, dir, version string, date time.Time) error {
	for _, cmd := range shown(root) {
		page := md2man.Render(manPage(cmd, version, date))
		if err := os.WriteFile(filepath.Join(dir, manName(cmd)+".1"), page, 0o644); err != nil {
			return fmt.Errorf("man page of %s: %w", cmd.CommandPath(), err)
		}
	}
	return nil
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns a page in the Markdown form of go-md2man.
func manPage(cmd *cobra.Command, version string, date time.Time) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%% %q \"1\" %q %q \"bulkload\"\n", strings.ToUpper(manName(cmd)), date.UTC().Format(time.DateOnly), "bulkload "+version)
	fmt.Fprintf(&b, "# NAME\n%s \\- %s\n\n# SYNOPSIS\n", manName(cmd), reference.Escape(cmd.Short))
	use := cmd.CommandPath()
	rest := strings.TrimSpace(strings.TrimPrefix(cmd.UseLine(), use))
	if cmd.HasAvailableSubCommands() {
		rest = "COMMAND [flags]"
	}
	fmt.Fprintf(&b, "**%s** %s\n\n# DESCRIPTION\n%s\n\n", use, reference.Escape(rest), longHelp(cmd))
	if cmd.HasAvailableSubCommands() {
		b.WriteString("# COMMANDS\n")
		for _, c := range cmd.Commands() {
			if len(shown(c)) > 0 {
				fmt.Fprintf(&b, "**%s**(1)\n: %s\n\n", manName(c), reference.Escape(sentence(c.Short)))
			}
		}
	}
	if flags := cmd.NonInheritedFlags(); hasMore(flags) {
		b.WriteString("# OPTIONS\n")
		manFlags(&b, flags)
	}
	if flags := cmd.InheritedFlags(); hasMore(flags) {
		b.WriteString("# OPTIONS OF EVERY COMMAND\n")
		manFlags(&b, flags)
	}
	if cmd.Runnable() || !cmd.HasParent() {
		b.WriteString("# EXIT STATUS\n")
		for _, e := range ending.Exits() {
			fmt.Fprintf(&b, "**%d**\n: %s\n\n", e.Code, reference.Escape(sentence(e.Meaning)))
		}
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "# EXAMPLES\n```\n%s\n```\n\n", unindent(cmd.Example))
	}
	if cmd.HasParent() {
		fmt.Fprintf(&b, "# SEE ALSO\n**%s**(1)\n", manName(cmd.Parent()))
	}
	return b.Bytes()
}

func manFlags(b *bytes.Buffer, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "**--" + f.Name + "**"
		if f.Shorthand != "" {
			name = "**-" + f.Shorthand + "**, " + name
		}
		if v := value(f); v != "" {
			name += " *" + v + "*"
		}
		usage := reference.Escape(f.Usage)
		if p := preset(f); p != "" {
			usage += " (default " + reference.Escape(p) + ")"
		}
		fmt.Fprintf(b, "%s\n: %s\n\n", name, sentence(usage))
	})
}
