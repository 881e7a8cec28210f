package settings

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/model/spec"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// loaded is a command with some settings of each kind.
type loaded struct {
	*cobra.Command
	job, spillDir, loadMode, password string
	workers                           int
	keep                              bool
}

// newLoaded returns a command run with its flags parsed.
func newLoaded(t *testing.T, args ...string) *loaded {
	t.Helper()
	l := &loaded{Command: &cobra.Command{Use: "run", Run: func(*cobra.Command, []string) {}}}
	root := &cobra.Command{Use: "bulkload"}
	root.AddCommand(l.Command)
	f := l.Flags()
	AddFlags(f)
	AddField(f, "table", "family", "inputs", "inputs_from", "columns", "null_value", "bad_records", "salt_buckets", "filter")
	Bind(f, To{"job": &l.job, "spill-dir": &l.spillDir, "load-mode": &l.loadMode, "workers": &l.workers, "keep-staging": &l.keep})
	f.StringVar(&l.password, "push-password", "", "")
	f.Int("push-token", 0, "")
	AddOldNames(root)
	testcheck.Must(t, l.ParseFlags(args))
	l.SetContext(t.Context())
	return l
}

// settle settles a command, as [Command] does.
func (l *loaded) settle(environ ...string) (*Settled, error) {
	s, err := Settle(l.Command, environ, time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC))
	if err == nil {
		l.SetContext(context.WithValue(l.Context(), settledKey{}, s))
		err = checkValues(l.Command)
	}
	return s, err
}

