package setting

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
)

func flag(n Name) string { return "--" + string(n) }

// TestText checks a text in backquotes, in a caller's words, and with its settings after a round trip through JSON.
func TestText(t *testing.T) {
	inner := Textf("give more %s", Memory)
	cause := Errorf("%w: name one with %s", io.ErrUnexpectedEOF, State)
	for _, c := range []struct {
		text     Text
		plain    string
		said     string
		settings []Name
	}{
		{Text{}, "", "", nil},
		{Plain("100 % `memory`"), "100 % `memory`", "100 % `memory`", nil},
		{Textf("%d of %s", 3, "rows"), "3 of rows", "3 of rows", nil},
		{inner, "give more `memory`", "give more --memory", []Name{Memory}},
		{Textf("%d %%: %s, or fewer %s, not %[3]s", 5, inner, Workers), "5 %: give more `memory`, or fewer `workers`, not `workers`",
			"5 %: give more --memory, or fewer --workers, not --workers", []Name{Memory, Workers}},
		{Textf("%v (%s)", cause, inner), "unexpected EOF: name one with `state` (give more `memory`)", "unexpected EOF: name one with --state (give more --memory)", []Name{State, Memory}},
	} {
		if got := c.text.String(); got != c.plain {
			t.Errorf("text is %q, want %q", got, c.plain)
		}
		if got := c.text.In(flag); got != c.said || c.text.As(flag).String() != c.said {
			t.Errorf("%q is said as %q, want %q", c.plain, got, c.said)
		}
		if got := c.text.Settings(); !slices.Equal(got, c.settings) {
			t.Errorf("%q names %q, want %q", c.plain, got, c.settings)
		}
		if c.text.IsZero() != (c.plain == "") || !c.text.Equal(Plain(c.plain)) {
			t.Errorf("%q: zero is %v", c.plain, c.text.IsZero())
		}
		b, err := json.Marshal(c.text)
		if err != nil {
			t.Fatal(err)
		}
		var again Text
		if err := json.Unmarshal(b, &again); err != nil || again.String() != c.plain || c.settings != nil && again.In(flag) != c.said {
			t.Errorf("%s comes back as %q, %q: %v", b, again, again.In(flag), err)
		}
	}
}

// TestParse checks that text in backquotes that is not a setting is left unchanged.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"50 % of `x` and `memory`":           "50 % of `x` and --memory",
		"an open ` and `workers` 2":          "an open ` and --workers 2",
		"`memory":                            "`memory",
		"`no``state`%s":                      "`no`--state%s",
		"give --memory, as it was said then": "give --memory, as it was said then",
	} {
		if got := Parse(text); got.String() != text || got.In(flag) != want {
			t.Errorf("%q is parsed as %q, %q", text, got, got.In(flag))
		}
	}
}

// ownError is an error that another package builds from a text.
type ownError struct{ what Text }

func (e *ownError) Error() string                     { return e.what.String() }
func (e *ownError) Settings() []Name                  { return e.what.Settings() }
func (e *ownError) In(words func(Name) string) string { return e.what.In(words) }

// TestErrors checks that messages use a caller's words for the settings of every error in a tree, and that errors.Is and
// errors.As still work.
func TestErrors(t *testing.T) {
	plain := errors.New("no room")
	first := Errorf("%w (give more %s)", plain, Memory)
	second := &ownError{Textf("name another %s", SpillDir)}
	for _, c := range []struct {
		err      error
		said     string
		settings []Name
	}{
		{plain, "no room", nil},
		{Errorf("x: %w", plain), "x: no room", nil},
		{first, "no room (give more --memory)", []Name{Memory}},
		{fmt.Errorf("sort: %w", first), "sort: no room (give more --memory)", []Name{Memory}},
		{Errorf("%s: %w", Splits, fmt.Errorf("sort: %w", first)), "--splits: sort: no room (give more --memory)", []Name{Splits, Memory}},
		{fmt.Errorf("all: %w", errors.Join(first, plain, second, first)),
			"all: no room (give more --memory)\nno room\nname another --spill_dir\nno room (give more --memory)", []Name{Memory, SpillDir}},
		{Errorf("%w, %w: %s", first, second, Textf("%s", Force)), "no room (give more --memory), name another --spill_dir: --force", []Name{Memory, SpillDir, Force}},
	} {
		if got := In(c.err, flag); got != c.said {
			t.Errorf("%q is said as %q, want %q", c.err, got, c.said)
		}
		if got := In(c.err, Name.String); got != c.err.Error() {
			t.Errorf("%q in the library's words is %q", c.err, got)
		}
		if got := Of(c.err); !slices.Equal(got, c.settings) {
			t.Errorf("%q names %q, want %q", c.err, got, c.settings)
		}
		if !errors.Is(c.err, plain) {
			t.Errorf("%q does not wrap its cause", c.err)
		}
	}
	if _, ok := errors.AsType[*ownError](fmt.Errorf("x: %w", Errorf("%w %s", second, Force))); !ok {
		t.Error("an error is lost behind one that names settings")
	}
}

func TestCounts(t *testing.T) {
	for want, got := range map[string]string{
		"1 file": Count(1, "file"), "2 files": Count(int64(2), "file"), "0 directories": Count(0, "directory"), "1 directory": Count(uint64(1), "directory"), "3 assemblies": Count(3, "assembly"), "1 row has": Count(1, "row has"), "2 sampled rows were": Count(2, "sampled row was"), "0 entries are": Count(0, "entry is"), "5 keys": Count(uint32(5), "key"),
		"0 B": Bytes(0), "1023 B": Bytes(1023), "1.0 KiB": Bytes(1024), "1.5 MiB": Bytes(3 << 19), "2.0 GiB": Bytes(2 << 30), "1.0 TiB": Bytes(1 << 40), "2048.0 TiB": Bytes(2 << 50),
		"abé": Shorten("abé", 4), "ab…": Shorten("abé", 3), // no half character
		"…": Shorten("abé", -1), "": Shorten("", -1),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestWord checks that values without a word show their number.
func TestWord(t *testing.T) {
	type kind int
	for v, want := range map[kind]string{0: "a", 2: "c", 1: "Kind(1)", 3: "Kind(3)", -1: "Kind(-1)"} {
		if got := Word("Kind", v, "a", "", "c"); got != want {
			t.Errorf("%d: %s, want %s", int(v), got, want)
		}
	}
}
