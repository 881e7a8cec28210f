package yamlfile

import (
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// A word is a text of a type of its own.
type word string

// file has a field of each kind that files have.
type file struct {
	Text    string              `yaml:"text"`
	Word    word                `yaml:"word"`
	Pointer *string             `yaml:"pointer"`
	Words   []word              `yaml:"words"`
	Map     map[string][]string `yaml:"map"`
	Numbers map[string]int      `yaml:"numbers"`
	Wide    *int64              `yaml:"wide"`
	Bool    bool                `yaml:"bool"`
	Object  *Inlined            `yaml:"object"`
	Inlined `yaml:",inline"`
}

// Inlined has fields that are also fields of [file].
type Inlined struct {
	Inner string    `yaml:"inner"`
	Again []Inlined `yaml:"again"`
}

func TestDecode(t *testing.T) {
	text := "007"
	wide := int64(-10)
	for data, want := range map[string]file{
		"":                                              {},
		"# nothing\n":                                   {},
		"---\n":                                         {},
		"text: 1.50\n":                                  {Text: "1.50"},
		"\ufefftext: a\n":                               {Text: "a"},
		"text: \"\\x41\\n\"\n":                          {Text: "A\n"},
		"text: 'it''s'\n":                               {Text: "it's"},
		"text: |\n  010\n  1.50\n":                      {Text: "010\n1.50\n"},
		"text: >-\n  010\n  1.50\n":                     {Text: "010 1.50"},
		"text: 010\n  1.50\n":                           {Text: "010 1.50"},
		"text: 2026-11-01\nbool: TRUE":                  {Text: "2026-11-01", Bool: true},
		"text: yes\nword: True\n":                       {Text: "yes", Word: "True"},
		"text: null\nword: ~\nwords:\n":                 {},
		"text: 'null'\nword: \"~\"\n":                   {Text: "null", Word: "~"},
		"text: !!str\n":                                 {},
		"text: !!binary AAE=\n":                         {Text: "\x00\x01"},
		"text: !own 010\n":                              {Text: "010"},
		"pointer: 007\nwide: -010\n":                    {Pointer: &text, Wide: &wide},
		"pointer: null\nwide: null\n":                   {},
		"words: [01, 1_0, .5]\n":                        {Words: []word{"01", "1_0", ".5"}},
		"map: {007: [01, 1.0], a: []}":                  {Map: map[string][]string{"007": {"01", "1.0"}, "a": {}}},
		"numbers: {1.0: 010, true: 3}":                  {Numbers: map[string]int{"1.0": 10, "true": 3}},
		"? text\n: 010\n":                               {Text: "010"},
		"!!str text: 010\n":                             {Text: "010"},
		"object: &w {inner: 010}\n":                     {Object: &Inlined{Inner: "010"}},
		"again: [&w {inner: 010}, *w, {again: [*w]}]\n": {Inlined: Inlined{Again: []Inlined{{Inner: "010"}, {Inner: "010"}, {Again: []Inlined{{Inner: "010"}}}}}},
		"again:\n- &w\n  inner: 010\n- <<: *w\n":        {Inlined: Inlined{Again: []Inlined{{Inner: "010"}, {Inner: "010"}}}},
		"words: !!seq [01]\nobject: !!map {inner: !!str 010}\n": {Words: []word{"01"}, Object: &Inlined{Inner: "010"}},
		"words: [&a 01, &a 02, *a]\n":                           {Words: []word{"01", "02", "02"}},
	} {
		var got file
		if err := Decode([]byte(data), &got); err != nil {
			t.Errorf("%q: %v", data, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", data, diff)
		}
	}
	for data, want := range map[string]string{
		"wide: 2.9\n":                  "[1:7] wide takes an integer, not \"2.9\"",
		"object: {inner: a}\nmap: []":  "[2:6]",
		"numbers: {a: 1.0}\n":          "[1:14] a takes an integer",
		"words: [a, ~]\n":              "[1:12] null is a keyword of YAML",
		"text: [010]\n":                "[1:7]",
		"text: a\nother: b\n":          "[2:1] unknown field \"other\"",
		"text: a\n---\ntext: b\n":      "line 2: a second document begins",
		"null: a\n":                    "[1:1] unknown field \"null\"",
		"5: a\n":                       "[1:1] unknown field \"5\"",
		"{}: a\n":                      "[1:3]",
		"words: &a [x]\n*a : b\n":      "a name is a text",
		"words: !!str a\n":             "[1:13] words takes a list: [\"a\"]",
		"again: !own a\n":              "[1:12] again takes a list",
		"object: !!str a\n":            "[1:14] object takes fields of its own, not \"a\"",
		"object: [a]\n":                "[1:9] object takes fields of its own, not a list",
		"bool: !!str true\n":           "[1:7] bool takes true or false, not !!str",
		"wide: !!binary AAE=\n":        "[1:7] wide takes an integer, not !!binary",
		"<<: a\n":                      "[1:5] << takes fields of its own, not \"a\"",
		"<<: [{inner: a}]\n":           "[1:5] << takes fields of its own, not a list",
		"object: {<<: }\n":             "<< takes fields of its own, not null",
		"numbers: {<<: [{a: 1}, 5]}\n": "[1:24] << takes fields of its own, not \"5\"",
		"again: [{inner: a, 1: b}]\n":  "unknown field \"1\"",
		"text: a\ntext: b\n":           "already defined",
		"numbers: {010: 1, '010': 2}":  "already defined",
		"text: *a\nword: &a b\n":       "[1:7] no value before it has the name a",
		"words: &a [*a]\n":             "no value before it has the name a",
		"- text\n":                     "[1:1]",
		"text: {{ .Date }}\n":          "[1:",
		"bool: yes\n":                  "[1:7] bool takes true or false, not \"yes\"",
		"bool: 1\n":                    "[1:7] bool takes true or false, not \"1\"",
		"bool: [true]\n":               "bool takes true or false, not a list",
		"bool: {a: true}\n":            "bool takes true or false, not fields of its own",
		"object: {inner: [a, b]}\n":    "inner takes one text, not a list",
		"text: {a: b}\n":               "text takes one text, not fields of its own",
		"words: a\n":                   "[1:8] words takes a list: [\"a\"]",
		"words: a,b\n":                 "[1:8] words takes a list: [\"a,b\"]",
		"words: [[a]]\n":               "a value of words takes one text, not a list",
		"words: {a: b}\n":              "words takes a list, not fields of its own",
		"again: a\n":                   "[1:8] again takes a list",
		"wide: [1]\n":                  "wide takes an integer, not a list",
		"wide: 99999999999999999999\n": "[1:7] wide takes an integer",
	} {
		if err := Decode([]byte(data), new(file)); err == nil || !strings.Contains(yaml.FormatError(err, false, false), want) {
			t.Errorf("%q: %v, want %s", data, err, want)
		}
	}
}

// FuzzDecode compares the decoder with one that reads only texts in double quotes.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"010", "a: &x 1\nb: *x\n", "&x", "!!str", "[a, b]", "{a: b}", "? a\n: b\n", "<<: {a: 1}", "1.50", "|\n  x", "&a [*a]", "!!binary AAE="} {
		f.Add("text: " + s)
		f.Add(s)
		f.Add("words: " + s)
		f.Add("numbers: " + s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		var got, again file
		if Decode([]byte(data), &got) != nil || strings.ContainsFunc(got.Text, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
			return
		}
		testcheck.Must(t, Decode([]byte(`text: "`+got.Text+`"`), &again))
		if again.Text != got.Text {
			t.Errorf("%q: %q, and in quotes %q", data, got.Text, again.Text)
		}
	})
}
