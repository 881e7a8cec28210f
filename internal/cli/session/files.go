package session

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bulkload/internal/cli/settings"
	"bulkload/internal/model/fail"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// endFiles are the settings of files that a command writes in addition to its output, most of them at its end, and recordFiles those of records, which
// are compared with the inputs as these are opened.
func endFiles() []string {
	return []string{"result-file", "report", "metrics-file", "openlineage", "svg", "differences", "digests", "cpuprofile", "memprofile", "trace"}
}
func recordFiles() []string { return []string{"reject-file", "filtered-file", "duplicates-file"} }

// outputs are the settings of a command's output, a file or a directory.
func outputs() []string { return []string{"out", "write"} }

// checkFiles refuses a file that a command would write if it is an input, the job file, or the file of another setting.
func checkFiles(cmd *cobra.Command) error {
	spec, flags := settings.JobSpec(cmd), endFiles()
	for i, flag := range slices.Concat(flags, recordFiles()) {
		value := settings.ValueOf(cmd, flag)
		file := localPath(value)
		if file == "" || flag == "report" && value == "off" {
			continue
		}
		refuse := func(format string, args ...any) error {
			return fail.Usage(settings.AboutFlags(fmt.Errorf("--%s %s "+format, append([]any{flag, value}, args...)...), flag))
		}
		others := outputs()
		if i < len(flags) {
			others = slices.Concat(flags[i+1:], recordFiles(), others)
		}
		for _, other := range others {
			if localPath(settings.ValueOf(cmd, other)) == file {
				return refuse("is also --%s: give each a file of its own", other)
			}
		}
		if i >= len(flags) {
			continue
		}
		for _, other := range append([]string{settings.ValueOf(cmd, "job"), settings.ValueOf(cmd, "config"), spec.InputsFrom}, cmd.Flags().Args()...) {
			if localPath(other) == file {
				return refuse("is a file that this command reads: name another")
			}
		}
		earlier := flag == "result-file" && removable(file) == nil // it is removed before the inputs are listed
		for _, in := range spec.Inputs {
			if name := localPath(in); name == file || !earlier && holds(name, file) {
				return refuse("is an input, of %s: name another", settings.MaskURLs(in))
			}
		}
		// An input that only a list, a plan or a pattern through a link names.
		if text, ok := beginnings()[flag]; ok && !begins(file, text) {
			return refuse("is there, and this setting has not written it: name another, or remove it")
		}
	}
	return nil
}

// beginnings returns how the contents of files begin that settings write, as far as all versions write them so.
func beginnings() map[string]string {
	const gzip = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff" // as Go writes it for profiles, and gzip itself does not
	return map[string]string{"report": "<!DOCTYPE", "metrics-file": "# HELP ", "openlineage": `{"event`, "svg": "<svg ", "cpuprofile": gzip, "memprofile": gzip, "trace": "go 1.",
		"differences": `{"row":`, "digests": `{"start":`}
}

// begins reports whether a file begins with a text, as far as it has bytes and this user may read them. A file that is not regular does.
func begins(name, text string) bool {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return true
	}
	f, err := os.Open(name)
	if err != nil {
		return true
	}
	defer f.Close()
	head := make([]byte, len(text))
	n, err := io.ReadFull(f, head)
	return err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || bytes.HasPrefix([]byte(text), head[:n])
}

// holds reports whether an input is a directory or a pattern that has a file.
func holds(input, file string) bool {
	if input == "" {
		return false
	}
	if _, err := os.Stat(file); err != nil {
		return false
	}
	below, inside := strings.CutPrefix(file, strings.TrimSuffix(input, "/")+"/")
	if match, err := filepath.Match(input, file); err == nil && match {
		below, inside = filepath.Base(file), true
	}
	hidden := func(name string) bool { return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") }
	return inside && !slices.ContainsFunc(strings.Split(below, "/"), hidden)
}

// localPath returns the absolute name of a local file, where its symbolic links lead, or "" for what is none: an address, a device.
func localPath(name string) string {
	name = strings.TrimPrefix(name, "file://")
	if name == "" || name == "-" || strings.Contains(name, "://") {
		return ""
	}
	file, err := filepath.Abs(name)
	if err != nil {
		return ""
	}
	if to, err := filepath.EvalSymlinks(file); err == nil {
		if info, err := os.Stat(to); err == nil && info.Mode()&os.ModeDevice != 0 {
			return ""
		}
		return to
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		return filepath.Join(dir, filepath.Base(file))
	}
	return file
}

// beginResult removes the result of an earlier command: it must not be taken for the result of one that is killed.
func (p *Program) beginResult(cmd *cobra.Command) error {
	p.prepared = true
	if err := checkFiles(cmd); err != nil {
		return err
	}
	file := settings.ValueOf(cmd, "result-file")
	if plan := cmd.Flags().Lookup("plan"); file == "" || plan != nil && plan.Value.Type() == "bool" && plan.Value.String() == "true" {
		return nil // a plan has no result
	}
	err := removable(file)
	if err == nil {
		p.place = file
		err = removeOld(file)
	}
	if err != nil {
		return fail.Usage(settings.AboutFlags(fmt.Errorf("--result-file: %w", err), "result-file"))
	}
	return nil
}

// removable returns an error for a regular file that is not the result of an earlier command, and is not empty.
func removable(name string) error {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil // removeOld judges it
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, len(resultBegins))
	if _, err := io.ReadFull(f, head); err != nil || !bytes.Equal(head, []byte(resultBegins)) {
		return fmt.Errorf("%s is there, and is not a result of an earlier command: name another, or remove it", name)
	}
	return nil
}

// resultBegins is the beginning of every result.
const resultBegins = `{"schema":1,"status":"`

// resultFile returns the local file for the result, "" if there is none, and whether the command has --result-file. A command that failed before
// its settings were known replaces only the result of an earlier one.
func (p *Program) resultFile(cmd *cobra.Command) (string, bool) {
	if cmd == nil {
		return "", false
	}
	f := cmd.Flags().Lookup("result-file")
	if f == nil || p.prepared {
		return p.place, f != nil
	}
	name := cmp.Or(f.Value.String(), argument(p.Args, f.Name), os.Getenv(settings.Variable(f.Name)))
	if strings.Contains(name, "{{") || removable(name) != nil {
		return "", true
	}
	return name, true
}

// wantsJSON reports whether the arguments request JSON, for a command that failed before or while it parsed them.
func wantsJSON(args []string) bool { return argument(args, "output") == "json" }

// argument returns the value of a flag in arguments that may have errors.
func argument(args []string, flag string) string {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.ParseErrorsAllowlist.UnknownFlags = true
	f.Usage = func() {} // the command's usage is printed already
	value := f.String(flag, "", "")
	_ = f.Parse(args) // errors in the arguments are reported already
	return *value
}
