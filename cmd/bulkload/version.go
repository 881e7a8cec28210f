package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"bulkload/internal/cli/usage"

	"github.com/spf13/cobra"
)

// version is this program's version. The linker sets it in builds by make. Otherwise main sets it to the version that
// the go command has recorded.
var version = "dev"

// work identifies this program. Its only time is the commit's, so that the same sources produce the same program.
type work struct {
	Version  string `json:"version"`            // such as 0.3.0, or the version that go install has recorded; dev if it is unknown
	Revision string `json:"revision,omitempty"` // the commit's hash
	Modified bool   `json:"modified"`           // the sources differed from the commit
	Date     string `json:"date,omitempty"`     // the commit's time, RFC 3339 in UTC
	Go       string `json:"go"`                 // version of the compiler
	Platform string `json:"platform"`           // operating system/architecture
}

func thisBuild() work {
	info, _ := debug.ReadBuildInfo()
	return buildOf(version, info)
}

// buildOf prefers the linker's version, unless it is dev, to the module's. A nil info stands for a program that was
// built without modules.
func buildOf(linked string, info *debug.BuildInfo) work {
	b := work{Version: strings.TrimPrefix(linked, "v"), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info != nil {
		if v := info.Main.Version; b.Version == "dev" && v != "" && v != "(devel)" {
			b.Version = strings.TrimPrefix(v, "v")
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = s.Value
			case "vcs.time":
				b.Date = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	return b
}

// String returns one line: the version, and the commit if it is known.
func (b work) String() string {
	s := "bulkload " + b.Version
	if b.Revision != "" {
		s += " (" + b.Revision[:min(12, len(b.Revision))]
		if b.Modified {
			s += ", modified"
		}
		s += ")"
	}
	return s
}

func (b work) print(w io.Writer) {
	fmt.Fprintln(w, b)
	if b.Date != "" {
		fmt.Fprintf(w, "of %s\n", b.Date)
	}
	fmt.Fprintf(w, "%s %s\n", b.Go, b.Platform)
}

func newVersionCmd(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and compiler",
		Long: `Version prints the program's version, the commit that it was built from, whether the
sources were modified since, the commit's time, the Go compiler and the platform. The
flag --version prints only the first line of it.`,
		Example: `  bulkload version
  bulkload version --output json`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			return g.Print(cmd.OutOrStdout(), b, b.print)
		},
	}
}