// TestPrecedence gives random settings in random ones of their sources: the strongest one has the value, as it is listed, and as a job gets it.
func TestPrecedence(t *testing.T) {
	r, dir := testcheck.Rand(t), t.TempDir()
	config, job := filepath.Join(dir, "site.yaml"), filepath.Join(dir, "job.yaml")
	samples := []struct {
		name   string    // in files
		values [4]string // of the flag, the environment, the job file and the configuration file
	}{
		{"table", [4]string{"t:1", "t:2", "t:3", "t:4"}}, {"family", [4]string{"a", "b", "c", "d"}}, {"columns", [4]string{"a, b", "b, c", "c, d", "d, e"}}, {"bad_records", [4]string{"1", "2%", "3", "4"}},
		{"inputs", [4]string{`{{ .Date "0102" }}/a`, `{{ .Date "0102" }}/b`, `{{ .Date "0102" }}/c`, `{{ .Date "0102" }}/d`}}, {"null_value", [4]string{`\N`, "NULL", "-", "x"}}, {"salt_buckets", [4]string{"1", "2", "3", "4"}},
		{"workers", [4]string{"1", "2", "3", "4"}}, {"spill_dir", [4]string{"/1", "/2", "/3", "/4"}}, {"load_mode", [4]string{"direct", "secure", "secure", "auto"}}, {"keep_staging", [4]string{"true", "false", "true", "false"}},
	}
	old := map[string]string{"salt_buckets": "regions", "load_mode": "stage"}
	for range race.Cases(t, 1000) {
		var args, environ, options []string
		jobLines, siteLines := []string{"# a job"}, []string{"# a site"}
		want := map[string]Setting{}
		for _, s := range samples {
			name, given, win := s.name, 1+r.IntN(15), Setting{Origin: "default"}
			if now := r.IntN(3) == 0; now && old[name] != "" {
				name = old[name]
			}
			written := s.values
			if name == "stage" { // its value token is secure now
				written[1], written[2] = "token", "token"
			}
			flag := strings.ReplaceAll(strings.Replace(name, "inputs", "input", 1), "_", "-")
			if given&8 != 0 {
				siteLines = append(siteLines, fmt.Sprintf("%s: '%s'", Snake(flag), written[3]))
				win = Setting{s.name, s.values[3], fmt.Sprintf("config file %s:%d", config, len(siteLines))}
			}
			if field := IsField(s.name); given&4 != 0 && field {
				text := "'" + s.values[2] + "'"
				if s.name == "inputs" || s.name == "columns" || s.name == "null_value" {
					text = "[" + strings.ReplaceAll(text, ", ", "', '") + "]"
				} else if s.name == "salt_buckets" {
					text = s.values[2]
				}
				jobLines = append(jobLines, name+": "+text)
				win = Setting{s.name, s.values[2], fmt.Sprintf("job file %s:%d", job, len(jobLines))}
			} else if given&4 != 0 {
				options = append(options, fmt.Sprintf("  %s: %s", name, written[2]))
				win = Setting{s.name, s.values[2], fmt.Sprintf("job file %s:+%d", job, len(options))}
			}
			if given&2 != 0 {
				environ = append(environ, Variable(flag)+"="+written[1])
				win = Setting{s.name, s.values[1], "environment variable " + Variable(flag)}
			}
			if given&1 != 0 {
				args = append(args, fmt.Sprintf("--%s=%s", flag, written[0]))
				win = Setting{s.name, s.values[0], "flag --" + flag}
			}
			want[s.name] = win
		}
		testcheck.Must(t, os.WriteFile(config, []byte(strings.Join(siteLines, "\n")), 0o600))
		if len(options) > 0 {
			jobLines = append(jobLines, "options:")
		}
		testcheck.Must(t, os.WriteFile(job, []byte(strings.Join(append(jobLines, options...), "\n")), 0o600))
		l := newLoaded(t, append(args, "--job", job, "--date", "2026-03-05", "--config="+config)...)
		s, err := l.settle(environ...)
		testcheck.Must(t, err)
		listed := map[string]Setting{}
		for _, v := range List(l.Command) {
			listed[v.Name] = v
		}
		spec1 := JobSpec(l.Command)
		for name, w := range want {
			if file, n, ok := strings.Cut(w.Origin, ":+"); ok {
				line := 0
				_, _ = fmt.Sscan(n, &line)
				w.Origin = fmt.Sprintf("%s:%d", file, len(jobLines)+line)
			}
			w.Value = strings.ReplaceAll(w.Value, `{{ .Date "0102" }}`, "0305")
			got := listed[name]
			if got.Origin != w.Origin || w.Origin != "default" && strings.ReplaceAll(got.Value, " ", "") != strings.ReplaceAll(w.Value, " ", "") {
				t.Fatalf("%q, %q,\n%s\n%s\n%s: %+v, want %+v", args, environ, strings.Join(jobLines, "\n"), strings.Join(options, "\n"), strings.Join(siteLines, "\n"), got, w)
			}
			if field, _ := spec.FieldOf(name); IsField(name) && w.Origin != "default" && (strings.ReplaceAll(spec1.Text(field), " ", "") != strings.ReplaceAll(w.Value, " ", "") || name == "columns" && len(spec1.Columns) != 2) {
				t.Fatalf("the job's %s is %q, want %q", name, spec1.Text(field), w.Value)
			}
		}
		if dated := want["inputs"].Origin != "default"; s.Dated != dated || s.Given("table") != strings.HasPrefix(want["table"].Origin, "flag") {
			t.Fatalf("dated %v, want %v", s.Dated, dated)
		}
	}
}

