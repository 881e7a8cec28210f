package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/hadoop/registry"
	"bulkload/pkg/setting"
)

// MisfitError is the error of a file whose rows span several regions of the present table. Nothing of it was loaded.
type MisfitError struct {
	Table  TableName
	File   HFile
	Region Region // the region that holds the file's first row
}

func (e *MisfitError) Error() string {
	return fmt.Sprintf("file %s has rows beyond region %s of table %s, which holds the first of them: the table was split or merged after the plan; build again",
		e.File.Path, e.Region.Encoded, e.Table)
}

// Data returns the first and last row of the file and the region's start and end, for callers that may show them.
func (e *MisfitError) Data() []byte {
	short := func(row []byte) []byte { return row[:min(len(row), 200)] }
	return fmt.Appendf(nil, "%q to %q, region %q to %q", short(e.File.First), short(e.File.Last), short(e.Region.Start), short(e.Region.End))
}

// FamilyError is the error of files for families that the table lacks.
type FamilyError struct {
	Table    TableName
	Unknown  []string // families of files
	Families []string // families of the table
}

func (e *FamilyError) Error() string {
	return fmt.Sprintf("table %s has no family %s: its families are %s",
		e.Table, strings.Join(e.Unknown, ", "), strings.Join(e.Families, ", "))
}

// StateError is the error of a table that accepts no load in its present state.
type StateError struct {
	Table  TableName
	State  TableState
	Reason setting.Text // a description that continues from the table's name
}

func (e *StateError) message() setting.Text { return setting.Textf("table %s %s", e.Table, e.Reason) }

func (e *StateError) Error() string                             { return e.message().String() }
func (e *StateError) Settings() []setting.Name                  { return e.Reason.Settings() }
func (e *StateError) In(words func(setting.Name) string) string { return e.message().In(words) }

// Place is the location of a file.
type Place int

// The places of a file, in the order of a load.
const (
	// PlaceUnknown is a file that could not be looked for, or that a server may still be processing.
	PlaceUnknown Place = iota
	// PlaceSource is where the file was written.
	PlaceSource
	// PlaceStage is the token's directory, which Cleanup deletes.
	PlaceStage
	// PlaceStore is the region: the server said that the file was loaded.
	PlaceStore
	// PlaceGone is a file at neither source nor stage, though the server said that the load failed: the file may be in the store.
	PlaceGone
)

func (p Place) String() string {
	return setting.Word("Place", p, "at an unknown place", "at its source", "in the staging directory", "loaded", "gone from its source")
}

// FileState is the state of a file after a refused load.
type FileState struct {
	File  HFile
	Place Place
	// Path is its present path, if known.
	Path string
	// Owner, Group and Mode describe the file, DirOwner, DirGroup and DirMode its directory.
	Owner, Group       string
	Mode               fs.FileMode
	DirOwner, DirGroup string
	DirMode            fs.FileMode
	// Err is why it could not be looked for or moved back.
	Err error
}

func (s FileState) String() string {
	text := fmt.Sprintf("%s is %s", s.File.Path, s.Place)
	switch {
	case s.Err != nil:
		text += fmt.Sprintf(" (%v)", s.Err)
	case s.Mode != 0 || s.Owner != "":
		text += fmt.Sprintf(" (owner %s:%s, mode %04o; directory %s:%s, mode %04o)",
			s.Owner, s.Group, s.Mode.Perm(), s.DirOwner, s.DirGroup, s.DirMode.Perm())
	}
	return text
}

// RefusedError is the error of a load to which the server answered that it was not done. The answer has no reason; the region server's log
// has it under "Failed to complete bulk load".
type RefusedError struct {
	Table  TableName
	Region Region
	User   string // the user that the load ran as
	Files  []FileState
	Causes []string // possible reasons that were found
}

func (e *RefusedError) Error() string {
	// One file is enough: the files of a call usually share their outcome and directory.
	shown, more := "unknown file", ""
	if len(e.Files) > 0 {
		i := slices.IndexFunc(e.Files, func(f FileState) bool { return f.Place != PlaceSource })
		shown = e.Files[max(i, 0)].String()
	}
	if n := len(e.Files) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	why := strings.Join(e.Causes, "; ")
	if why == "" {
		why = fmt.Sprintf("user %s needs to read and write the file and to rename it in its directory, and the table's directory must have room in its HDFS quotas", e.User)
	}
	return fmt.Sprintf(`region %s of table %s on %s refused the load: %s%s; %s; the reason is in the region server's log at "Failed to complete bulk load"`,
		e.Region.Encoded, e.Table, e.Region.Server, shown, more, why)
}

// UnknownOutcomeError is the error of a load whose answer was lost: the files may be loaded, or may yet be. It must not be repeated before
// its outcome is resolved, and the token's directory must stay.
type UnknownOutcomeError struct {
	Table  TableName
	Region Region // empty: the region of an earlier attempt is not known
	Token  string // empty: a direct load
	Files  []HFile
	Err    error
}

