package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/model/fail"

	"github.com/creack/pty"
)

// terminal records the output of a program as a user would see it. It supports only the sequences that the live view
// uses.
type terminal struct {
	width, height int
	lines         []string // all lines, including those that have scrolled away
	row           int      // of the cursor, which is at the end of its line
	widest        int      // width of the widest row that was overwritten
	frames        int      // number of times the cursor moved up
	erased        []string // log lines that were overwritten
	unknown       []string // unsupported sequences
	colours       int
}

// isLog reports whether a line is a log line.
func isLog(l string) bool { return strings.HasPrefix(l, "time=") || strings.HasPrefix(l, "{") }

var sequence = regexp.MustCompile(`^\x1b\[([0-9;]*)([A-Za-z])`)

func (t *terminal) write(s string) {
	for s != "" {
		if t.row >= len(t.lines) {
			t.lines = append(t.lines, "")
		}
		if m := sequence.FindStringSubmatch(s); m != nil {
			s = s[len(m[0]):]
			n, _ := strconv.Atoi(m[1])
			switch {
			case m[2] == "A":
				t.frames++
				for _, l := range t.lines[max(0, t.row-n):t.row] {
					t.widest = max(t.widest, len(l))
					if isLog(l) {
						t.erased = append(t.erased, l)
					}
				}
				t.row = max(0, t.row-n)
			case m[2] == "J" && n == 0:
				t.lines = t.lines[:t.row]
			case m[2] == "m":
				t.colours++
			default:
				t.unknown = append(t.unknown, m[0])
			}
			continue
		}
		switch c := s[0]; c {
		case '\n':
			t.row++
		case '\r':
		case 0x1b:
			t.unknown = append(t.unknown, s[:min(8, len(s))])
		default:
			t.lines[t.row] += string(c)
		}
		s = s[1:]
	}
}

