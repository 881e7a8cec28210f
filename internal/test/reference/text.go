package reference

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit is a row of the table of exit codes.
type Exit struct {
	Code    int
	Meaning string
	Next    string // what the program's caller does next, in Markdown
}

// about returns a command's long help as Markdown. Indented lines become a code block.
func about(cmd *cobra.Command) string {
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
		out = append(out, escape(paragraph))
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

// escape returns a text that Markdown prints unchanged. Underscores within words and backslashes before letters are
// literal in Markdown, and are kept.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case strings.IndexByte("*`<|", c) >= 0,
			c == '_' && (i == 0 || i+1 == len(s) || !wordByte(s[i-1]) || !wordByte(s[i+1])),
			c == '\\' && i+1 < len(s) && s[i+1] > ' ' && s[i+1] < 0x7f && !wordByte(s[i+1]):
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_'
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
