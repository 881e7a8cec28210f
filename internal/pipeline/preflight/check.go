package preflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/streams"
	"bulkload/internal/pipeline/verify"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// Severity is the severity of a finding.
type Severity uint8

// The severities.
const (
	SeverityOK      Severity = iota
	SeverityWarning          // the job can run, but an operator should know
	SeverityError            // the job would fail, or do harm
)

// String returns ok, warning or error.
func (s Severity) String() string {
	return [...]string{"ok", "warning", "error"}[min(s, SeverityError)]
}

// MarshalText returns the severity's text for a report.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the text of a report.
func (s *Severity) UnmarshalText(text []byte) error {
	for _, known := range []Severity{SeverityOK, SeverityWarning, SeverityError} {
		if known.String() == string(text) {
			*s = known
			return nil
		}
	}
	return fmt.Errorf("%q is not a severity", text)
}

// Check is the result of one check before a job.
type Check struct {
	Name     string       `json:"name"` // subject of the check
	Severity Severity     `json:"severity"`
	Message  setting.Text `json:"message"`       // the finding
	Hint     setting.Text `json:"hint,omitzero"` // the remedy; empty if none is needed

	Passing fail.Kind `json:"-"` // not zero: the kind of an error that may pass without any repair of the job
}

// good, Doubtful and bad return the result of a check.

func good(name, format string, args ...any) Check {
	return Check{Name: name, Message: setting.Textf(format, args...)}
}

func Doubtful[H hint](name string, do H, format string, args ...any) Check {
	return Check{Name: name, Severity: SeverityWarning, Hint: textOf(do), Message: setting.Textf(format, args...)}
}

func bad[H hint](name string, do H, format string, args ...any) Check {
	return Check{Name: name, Severity: SeverityError, Hint: textOf(do), Message: setting.Textf(format, args...)}
}

// later marks an error that may pass, so that the job is run again, with its kind.
func (c Check) later(k fail.Kind) Check {
	c.Passing = k
	return c
}

// A hint is a remedy.
type hint interface{ string | setting.Text }

func textOf[H hint](do H) setting.Text {
	if text, ok := any(do).(setting.Text); ok {
		return text
	}
	return setting.Plain(fmt.Sprint(do))
}

// In returns the check with each setting's name converted by words.
func (c Check) In(words func(setting.Name) string) Check {
	c.Message, c.Hint = c.Message.As(words), c.Hint.As(words)
	return c
}

// Options are [build.WorkOptions] and the other settings of a check.
type Options struct {
	build.WorkOptions
	Staging  string          // directory on HDFS, default as in [staging.Base]
	Stage    loader.Stage    // the load mode, default as the table requires
	Cluster  *loader.Cluster // a connection to use, which stays open; default: a new one
	Timeout  time.Duration   // for all checks together, default 1 min
	Streams  *streams.Inputs // the inputs' streams with their copies; default: streams are found, but not read
	Grants   bool            // report the rights that the job needs
	Snapshot bool            // the job takes a snapshot of the table even if it does not replace it
	Probe    string          // the directory created and removed in Staging, see [staging.ProbeOf]; default [staging.NewProbe]

	// Making calls make, with which HBase creates a directory for the check, and records its path; Gone is called after the directory
	// is removed. This way a directory that a killed process leaves is known. Their errors end the check. Default: nothing is recorded.
	Making func(table loader.TableName, make func() (token string, err error)) error
	Gone   func(table loader.TableName, token string) error
}

// Report holds the results of all checks before a job, in a fixed order. A
// check that another's failure makes pointless is omitted.
type Report struct {
	Schema   int           `json:"schema"` // version of this format: 1
	Table    string        `json:"table"`
	Errors   int           `json:"errors"`
	Warnings int           `json:"warnings"`
	Checks   []Check       `json:"checks"`
	Grants   []string      `json:"grants,omitempty"` // with Options.Grants: the rights that the job needs, as lines for an administrator
	Elapsed  time.Duration `json:"elapsed_ns"`

	Unasked error `json:"-"` // with Options.Grants: why the rights are not complete; nil: they are
	NewBase bool  `json:"-"` // the staging directory was missing and was created; it still exists if a job uses it by now
}

