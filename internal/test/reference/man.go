package reference

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ManOptions are the contents of the head and foot of each page.
type ManOptions struct {
	Version string
	Date    time.Time // its day in UTC
}

// Man writes a page of section 1 for each command into a directory. It does not use cobra's own generator of man
// pages, which indents options by tabs: mandoc warns of them.
func Man(root *cobra.Command, exits []Exit, dir string, o ManOptions) error {
	for _, cmd := range shown(root) {
		page := md2man.Render(manPage(cmd, exits, o))
		if err := os.WriteFile(filepath.Join(dir, manName(cmd)+".1"), page, 0o644); err != nil {
			return fmt.Errorf("man page of %s: %w", cmd.CommandPath(), err)
		}
	}
	return nil
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns a page in the Markdown form of go-md2man.
func manPage(cmd *cobra.Command, exits []Exit, o ManOptions) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%% %q \"1\" %q %q \"bulkload\"\n", strings.ToUpper(manName(cmd)), o.Date.UTC().Format(time.DateOnly), "bulkload "+o.Version)
	fmt.Fprintf(&b, "# NAME\n%s \\- %s\n\n# SYNOPSIS\n", manName(cmd), escape(cmd.Short))
	use := cmd.CommandPath()
	rest := strings.TrimSpace(strings.TrimPrefix(cmd.UseLine(), use))
	if cmd.HasAvailableSubCommands() {
		rest = "COMMAND [flags]"
	}
	fmt.Fprintf(&b, "**%s** %s\n\n# DESCRIPTION\n%s\n\n", use, escape(rest), about(cmd))
	if cmd.HasAvailableSubCommands() {
		b.WriteString("# COMMANDS\n")
		for _, c := range cmd.Commands() {
			if len(shown(c)) > 0 {
				fmt.Fprintf(&b, "**%s**(1)\n: %s\n\n", manName(c), escape(sentence(c.Short)))
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
		for _, e := range exits {
			fmt.Fprintf(&b, "**%d**\n: %s\n\n", e.Code, escape(sentence(e.Meaning)))
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
		usage := escape(f.Usage)
		if p := preset(f); p != "" {
			usage += " (default " + escape(p) + ")"
		}
		fmt.Fprintf(b, "%s\n: %s\n\n", name, sentence(usage))
	})
}
