package fail

// byKind has what callers of the program see of each kind of failure: a word, and the exit code.
var byKind = [...]struct {
	word string
	code int
}{
	Unexpected: {"unexpected", 1},
	Config:     {"config", 2},
	Check:      {"check", 3},
	BadRows:    {"bad_rows", 4},
	Input:      {"input", 5},
	HDFS:       {"hdfs", 6},
	Load:       {"load", 7},
	Verify:     {"verify", 8},
	Busy:       {"busy", 75},
	State:      {"state", 9},
}

// Kinds lists all kinds.
func Kinds() (all []Kind) {
	for k := range byKind {
		all = append(all, Kind(k))
	}
	return all
}

// String is the kind's word in results and journals, such as bad_rows.
func (k Kind) String() string { return byKind[k].word }

// ExitCode is the exit code of a command that ends with a failure of the kind.
func (k Kind) ExitCode() int { return byKind[k].code }

// ParseKind returns the kind of a word, and false if there is none.
func ParseKind(word string) (Kind, bool) {
	for k, is := range byKind {
		if is.word == word {
			return Kind(k), true
		}
	}
	return Unexpected, false
}

// KindOfExit returns the kind of failures that end with an exit code, and false if there is none.
func KindOfExit(code int) (Kind, bool) {
	for k, is := range byKind {
		if is.code == code {
			return Kind(k), true
		}
	}
	return Unexpected, false
}