// Err returns nil if no check found an error, else an error with all errors and their hints. Its kind is [fail.Check],
// unless all of them may pass by themselves: then it is that of the first.
func (r *Report) Err() error {
	var errs []error
	kind := fail.Unexpected
	for _, c := range r.Checks {
		if c.Severity != SeverityError {
			continue
		}
		text := setting.Textf("%s: %s", c.Name, c.Message)
		if !c.Hint.IsZero() {
			text = setting.Textf("%s (%s)", text, c.Hint)
		}
		errs = append(errs, setting.Errorf("%s", text))
		if k := cmp.Or(c.Passing, fail.Check); kind == fail.Unexpected || k == fail.Check {
			kind = k
		}
	}
	return fail.With(kind, errors.Join(errs...))
}

// Run checks everything that a job depends on before it begins: the table, its
// regions, the servers, the staging directory on HDFS, the inputs and this
// machine. It changes nothing, except for a file and directories that it creates
// and removes again. The inputs of the spec may be missing. It returns an error
// if the checks could not run; the problems that they found are in the report.
func Run(ctx context.Context, env *cluster.Env, s spec.Job, o Options) (*Report, error) {
	started := time.Now()
	name, err := cluster.TableName(s)
	if err != nil {
		return nil, err
	}
	user, err := env.User()
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	asking, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("no answer within %s", o.Timeout))
	defer cancel()
	f := &checkFacts{env: env, spec: s, options: o, name: name, user: user}
	var wg sync.WaitGroup
	for _, ask := range []func(context.Context){f.askHBase, f.askHDFS, f.askInputs, f.askMachine} {
		wg.Go(func() { ask(asking) })
	}
	wg.Wait()
	f.askSecurity(asking)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if f.bulk.noteErr != nil {
		return nil, f.bulk.noteErr
	}
	r := &Report{Schema: 1, Table: name.String(), NewBase: f.staging.isNew}
	if o.Grants {
		r.Grants, r.Unasked = f.grants(), f.unasked()
	}
	for _, c := range f.checks(asking) {
		r.add(c)
	}
	r.Elapsed = time.Since(started)
	return r, nil
}

func (r *Report) add(c Check) {
	r.Checks = append(r.Checks, c)
	switch c.Severity {
	case SeverityError:
		r.Errors++
	case SeverityWarning:
		r.Warnings++
	}
}

// RunTables is [Run] for all tables of a job. A finding about a further table names the table; a repeated finding is
// omitted.
func RunTables(ctx context.Context, env *cluster.Env, s spec.Job, o Options) (*Report, error) {
	var all *Report
	started := time.Now()
	said := map[string]bool{}
	for _, t := range s.Targets() {
		r, err := Run(ctx, env, t.Job, o)
		if err != nil {
			return nil, err
		}
		first := all == nil
		if first {
			all = &Report{Schema: r.Schema, Table: r.Table, Unasked: r.Unasked}
		}
		for _, line := range r.Grants {
			if !slices.Contains(all.Grants, line) {
				all.Grants = append(all.Grants, line)
			}
		}
		for _, c := range r.Checks {
			finding := fmt.Sprint(c.Name, c.Severity, c.Message, c.Hint)
			if said[finding] {
				continue
			}
			said[finding] = true
			if !first {
				c.Message = setting.Textf("table %s: %s", r.Table, c.Message)
			}
			all.add(c)
		}
	}
	all.Elapsed = time.Since(started)
	return all, nil
}

// checkFacts holds the facts on which the checks are based. Each part is filled
// by one goroutine; a part whose error is set is empty.
type checkFacts struct {
	env     *cluster.Env
	spec    spec.Job
	options Options
	name    loader.TableName
	user    string

	dialErr    error
	table      *loader.Table
	tableErr   error
	regions    []loader.Region
	regionsErr error
	status     loader.Status
	statusErr  error
	unknown    []string // hosts of servers that this machine cannot resolve
	quota      spaceQuota
	quotaErr   error
	besides    besidesFacts
	bulk       bulkFacts
	readErr    error // of reading a row that does not exist
	adminErr   error
	filesErr   error // of reading the files by which the job is verified
	// readFilesErr is of the files of tables that the job reads: the user may not read them.
	readFilesErr error
	staging      stagingFacts
	inputs       inputFacts
	machine      machineFacts
	security     securityFacts
}

