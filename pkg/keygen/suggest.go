package keygen

import (
	"fmt"
	"slices"
	"strings"

	"bulkload/pkg/setting"
)

// suggest returns a hint with the known names that name may stand for: those that begin with it or with which it begins, else the nearest ones. It
// returns "" if there are none or too many.
func suggest(name string, known []string) string {
	const most = 3 // more would not be a hint
	name = strings.ToLower(name)
	var near []string
	for _, k := range known {
		if l := strings.ToLower(k); strings.HasPrefix(l, name) || len(l) > 2 && strings.HasPrefix(name, l) {
			near = append(near, k)
		}
	}
	if len(near) == 0 || len(near) > most {
		near = Nearest(name, known)
	}
	if len(near) == 0 || len(near) > most {
		return ""
	}
	slices.Sort(near)
	return "did you mean " + strings.Join(near, " or ") + "?"
}

// Nearest returns the known names with the least difference from name, which is in lower case, if they differ in at most about a third of the letters.
func Nearest(name string, known []string) (near []string) {
	least := 1 + min(len(name), 30)/3
	for _, k := range known {
		if gap := len(k) - len(name); gap > least || gap < -least {
			continue
		}
		switch d := distance(name, strings.ToLower(k)); {
		case d < least:
			near, least = []string{k}, d
		case d == least && near != nil:
			near = append(near, k)
		}
	}
	return near
}

// distance returns the number of bytes that must be added, removed, changed or swapped with the next to turn a into b.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// ColumnList formats names for a message: a limited number, each of limited length.
func ColumnList(names []string) string {
	const most, longest = 30, 60
	cut := make([]string, min(len(names), most))
	for i := range cut {
		cut[i] = setting.Shorten(names[i], longest)
	}
	if len(names) > most {
		return fmt.Sprintf("%q and %d more", cut, len(names)-most)
	}
	return fmt.Sprintf("%q", cut)
}

// separatorHint returns a hint for a first line that is a single column and contains a common separator other than the configured one.
func separatorHint(line string) setting.Text {
	for _, sep := range []string{";", "\t", "|", ","} {
		if strings.Contains(line, sep) {
			return setting.Textf("the first line has one column: is %s '%s' right?", setting.FieldSep, strings.ReplaceAll(sep, "\t", `\t`))
		}
	}
	return setting.Textf("the first line has one column: is %s right?", setting.FieldSep)
}

// unprovenError is about names that may be data: if a file has no header, its first line is taken for names but contains data.
type unprovenError struct {
	error
	names []string
}

func (e *unprovenError) Unwrap() error { return e.error }

// Data returns the names, for callers that may show them.
func (e *unprovenError) Data() []byte { return []byte(ColumnList(e.names)) }
