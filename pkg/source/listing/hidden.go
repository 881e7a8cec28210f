package listing

import (
	"cmp"
	"slices"
	"strings"
)

// kindPruned and kindEmpty are the kinds of ignored files and directories without a hidden name.
const (
	kindPruned = "partition that where leaves out"
	kindEmpty  = "empty file"
)

// HiddenKind returns the kind of hidden names of Hive, Spark and Hadoop that a name belongs to, as a pattern; "" for a name of data. An
// underscore hides no name with =, which is a partition directory. Hadoop also hides a file that is being copied (._COPYING_); here it is
// an error, since its directory is not complete.
func HiddenKind(name string) string {
	switch {
	case strings.HasPrefix(name, ".hive-staging"):
		return ".hive-staging*"
	case strings.HasPrefix(name, ".spark-staging"):
		return ".spark-staging*"
	case strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".crc"):
		return ".*.crc"
	case strings.HasPrefix(name, "."):
		return ".*"
	case !strings.HasPrefix(name, "_") || strings.Contains(name, "="):
		return ""
	case name == "_SUCCESS" || name == "_temporary":
		return name
	case strings.HasPrefix(name, "_committed_"):
		return "_committed_*"
	case strings.HasPrefix(name, "_started_"):
		return "_started_*"
	}
	return "_*"
}

// LeftOut counts files of one kind that are ignored since they are not data.
type LeftOut struct {
	// Kind is a pattern such as _* or .*.crc, or a description: empty files, partitions.
	Kind  string
	Count int
	// First is the path of one of them.
	First string
}

// leave counts an ignored file or directory.
func (e *expansion) leave(kind, name string) {
	switch kind {
	case kindPruned:
		e.found.pruned++
	case kindEmpty:
		e.found.empty++
	}
	e.left = addLeft(e.left, []LeftOut{{Kind: kind, Count: 1, First: e.show(name)}})
}

// hide ignores a hidden name, once.
func (e *expansion) hide(kind, name string) {
	if e.reachedBefore(name) {
		return
	}
	e.found.hide(name[strings.LastIndexByte(name, '/')+1:])
	e.leave(kind, name)
}

// addLeft adds the ignored files of one input to those of others.
func addLeft(all, more []LeftOut) []LeftOut {
	for _, l := range more {
		if i := slices.IndexFunc(all, func(o LeftOut) bool { return o.Kind == l.Kind }); i >= 0 {
			all[i].Count += l.Count
		} else {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b LeftOut) int { return cmp.Compare(a.Kind, b.Kind) })
	return all
}