// TestSettingsThatAreRefused checks the errors of settings from each source.
func TestSettingsThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	config, job := filepath.Join(dir, "site.yaml"), filepath.Join(dir, "job.yaml")
	for _, tt := range []struct {
		args, env   string // of one word each
		config, job string
		want        string
	}{
		{config: "worker: 3", want: `config file FILE:1: unknown setting "worker" (did you mean workers?)`},
		{config: "zzz: 3", want: `config file FILE:1: unknown setting "zzz" (bulkload config show lists the settings)`},
		{config: "job: a.yaml", want: "config file FILE:1: job cannot be in a file: give it to the command as --job"},
		{config: "workers: [1, 2]", want: "config file FILE:1: workers takes one value, not a list of 2"},
		{config: "workers: many", want: `config file FILE:1: "many": not a whole number`},
		{config: "workers: 99999999999999999999", want: "out of range"},
		{config: "push_password: hunter2", want: ""}, {env: "BULKLOAD_PUSH_TOKEN=hunter2", want: "environment variable BULKLOAD_PUSH_TOKEN: not a valid value of --push-token"},
		{config: "salt_buckets: 1\nregions: 2", want: "config file FILE:2: regions is the old name of salt_buckets: give salt_buckets only"},
		{config: "key: x", want: "config file FILE:1: key is a field of job files"},
		{job: "options: {family: x}", want: "job file JOB:1: family is a field of the job file: put it at the top level, not under options"},
		{job: "table: '{{ .Day }}'", want: `table (job file JOB:1): "{{ .Day }}": unknown .Day`},
		{job: "nothing: 1", want: "job file JOB"},
		{env: "BULKLOAD_KEEP_STAGING=perhaps", want: `environment variable BULKLOAD_KEEP_STAGING: "perhaps": not true or false`},
		{env: "BULKLOAD_TABLE={{ env \"NONE\" }}", want: `--table (environment variable BULKLOAD_TABLE): "{{ env \"NONE\" }}": environment variable NONE is not set`},
		{env: "BULKLOAD_TIME_ZONE=Mars", want: `--time-zone (environment variable BULKLOAD_TIME_ZONE): "Mars" is not a time zone`},
		{env: "BULKLOAD_REGIONS=1,BULKLOAD_SALT_BUCKETS=1", want: "environment variable BULKLOAD_REGIONS is the old name of BULKLOAD_SALT_BUCKETS: set BULKLOAD_SALT_BUCKETS only"},
		{env: "BULKLOAD_CONFIG=/none", want: "configuration file of environment variable BULKLOAD_CONFIG: "}, {env: "BULKLOAD_JOB=/none", want: "job file of environment variable BULKLOAD_JOB: "},
		{args: "--date=soon", want: `--date (flag --date): "soon" is not a date`}, {args: "--config=/none", want: "configuration file of flag --config: "},
		{args: "--load-mode=x", want: `--load-mode "x" is invalid: want secure, direct or auto`}, {args: "--workers=2000", want: "--workers 2000 is outside 0..1024"},
		{args: "--regions=1,--salt-buckets=1", want: "--regions is the old name of --salt-buckets: give --salt-buckets only"},
		{args: "--config=,--workers=3", want: ""},
	} {
		args, environ := strings.FieldsFunc(tt.args, func(c rune) bool { return c == ',' }), strings.FieldsFunc(tt.env, func(c rune) bool { return c == ',' })
		if tt.config != "" {
			testcheck.Must(t, os.WriteFile(config, []byte(tt.config), 0o600))
			args = append(args, "--config="+config)
		}
		if tt.job != "" {
			testcheck.Must(t, os.WriteFile(job, []byte(tt.job), 0o600))
			args = append(args, "--job="+job)
		}
		_, err := newLoaded(t, args...).settle(append(environ, "XDG_CONFIG_HOME="+dir)...)
		text := strings.NewReplacer(config, "FILE", job, "JOB").Replace(fmt.Sprint(err))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(text, tt.want) || strings.Contains(text, "hunter2") {
			t.Errorf("%+v: %s", tt, text)
		}
	}
	l := newLoaded(t, "--push-password=hunter2", "--spill-dir=http://tina:hunter2@x/")
	_, err := l.settle("HOME=" + dir)
	testcheck.Must(t, err)
	masked := 0
	for _, v := range List(l.Command) {
		if strings.Contains(v.Value, "hunter2") {
			t.Errorf("%+v", v)
		}
		masked += strings.Count(v.Value, Masked)
	}
	if masked != 3 {
		t.Errorf("%d values are masked", masked)
	}
	var log bytes.Buffer
	warnUnknown(slog.New(slog.NewTextHandler(&log, nil)), l.Root(), []string{"BULKLOAD_WORKER=3", "BULKLOAD_workers=3", "BULKLOAD_WORKERS=3", "BULKLOAD_PORT_80_TCP=x", "BULKLOAD_REGIONS=1", "HOME=/"})
	if text := log.String(); strings.Count(text, "\n") != 2 || strings.Count(text, "did_you_mean=BULKLOAD_WORKERS") != 2 {
		t.Errorf("warned of %s", text)
	}
}