func (f *checkFacts) checks(ctx context.Context) []Check {
	if f.dialErr != nil {
		return append([]Check{checkDial(f.dialErr)}, f.withoutTable(ctx)...)
	}
	if f.tableErr != nil {
		return append([]Check{checkMissing(f.name, f.tableErr), checkVersion(f.status, f.statusErr), checkNames(f.unknown, len(f.status.Servers))}, f.withoutTable(ctx)...)
	}
	f.besides.loaded = f.status.Coprocessors
	all := []Check{
		checkVersion(f.status, f.statusErr),
		checkNames(f.unknown, len(f.status.Servers)),
		checkTable(f.table),
	}
	for _, name := range f.spec.Families() {
		all = append(all, checkFamily(f.table, name, f.spec, f.env.Conf.Value("hbase.io.compress.zstd.codec")))
		if family, found := f.table.Family(name); found {
			all = append(all, checkTracker(f.table, family, f.options.Stage), checkReplication(f.table.Name, family, f.besides, f.spec.Replicate),
				checkMOB(f.table.Name, family), checkTTL(family, f.spec.Timestamp))
			all = append(all, f.stores(family)...)
		}
	}
	all = append(all, checkQuota(f.quota, f.quotaErr, f.inputs))
	all = append(all, checkPhoenix(f.table, f.besides.phoenix, f.spec.PhoenixIndexes), checkCoprocessors(f.table, f.besides.loaded), checkBackup(f.table, f.besides))
	if f.table.State == loader.Enabled {
		maxSize := f.table.MaxFileSize
		all = append(all, checkRegions(f.regions, f.regionsErr, f.status), checkRegionSize(len(f.regions), f.inputs, maxSize, f.env.Conf.Value("hbase.hregion.max.filesize")),
			checkKey(f.spec, f.regions), checkRoundTrip(f.bulk, f.user), checkRead(f.readErr, f.name), checkAdmin(f.adminErr, f.name), checkFiles(f.filesErr, f.user, verify.Root(f.env)),
			checkReadFiles(f.readFilesErr, f.user, verify.Root(f.env)), checkHBaseStaging(f.bulk))
	}
	return present(append(all, f.withoutTable(ctx)...))
}

// withoutTable returns the checks that need no table.
func (f *checkFacts) withoutTable(ctx context.Context) []Check {
	return present([]Check{
		checkSecurity(f.security, f.staging.probeErr),
		checkNameservice(ctx, f.env.Conf, f.staging, f.bulk),
		checkAncestors(f.staging, f.bulk, f.direct()),
		checkProbe(f.staging, f.user),
		checkClock(f.staging, f.spec.Timestamp),
		checkInputs(f.inputs),
		checkSpill(f.inputs, f.machine, f.options.Memory),
		checkSpillLimit(f.inputs, f.options.WorkOptions),
		checkOpenFiles(f.inputs, f.machine, f.options.WorkOptions),
		checkZones(f.security, f.user),
		checkCertificates(f.security),
	})
}

// direct reports whether region servers move the files as HBase's user, from where they are.
func (f *checkFacts) direct() bool {
	return f.options.Stage == loader.StageDirect || f.table != nil && slices.ContainsFunc(f.spec.Families(), func(name string) bool {
		family, found := f.table.Family(name)
		return found && !strings.EqualFold(f.table.FileTracker(family), "DEFAULT")
	})
}

func present(all []Check) []Check {
	return slices.DeleteFunc(all, func(c Check) bool { return c.Name == "" })
}

// oneLine joins a chain of errors into one line for a table.
type oneLine struct{ error }

func (e oneLine) Error() string            { return strings.Join(strings.Fields(e.error.Error()), " ") }
func (e oneLine) Settings() []setting.Name { return setting.Of(e.error) }

func (e oneLine) In(words func(setting.Name) string) string {
	return strings.Join(strings.Fields(setting.In(e.error, words)), " ")
}
