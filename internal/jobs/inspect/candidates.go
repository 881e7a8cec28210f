package inspect

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"bulkload/pkg/source/dialect"
)

// strong has bytes that exports use between columns. weak has bytes that are also common within values: if every record has the same number of them,
// that is a reason to ask the user, but not enough to decide.
const (
	strong = ",\t;|\x01\x02\x1f^~"
	weak   = ": /#@!$&*+=_-"
)

// headSize is the number of bytes at the beginning of a sample in which candidates are found, and on which they are tried first. A first line that is
// longer counts as a whole.
const headSize = 64 << 10

func (j *judge) separators(given string) []string {
	switch {
	case given != "":
		return []string{given}
	case j.only != nil:
		return j.only
	}
	head := j.head()
	var seps []string
	for _, b := range []byte(strong) {
		if bytes.IndexByte(head, b) >= 0 {
			seps = append(seps, string(b))
		}
	}
	return append(seps, longSeparators(head)...)
}

func (j *judge) head() []byte {
	if len(j.texts) == 0 {
		return nil
	}
	data := j.texts[0].data
	start, stop := j.bounds(&j.texts[0])
	return data[start:headEnd(data, start, stop, headSize)]
}

// headEnd returns where the first limit bytes of data[start:stop] end, or the first line if it is longer, up to 16 times the limit.
func headEnd(data []byte, start, stop, limit int) int {
	if stop-start <= limit {
		return stop
	}
	end := start + limit
	if i := bytes.IndexByte(data[start:stop], '\n'); i >= limit && i < 16*limit {
		end = start + i + 1
	}
	return end
}

// longSeparators returns runs of two to four bytes that are neither letters, digits, blanks, quotes nor line ends, and occur in most lines.
func longSeparators(head []byte) []string {
	lines := bytes.Split(head, []byte("\n"))
	if len(lines) > 1 {
		lines = lines[:len(lines)-1] // the last line may be incomplete
	}
	lines = lines[:min(len(lines), 100)]
	in := map[string]int{}
	for _, line := range lines {
		seen := map[string]bool{}
		for n := 2; n <= 4; n++ {
			for i := 0; i+n <= min(len(line), 4<<10); i++ {
				if s := line[i : i+n]; !seen[string(s)] && !bytes.ContainsFunc(s, func(c rune) bool { return !inSeparator(c) }) {
					seen[string(s)] = true
				}
			}
		}
		for s := range seen {
			in[s]++
		}
	}
	var found []string
	for s, n := range in {
		if 2*n > len(lines) {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b string) int {
		return cmp.Or(in[b]-in[a], len(b)-len(a), strings.Compare(a, b))
	})
	return found[:min(len(found), 12)]
}

// inSeparator reports whether a separator of several bytes may contain a byte.
func inSeparator(c rune) bool {
	return c > 0 && c < 0x7f && c != '\n' && c != '\r' && c != '"' && c != '\'' && c != '\\' && c != ' ' && c != '.' && c != '-' && c != ':' && c != '/' &&
		!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z')
}

func (j *judge) recordEnds(given string) []string {
	switch given {
	case "":
	case "\r\n":
		return []string{""}
	default:
		return []string{given}
	}
	head := j.head()
	ends := []string{"\n"}
	if bytes.Contains(head, []byte("\r\n")) {
		ends = append(ends, "")
	}
	for _, b := range []byte("\x1e\x10") {
		if bytes.IndexByte(head, b) >= 0 {
			ends = append(ends, string(b))
		}
	}
	in, lines := map[string]int{}, 0
	for line := range bytes.SplitSeq(head, []byte("\n")) {
		lines++
		for n := 1; n <= min(4, len(line)); n++ {
			if s := line[len(line)-n:]; !bytes.ContainsFunc(s, func(c rune) bool { return !inSeparator(c) }) {
				in[string(s)]++
			}
		}
	}
	var long []string
	for s, n := range in {
		if n >= 2 && 3*n >= lines {
			long = append(long, s+"\n")
		}
	}
	slices.Sort(long)
	return append(ends, long...)
}

func (j *judge) quotes(given string) []byte {
	if given != "" {
		return []byte(given)
	}
	quotes := []byte{'"'}
	for _, q := range []byte("'\x00") {
		if n := bytes.Count(j.head(), []byte{q}); n >= 2 {
			quotes = append(quotes, q)
		}
	}
	return quotes
}

// candidates returns the ways of cutting that the sample suggests: those that parse its beginning, and the others that give several columns.
func (j *judge) candidates(g *Given) (found, failed []*scan) {
	quotes, ends := j.quotes(g.quote()), j.recordEnds(g.recordSep())
	for _, sep := range j.separators(g.fieldSep()) {
		for _, end := range ends {
			for _, w := range writers() {
				if !w.has(sep, end) || j.skip > g.spec.SkipLines && !w.header {
					continue
				}
				for i, q := range quotes {
					if i > 0 && !w.quoted || sep == string(q) {
						continue
					}
					d := w.dialect(sep, end, q)
					if d.Check() != nil || !g.cuts(&d) {
						continue
					}
					if s := j.scan(w, d, headSize); s.bad == nil && s.width > 1 {
						found = append(found, s)
					} else if s.width > 1 {
						failed = append(failed, s)
					}
				}
			}
		}
	}
	return found, failed
}

// has reports whether a writer can use these separators.
func (w *writer) has(sep, end string) bool {
	switch {
	case w.seps != "" && !strings.Contains(w.seps, sep):
		return false
	case w.ends != "":
		return end == w.ends
	case w.preset == dialect.Hive && sep == "\x01" && end == "\x10":
		return false // a dump
	}
	return !w.lines || end == "" || end == "\n"
}

// read scans the whole sample with the candidates, and returns those that parse it, and those that fail together with the ones that failed before.
func (j *judge) read(heads, failed []*scan) (whole, all []*scan) {
	for _, s := range heads {
		if full := j.scan(s.w, s.dialect, 0); full.bad == nil {
			whole = append(whole, full)
		} else {
			failed = append(failed, full)
		}
	}
	return whole, failed
}