// TestNumbersAreDecimal checks that a number is the same in all sources: zeros before it do not make it octal.
func TestNumbersAreDecimal(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file.yaml")
	for _, name := range []string{"workers", "salt_buckets"} { // an int, and a field of job files
		flag, variable := "--"+strings.ReplaceAll(name, "_", "-")+"=", "BULKLOAD_"+strings.ToUpper(name)+"="
		line := name + ": "
		inJob := line
		if !IsField(name) {
			inJob = "options: {" + line
		}
		for text, want := range map[string]string{"010": "10", "08": "8", "+5": "5", "0x10": "", "0b1": "", "0o7": "", "1_0": ""} {
			end := ""
			if inJob != line {
				end = "}"
			}
			for source, one := range map[string]struct{ arg, env, text string }{"flag": {arg: flag + text}, "environment": {env: variable + text}, "config": {"--config=" + file, "", line + text}, "job": {"--job=" + file, "", inJob + text + end}} {
				testcheck.Must(t, os.WriteFile(file, []byte(one.text), 0o600))
				l := newLoaded(t)
				got := ""
				err := l.ParseFlags(strings.Fields(one.arg))
				if err == nil {
					if _, err = l.settle("XDG_CONFIG_HOME="+dir, one.env); err == nil {
						i := slices.IndexFunc(List(l.Command), func(s Setting) bool { return s.Name == name })
						got = List(l.Command)[i].Value
					}
				}
				if got != want {
					t.Errorf("%s %s from %s: %q, %v; want %q", name, text, source, got, err, want)
				}
			}
		}
	}
}

// TestGroups checks that help texts have each visible flag of a command once, in the order of the groups, and that few flags have no groups.
func TestGroups(t *testing.T) {
	l := newLoaded(t)
	if list := Grouped(l.Flags()); len(list) != 1 || list[0].Title != "" || Most(l.Flags()).Lookup("filter") == nil || list[0].Flags.Lookup("regions") != nil {
		t.Errorf("%d groups of few flags", len(list))
	}
	all := &cobra.Command{Use: "run"}
	AddFields(all.Flags(), spec.OfRecords, spec.OfText, spec.OfTable, spec.OfLoad)
	all.Flags().String("unheard-of", "", "")
	seen, last := map[string]int{}, -1
	for _, g := range Grouped(all.Flags()) {
		at := slices.IndexFunc(groups, func(h struct{ title, flags string }) bool { return h.title == g.Title })
		if at < 0 {
			at = len(groups)
		}
		if at <= last || at == len(groups) && g.Title != "More" {
			t.Errorf("group %q is out of order", g.Title)
		}
		last = at
		g.Flags.VisitAll(func(f *pflag.Flag) { seen[f.Name]++ })
	}
	n := 0
	all.Flags().VisitAll(func(f *pflag.Flag) {
		if n++; seen[f.Name] != 1 {
			t.Errorf("--%s is in %d groups", f.Name, seen[f.Name])
		}
	})
	if most := Most(all.Flags()); n < 40 || n != len(seen) || last != len(groups) || most.Lookup("table") == nil || most.Lookup("quote") != nil {
		t.Errorf("%d flags, %d of them in groups", n, len(seen))
	}
}

// TestLargeFiles checks that a file that is too large for a job file or a configuration file, such as one of data, is refused before it is read as a whole.
func TestLargeFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data.csv")
	testcheck.Must(t, os.WriteFile(file, []byte("a,b\n"), 0o600))
	testcheck.Must(t, os.Truncate(file, 1<<40)) // a hole
	for _, args := range [][]string{{"--job", file}, {"--config", file}} {
		if _, err := newLoaded(t, args...).settle(); err == nil || !strings.Contains(err.Error(), "data.csv: it is larger than 4194304 bytes") {
			t.Errorf("%s: %v", args[0], err)
		}
	}
}
