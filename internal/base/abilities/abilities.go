package abilities

import (
	"cmp"
	"slices"
	"strings"

	"bulkload/pkg/setting"
)

// A Row is a kind of work.
type Row int

// The kinds of work. Jobs that have several tables, replace a table, or read a table are runs too.
const (
	Run Row = iota
	Tables
	Replace
	Into
	Rekey
	Undo
	Load
	Export
	Input
	Compare
	Clusters
	rows
)

// A Column is an ability.
type Column int

// The abilities.
const (
	Process Column = iota
	Several
	Shares
	YARN
	SplitBy
	Resume
	Host
	Sample
	Files
	Full
	Plan
	Pause
	Report
	Metrics
	Lineage
	Status
	Clean
	Kerberos
	Unreplicated
	Quiet
	Filtered
	Duplicates
	Filter
	Part
	columns
)

// A Cell says whether a kind of work has an ability.
type Cell struct {
	Tests []string     // the tests that demonstrate it, such as internal/jobs/job: TestRun or internal/jobs/job: TestRun/part
	Why   setting.Text // why it is refused or meaningless; for a cell with tests, why a part of it is refused
}

// Refused reports whether the work lacks the ability entirely.
func (c Cell) Refused() bool { return len(c.Tests) == 0 && !c.Why.IsZero() }

// Of returns a cell of the table. A zero cell means that no test demonstrates the ability.
func Of(r Row, c Column) Cell { return table()[r][c] }

// Refusal returns an error with the reason why a kind of work lacks an ability or a part of it, nil if there is no such reason.
func Refusal(r Row, c Column) error {
	if why := Of(r, c).Why; !why.IsZero() {
		return setting.Errorf("%s", why)
	}
	return nil
}

// Verifies returns an error for a mode of verification that is not among modes, those of a kind of work.
func Verifies(r Row, mode string, modes ...string) error {
	if slices.Contains(modes, mode) {
		return nil
	}
	err := setting.Errorf("%s %q is invalid: want %s", setting.Verify, mode, strings.Join(modes, " or "))
	for _, c := range []Column{Sample, Files, Full} {
		if why := Of(r, c).Why; mode == columnFacts[c].value && !why.IsZero() {
			return setting.Errorf("%w (%s)", err, why)
		}
	}
	return err
}

// Rows returns all kinds of work.
func Rows() []Row { return upTo(rows) }

// Columns returns all abilities.
func Columns() []Column { return upTo(columns) }

func upTo[T ~int](n T) (all []T) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// works has the name of each kind of work, and its command if that is not run.
var works = [rows]struct{ name, command string }{
	Run:      {name: "run"},
	Tables:   {name: "run of several tables"},
	Replace:  {name: "run that replaces in place"},
	Into:     {name: "run that replaces into a new table"},
	Rekey:    {"rekey", "rekey"},
	Undo:     {"undo", "undo"},
	Load:     {"load of a directory", "load"},
	Export:   {"export", "export"},
	Input:    {name: "run that reads a table"},
	Compare:  {"compare", "compare"},
	Clusters: {name: "run for several clusters"},
}

func (r Row) String() string { return works[r].name }

// Command returns the command for the kind of work.
func (r Row) Command() string { return cmp.Or(works[r].command, "run") }

// columnFacts has the name of each ability, and the setting that requests it with a value that it accepts.
var columnFacts = [columns]struct {
	name    string
	setting setting.Name
	value   string
}{
	Process:      {name: "this process"},
	Several:      {name: "several tables"},
	Shares:       {"shares", setting.Share, "1/2"},
	YARN:         {"YARN", setting.Engine, "yarn"},
	SplitBy:      {"a job for each directory", setting.SplitBy, "directory"},
	Resume:       {name: "resume"},
	Host:         {"another host", setting.State, "hbase:states"},
	Sample:       {"verify sample", setting.Verify, "sample"},
	Files:        {"verify files", setting.Verify, "files"},
	Full:         {"verify full", setting.Verify, "full"},
	Plan:         {name: "plan"},
	Pause:        {"pause and window", setting.OnlyBetween, "22:00-06:00"},
	Report:       {"report", setting.Report, "report.html"},
	Metrics:      {"metrics", setting.MetricsFile, "run.prom"},
	Lineage:      {"lineage", setting.OpenLineage, "events.jsonl"},
	Status:       {name: "status"},
	Clean:        {name: "clean"},
	Kerberos:     {name: "Kerberos"},
	Unreplicated: {"without replication", setting.Replicate, "no"},
	Quiet:        {"quiet table", setting.QuietTable, "true"},
	Filtered:     {"filtered file", setting.FilteredFile, "filtered.jsonl"},
	Duplicates:   {"duplicates file", setting.DuplicatesFile, "duplicates.jsonl"},
	Filter:       {"filter and computed cells", setting.Filter, "id != ''"},
	Part:         {"part of a table", setting.StartRow, "m"},
}

func (c Column) String() string { return columnFacts[c].name }

// Setting returns the setting that requests an ability, empty if there is none, with a value that it accepts.
func (c Column) Setting() (name setting.Name, value string) {
	return columnFacts[c].setting, columnFacts[c].value
}

// Lacks returns an error with the reason why a command lacks a setting, nil if the table has none. It is always nil for run.
func Lacks(command string, name setting.Name) error {
	for _, r := range Rows() {
		for _, c := range Columns() {
			if of, _ := c.Setting(); r.Command() == command && command != "run" && of == name && Of(r, c).Refused() {
				return Refusal(r, c)
			}
		}
	}
	return nil
}
