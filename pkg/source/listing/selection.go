package listing

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"bulkload/pkg/setting"
)

// unfinished lists name endings of files that a program is writing and renames when they are complete: hdfs dfs -put, -cp and distcp;
// Flink, Flume and other streaming writers; WinSCP; rclone and rsync; browsers.
var unfinished = []string{"._copying_", ".inprogress", ".in-progress", ".tmp", ".inuse", ".filepart", ".partial", ".incomplete", ".crdownload"}

// ErrSelection is matched by errors about files that are never read, because of their name or kind.
var ErrSelection = errors.New("not an input")

// Refuse returns an error that matches [ErrSelection].
func Refuse(format string, args ...any) error { return selectionError{fmt.Sprintf(format, args...)} }

type selectionError struct{ text string }

func (e selectionError) Error() string        { return e.text }
func (e selectionError) Is(target error) bool { return target == ErrSelection }

// CheckName rejects a file or directory whose name shows that it is being written.
func CheckName(name string) error {
	base := path.Base(name)
	lower := strings.ToLower(base)
	for _, end := range unfinished {
		if strings.HasSuffix(lower, end) {
			return Refuse("%s is being written, as its ending %s says: wait until it has its final name, remove it if its writer has failed, or name inputs that do not include it", name, base[len(base)-len(end):])
		}
	}
	return nil
}

// checkKind rejects a name that is neither a file nor a directory: reading it would block, or find nothing.
func checkKind(name string, mode fs.FileMode) error {
	what, do := "", "write the data to a file and name that"
	switch t := mode.Type(); {
	case t&fs.ModeNamedPipe != 0:
		what, do = "a pipe", "give it as an input of its own, or write the data to a file"
	case t&fs.ModeSocket != 0:
		what = "a socket"
	case t&fs.ModeDevice != 0:
		what = "a device"
	case t&fs.ModeIrregular != 0:
		what = "no regular file"
	default:
		return nil
	}
	return Refuse("%s is %s, which cannot be read as an input here: %s", name, what, do)
}

// found counts the files of an input, and the ignored ones.
type found struct {
	files, empty, hidden int
	pruned               int // partitions
	firstHidden          string
	named                bool // the input is a file
}

func (f *found) hide(name string) {
	if f.hidden++; f.hidden == 1 {
		f.firstHidden = name
	}
}

// noData returns why an input has no data.
func (f *found) noData() error {
	why := "it has no files"
	if f.pruned > 0 {
		return setting.Errorf("where leaves nothing of it: %s cannot match (%s)", setting.Count(f.pruned, "partition"), AllowEmptyHint())
	}
	switch hidden := fmt.Sprintf("%s, such as %s", setting.Count(f.hidden, "hidden name"), f.firstHidden); {
	case f.named:
		why = "it is an empty file"
	case f.empty > 0 && f.hidden > 0:
		why = fmt.Sprintf("it has only %s and %s", setting.Count(f.empty, "empty file"), hidden)
	case f.empty > 0:
		why = "it has only " + setting.Count(f.empty, "empty file")
	case f.hidden > 0:
		why = "it has only " + hidden
	}
	return setting.Errorf("%s: see that the export is complete (%s)", why, AllowEmptyHint())
}

// AllowEmptyHint returns advice on accepting an input without rows.
func AllowEmptyHint() setting.Text {
	return setting.Textf("%s accepts an input without rows", setting.AllowEmpty)
}