func (e *UnknownOutcomeError) Error() string {
	where, kept, one := "table "+e.Table.String(), "", ""
	if len(e.Files) > 0 {
		one = ", " + e.Files[0].Path + " among them,"
	}
	if e.Region.Encoded != "" {
		where = fmt.Sprintf("region %s of table %s on %s", e.Region.Encoded, e.Table, e.Region.Server)
	}
	if e.Token != "" {
		kept = fmt.Sprintf(" (staging directory %s is kept)", e.Token)
	}
	return fmt.Sprintf("whether %d files%s were loaded into %s is unknown, the answer was lost: %v%s: "+
		"load again with the same state once HDFS and HBase answer: the outcome is resolved before anything is sent",
		len(e.Files), one, where, e.Err, kept)
}

func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// RegionError is the error of a load that a server answered with an exception and did not begin, or that could not be sent. If the server
// answered with an exception, Unwrap returns it, a *RemoteError.
type RegionError struct {
	Table    TableName
	Region   Region
	Files    []HFile
	Attempts int
	Causes   []string // possible reasons that were found, and the changes needed
	Err      error
}

func (e *RegionError) Error() string {
	more := ""
	if len(e.Causes) > 0 {
		more = ": " + strings.Join(e.Causes, "; ")
	}
	return fmt.Sprintf("load %s into region %s of table %s on %s, attempt %d: %v%s",
		setting.Count(len(e.Files), "file"), e.Region.Encoded, e.Table, e.Region.Server, e.Attempts, e.Err, more)
}

func (e *RegionError) Unwrap() error { return e.Err }

// regionErrors holds the errors of regions that have one reason. Its text is that of the first, and the number of the others.
type regionErrors []error

func (e regionErrors) Error() string {
	if len(e) == 1 {
		return e[0].Error()
	}
	return fmt.Sprintf("%v (and %s more for the same reason)", e[0], setting.Count(len(e)-1, "region"))
}

func (e regionErrors) Unwrap() []error { return e }

// joinRegions joins the errors of regions. Those with the same reason are one.
func joinRegions(errs []error) error {
	var joined []error
	place := map[string]int{}
	for _, err := range errs {
		reason := reasonOf(err)
		if i, known := place[reason]; known {
			joined[i] = append(joined[i].(regionErrors), err)
			continue
		}
		place[reason] = len(joined)
		joined = append(joined, regionErrors{err})
	}
	return errors.Join(joined...)
}

// reasonOf returns the reason of an error about one region whose files are at their sources, without the region and the files. The reason of any other
// error is its whole text.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*RefusedError](err); ok && e.Error() == err.Error() && !slices.ContainsFunc(e.Files, func(f FileState) bool { return f.Place != PlaceSource }) {
		return errRefused.Error() + strings.Join(e.Causes, "; ")
	}
	if e, ok := errors.AsType[*RegionError](err); ok && e.Error() == err.Error() {
		return e.Err.Error() + strings.Join(e.Causes, "; ")
	}
	return err.Error()
}

// RemoteError is an exception of a region server or of the master: its Java class, the first line of its message with texts about rows removed, and
// its whole text. Errors of this package that result from one wrap it.
type RemoteError = hbaserpc.RemoteError

// ConnectionError is a connection to a server that could not be made or that broke before an answer arrived. It says whether a part of the request
// may have been sent.
type ConnectionError = hbaserpc.ConnectionError

// LoginError is a login that a server refuses. Retrying does not help.
type LoginError = hbaserpc.LoginError

var (
	// ErrClosed is returned by calls on a closed Cluster.
	ErrClosed = hbaserpc.ErrClosed
	// ErrSecured is the error of a cluster that requires a login while the configuration has none.
	ErrSecured = hbaserpc.ErrSecured
)

// repeatable reports whether a call that is idempotent, or has no effects, may be made again.
func repeatable(err error) bool { return unserved(err) || hbaserpc.Repeatable(err) }

// passing reports whether the error of an idempotent call may pass, so that the call is to be made again.
func passing(err error) bool { return unserved(err) || hbaserpc.Passing(err) }

// unserved reports whether no server had what was to be called. Usually one takes it over.
func unserved(err error) bool {
	return errors.Is(err, errNotAssigned) || errors.Is(err, registry.ErrNoMaster)
}

// Unavailable reports whether an error says that the cluster is unreachable or not in service, as during a restart: the same call may
// succeed later, without any repair by its caller.
func Unavailable(err error) bool {
	_, ok := errors.AsType[*registry.LookupError](err)
	return ok || repeatable(err) || hbaserpc.Threw(err, "SafeModeException") // of HDFS, below HBase
}