// onTerminal runs the program with a terminal of this size as its standard error, and waits for its end.
func onTerminal(t *testing.T, width, height int, env []string, args ...string) (*terminal, string, error) {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Skip("no pseudo terminal: ", err)
	}
	defer master.Close()
	if err := pty.Setsize(master, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bulkload", args...)
	cmd.Env = append(os.Environ(), append([]string{"TERM=xterm", "NO_COLOR=", "HADOOP_CONF_DIR=", "HBASE_CONF_DIR="}, env...)...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	seen := &terminal{width: width, height: height}
	b, err := io.ReadAll(master)
	if err != nil && !errors.Is(err, syscall.EIO) { // this error is the end of the terminal
		t.Fatal(err)
	}
	seen.write(string(b))
	return seen, out.String(), cmd.Wait()
}

// manyRows writes a file of rows with unique keys, enough for a job of one worker to take many frames.
func manyRows(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rows.csv")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "id,a,b,c,d")
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 1_200_000 {
		fmt.Fprintf(w, "%08d,value%x,%x,%x,%x\n", i, r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64())
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestLiveView runs the program on a terminal and checks the final screen.
func TestLiveView(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the built program, which -short leaves out")
	}
	input := manyRows(t)
	splits := "00120000,00240000,00360000,00480000,00600000,00720000,00840000,00960000,01080000"
	build := func(more ...string) []string {
		return append([]string{"build", "--key", "id", "--input", input, "--splits", splits, "--out", filepath.Join(t.TempDir(), "out"), "--workers", "1"}, more...)
	}
	for _, c := range []struct {
		name          string
		width, height int
		env           []string
		args          []string
		view, colours bool
		lines         bool // log lines
	}{
		{name: "80 columns", width: 80, height: 24, view: true, colours: true},
		{name: "120 columns", width: 120, height: 40, view: true, colours: true},
		{name: "45 columns, 5 rows", width: 45, height: 5, view: true, colours: true},
		{name: "no colours", width: 80, height: 24, env: []string{"NO_COLOR=1"}, view: true},
		{name: "with the log", width: 80, height: 24, args: []string{"--log-level", "info"}, view: true, colours: true, lines: true},
		{name: "errors only", width: 80, height: 24, args: []string{"--log-level", "error"}, view: true, colours: true},
		{name: "json", width: 80, height: 24, args: []string{"--log-format", "json"}, view: true, colours: true, lines: true},
		{name: "dumb", width: 80, height: 24, env: []string{"TERM=dumb"}, lines: true},
		{name: "too narrow", width: 30, height: 24, lines: true},
		{name: "off", width: 80, height: 24, args: []string{"--progress", "off"}, lines: true},
		{name: "quiet", width: 80, height: 24, args: []string{"--quiet", "--progress", "live"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen, _, err := onTerminal(t, c.width, c.height, c.env, build(c.args...)...)
			text := strings.Join(seen.lines, "\n")
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if len(seen.unknown) > 0 {
				t.Errorf("unwanted sequences: %q", seen.unknown)
			}
			if (seen.frames > 0) != c.view || (seen.colours > 0) != c.colours {
				t.Errorf("drawn %d times with %d colours", seen.frames, seen.colours)
			}
			var log, view []string
			for _, l := range seen.lines {
				switch {
				case isLog(l):
					log = append(log, l)
				case l != "":
					view = append(view, l)
				}
			}
			if (len(log) >= 6) != c.lines || !c.lines && len(log) > 0 {
				t.Errorf("%d lines of the log:\n%s", len(log), text)
			}
			for _, l := range log {
				if !regexp.MustCompile(`(phase=(read|sort|write)( .*)?|"phase":"(read|sort|write)".*}|inputs detected.*header=yes"}?)$`).MatchString(l) {
					t.Errorf("torn: %q", l)
				}
			}
			if !c.view {
				if len(view) > 0 {
					t.Errorf("there is more than the log:\n%s", text)
				}
				return
			}
			if seen.widest >= c.width || len(seen.erased) > 0 {
				t.Errorf("a row of %d columns; drawn over: %q", seen.widest, seen.erased)
			}
			for _, l := range view {
				if len(l) >= c.width {
					t.Errorf("%d columns: %q", len(l), l)
				}
			}
			want := []string{"read ", "sort ", "write ", "job "}
			if len(view) != len(want) {
				t.Fatalf("the view that stays:\n%s", text)
			}
			for i, w := range want {
				if !strings.HasPrefix(view[i], w) || !strings.Contains(view[i], "done") {
					t.Errorf("row %d: %q", i, view[i])
				}
			}
			if c.width >= 80 && (!strings.Contains(view[0], "1.20 M rows") || !strings.Contains(view[2], "1.20 M rows")) {
				t.Errorf("totals:\n%s", text)
			}
		})
	}
}

// TestLiveViewOfFailure checks that the view ends before the error is printed.
func TestLiveViewOfFailure(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the built program, which -short leaves out")
	}
	name := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(name, []byte("id,a\n1,x\n1,y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	seen, _, err := onTerminal(t, 80, 24, nil, "build", "--log-level", "error", "--key", "id", "--input", name, "--out", filepath.Join(t.TempDir(), "out"))
	if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != fail.BadRows.ExitCode() {
		t.Fatal(err)
	}
	last := seen.lines
	for len(last) > 0 && last[len(last)-1] == "" {
		last = last[:len(last)-1]
	}
	if len(last) < 2 || !strings.HasPrefix(last[len(last)-1], "bulkload: ") || !strings.HasPrefix(last[len(last)-2], "job      failed after") {
		t.Errorf("%q", seen.lines)
	}
}

// TestWithoutTerminal checks that only the log is written to a file, and nothing with --quiet.
func TestWithoutTerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the built program, which -short leaves out")
	}
	input := manyRows(t)
	for _, mode := range []string{"auto", "live", "lines", "off"} {
		for _, quiet := range []bool{false, true} {
			cmd := exec.CommandContext(t.Context(), "bulkload", "build", "--key", "id", "--input", input, "--out", filepath.Join(t.TempDir(), "out"),
				"--progress", mode, "--quiet="+strconv.FormatBool(quiet))
			cmd.Env = append(os.Environ(), "TERM=xterm", "HADOOP_CONF_DIR=", "HBASE_CONF_DIR=")
			var b strings.Builder
			cmd.Stderr = &b
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v: %s", err, b.String())
			}
			if quiet && b.Len() > 0 {
				t.Errorf("%s: %q", mode, b.String())
			}
			for l := range strings.Lines(b.String()) {
				if !strings.HasPrefix(l, "time=") || strings.ContainsAny(l, "\x1b\r") {
					t.Errorf("%s: %q", mode, l)
				}
			}
		}
	}
}
