package fail

import (
	"slices"
	"strings"
)

// byKind holds the texts and exit codes of each kind of failure. Settings in texts are in backquotes; in advice, {again} stands for how to resume the
// job.
var byKind = [...]struct {
	word    string
	code    int    // exit code
	retry   bool   // the same command may succeed later
	meaning string // meaning of the exit code
	next    string // what the caller should do next, in a few words
	advice  string // what a person should check
}{
	Unexpected: {"unexpected", 1, true, "unexpected failure", "read the message; the same command resumes the job",
		"this should not happen: keep this report and the log, then {again}."},
	Config: {"config", 2, false, "usage, job file or setting wrong", "fix the input or settings; retrying will not help",
		"correct the flag, the setting or the job file that the error names, then {again}."},
	Check: {"check", 3, false, "the table or the cluster is not fit for the job", "fix what the message names; `bulkload check` lists all findings",
		"bulkload check with the same flags lists all that does not fit, with a hint for each. Then {again}."},
	BadRows: {"bad_rows", 4, false, "more bad records or duplicates than allowed, or an expectation is not met", "fix the export, or allow them; retrying will not help",
		"look at the records that the error names, correct the export or the job file, or allow some with `bad_records` or `duplicates`, or with what the job file expects."},
	Input: {"input", 5, false, "input missing or unreadable", "wait for the export, or fix its path",
		"see that the input is there, complete and readable. If it has changed on purpose, `restart` discards the checkpoint and starts over."},
	HDFS: {"hdfs", 6, true, "HDFS, an object store or the local disk was out of reach, or refused a write or a read", "retry: the same command resumes the job",
		"look at HDFS, the store or the disk that the error names (space, quota, safe mode), then {again}."},
	Load: {"load", 7, true, "HBase or YARN was out of reach, or did not finish its work; complete files are kept", "retry: the same command resumes the job",
		"the HFiles are kept. Look at HBase's master and the region servers that the error names, then {again}."},
	Verify: {"verify", 8, false, "the table does not hold what was written", "find out who deleted or overwrote rows, before anything else is loaded",
		"do not let readers rely on the table before this is understood: keep this report, the journal and the log."},
	Busy: {"busy", 75, true, "another process is running this job", "wait for it, or run the command again later",
		"wait for the process that the error names, or leave the job to it."},
	State: {"state", 9, true, "the table of jobs' state (`state` hbase:TABLE) was out of reach", "retry: the same command resumes the job",
		"look at HBase and at the table that `state` names. When it answers, {again}."},
}

// Kinds lists all kinds.
func Kinds() (all []Kind) {
	for k := range byKind {
		all = append(all, Kind(k))
	}
	return all
}

// String returns the kind's word in results and journals, such as bad_rows.
func (k Kind) String() string { return byKind[k].word }

// ExitCode returns the exit code of a command that fails with the kind.
func (k Kind) ExitCode() int { return byKind[k].code }

// Retry reports whether the same command may succeed later, without any other action.
func (k Kind) Retry() bool { return byKind[k].retry }

// Meaning returns the meaning of the kind's exit code, and what the caller should do next.
func (k Kind) Meaning() (meaning, next string) { return byKind[k].meaning, byKind[k].next }

// Advice returns a text that says what to do about a failure; again describes how to resume the job.
func (k Kind) Advice(again string) string {
	return strings.ReplaceAll(byKind[k].advice, "{again}", again)
}

// ParseKind returns the kind with the given word, and false if there is none.
func ParseKind(word string) (Kind, bool) {
	return first(func(k Kind) bool { return k.String() == word })
}

// KindOfExit returns the kind with the given exit code, and false if there is none.
func KindOfExit(code int) (Kind, bool) {
	return first(func(k Kind) bool { return k.ExitCode() == code })
}

// first returns the first kind for which is reports true, and false if there is none.
func first(is func(k Kind) bool) (Kind, bool) {
	i := slices.IndexFunc(Kinds(), is)
	return Kind(max(i, 0)), i >= 0
}
