package setting

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Text is a message, such as advice on a finding. The zero value is an empty message.
type Text struct {
	plain  string
	format string
	args   []any // with a setting among them; nil: the text has none
}

// Textf formats a text, which keeps the settings, texts and errors among args.
func Textf(format string, args ...any) Text {
	t := Text{plain: fmt.Sprintf(format, args...)}
	if len(namesIn(args)) > 0 {
		t.format, t.args = format, slices.Clone(args)
	}
	return t
}

// Plain returns a text that names no settings.
func Plain(text string) Text { return Text{plain: text} }

// String returns the text with settings as `spill_dir`.
func (t Text) String() string { return t.plain }

// IsZero reports whether there is no message.
func (t Text) IsZero() bool { return t.plain == "" }

// Equal reports whether two texts read the same.
func (t Text) Equal(u Text) bool { return t.plain == u.plain }

// Settings returns the settings that the text names, each once.
func (t Text) Settings() []Name { return namesIn(t.args) }

// In returns the text with each setting as words calls it.
func (t Text) In(words func(Name) string) string {
	if len(t.args) == 0 {
		return t.plain
	}
	return sayf(words, t.format, t.args)
}

// As is [Text.In] as a text.
func (t Text) As(words func(Name) string) Text { return Plain(t.In(words)) }

// MarshalText is String.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.plain), nil }

// UnmarshalText is [Parse].
func (t *Text) UnmarshalText(b []byte) error {
	*t = Parse(string(b))
	return nil
}

//go:embed name.go
var constants string

// Names returns the settings that libraries name, read from the lines of their constants.
func Names() (all []Name) {
	for line := range strings.Lines(constants) {
		if _, name, ok := strings.Cut(line, `Name = "`); ok {
			all = append(all, Name(strings.TrimRight(name, "\"\r\n")))
		}
	}
	return all
}

// isName reports whether Names has a name. It is asked for each text of each flag when the program starts.
func isName(name string) bool {
	return !strings.ContainsAny(name, "\"\n") && strings.Contains(constants, `Name = "`+name+`"`)
}

// Parse reads what String wrote, which journals and other files keep.
func Parse(text string) Text {
	var format strings.Builder
	var args []any
	rest := text
	for {
		before, after, found := strings.Cut(rest, "`")
		format.WriteString(strings.ReplaceAll(before, "%", "%%"))
		if !found {
			break
		}
		name, behind, closed := strings.Cut(after, "`")
		if closed && isName(name) {
			format.WriteString("%s")
			args = append(args, Name(name))
			rest = behind
			continue
		}
		format.WriteByte('`')
		rest = after
	}
	if len(args) == 0 {
		return Plain(text)
	}
	return Text{text, format.String(), args}
}

// sayf formats args. words names each setting among them.
func sayf(words func(Name) string, format string, args []any) string {
	said := slices.Clone(args)
	for i, a := range args {
		switch a := a.(type) {
		case Name:
			said[i] = words(a)
		case Text:
			said[i] = a.In(words)
		case error:
			if len(Of(a)) > 0 {
				said[i] = saidError(In(a, words))
			}
		}
	}
	return fmt.Errorf(format, said...).Error() // which has %w, unlike Sprintf
}

// saidError is an error's text where a format expects an error.
type saidError string

func (e saidError) Error() string { return string(e) }

// namesIn returns the settings that args name, each once, in their order.
func namesIn(args []any) []Name {
	var names []Name
	for _, a := range args {
		var more []Name
		switch a := a.(type) {
		case Name:
			more = []Name{a}
		case Text:
			more = a.Settings()
		case error:
			more = Of(a)
		}
		names = merged(names, more)
	}
	return names
}

// merged are names and those of more that are not among them.
func merged(names, more []Name) []Name {
	for _, n := range more {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// List returns the words of a list that is separated by commas: without the blanks around them, and without empty ones.
func List(text string) (words []string) {
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// pluralVerbs are the plurals of the verbs that may end what [Count] counts.
var pluralVerbs = map[string]string{"is": "are", "was": "were", "has": "have"}

// Count returns a number and a noun in the singular or plural: 1 file, 2 files, 0 directories. A verb may follow the noun:
// Count(n, "row has") returns 1 row has, 2 rows have.
func Count[N ~int | ~int64 | ~uint32 | ~uint64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if i := strings.LastIndexByte(one, ' '); i > 0 && pluralVerbs[one[i+1:]] != "" {
		return Count(n, one[:i]) + " " + pluralVerbs[one[i+1:]]
	}
	if stem, ok := strings.CutSuffix(one, "ry"); ok {
		return fmt.Sprintf("%d %sries", n, stem)
	}
	if stem, ok := strings.CutSuffix(one, "ly"); ok {
		return fmt.Sprintf("%d %slies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Shorten returns a text, or its first most bytes without a cut character and a mark that more follows. Below 0 most is 0.
func Shorten(text string, most int) string {
	most = max(most, 0)
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Thousands returns a number with separated thousands: 1,234,567.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Bytes returns a count of bytes as a person reads it: 512 B, 1.5 MiB.
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n), -1
	for v >= unit && i < 3 {
		v /= unit
		i++
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGT"[i])
}

// Word returns the word of a value that counts from 0, and for a value without one its number: Kind(7).
func Word[T ~int | ~uint8](kind string, value T, words ...string) string {
	if value < 0 || int(value) >= len(words) || words[value] == "" {
		return fmt.Sprintf("%s(%d)", kind, int(value))
	}
	return words[value]
}
