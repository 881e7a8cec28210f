package inspect

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// Job returns a draft of a job file, whose comments give the evidence for each guess. The user has to fill in the table and the key. It is nil if there
// is a doubt, if a job would refuse an input, or if there is nothing to read.
func (r *Report) Job() []byte {
	if r.Doubtful() || r.Unreadable() || r.Format == "" || r.Sample.Files == 0 || len(r.Columns) == 0 {
		return nil
	}
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	rest := "all of the input"
	if !r.Sample.Whole {
		rest = "a sample: all below is about the sample"
	}
	line("# Written by bulkload inspect from %s (%s) of %s, %s.", setting.Count(r.Sample.Rows, "row"), setting.Count(r.Sample.Bytes, "byte"), setting.Count(r.Sample.Files, "file"), rest)
	line("")
	line("# table: namespace:name")
	r.jobKeys(line)
	line("")
	line("inputs:")
	for _, in := range r.Inputs {
		line("  - %s", scalar(undated(in)))
	}
	line("")
	if r.Format == "text" {
		r.jobText(line)
	} else {
		line("format: %s", r.Format)
		if charset := r.given.LinesCharset(); charset != "" {
			line("charset: %s", charset)
		}
	}
	r.jobGiven(line)
	r.jobColumns(line)
	if r.Expect != nil {
		line("")
	}
	b.Write(r.Expect)
	for _, n := range r.Notes {
		line("# %s", comment(n))
	}
	return b.Bytes()
}

func (r *Report) jobKeys(line func(string, ...any)) {
	keys := slices.DeleteFunc(slices.Clone(r.Keys), func(k Key) bool { return strings.Contains(strings.Join(k.Columns, ""), "`") }) // no key spec can name it
	if len(keys) == 0 {
		line("# key: COLUMN")
		return
	}
	counted := fmt.Sprintf("the first %s of the sample: the rest may have duplicates", setting.Count(keys[0].Rows, "row"))
	if r.Sample.Whole && keys[0].Rows == r.Sample.Rows {
		counted = "all " + setting.Count(keys[0].Rows, "row")
	}
	line("# The row key. Distinct values were counted in %s.", counted)
	for _, k := range keys {
		line("# key: %s   # %s", comment(scalar(k.spec())), k.counts())
	}
	line("# query: [%s]   # columns that a reader gives to get rows; default: the first of the key", comment(scalar(keys[0].Columns[0])))
}

// reasons explain the settings of text.
var reasons = map[string]string{
	"field_sep": "between columns", "record_sep": "after each record", "quote": "around values", "quotes": "a quote within a value is not escaped",
	"escape": "before a byte that is taken literally", "escape_map": "what letters after the escape stand for", "null_value": "what stands for NULL",
	"null_quoted": "NULL may be in quotes", "header": "whether the first record has the column names", "skip_lines": "lines before the header",
	"skip_end": "lines after the last record", "charset": "character set",
}

func (r *Report) jobText(line func(string, ...any)) {
	line("# As of %s: the same number of columns in all records, and the bytes match.", r.Writer)
	line("dialect: %s", r.Dialect.Preset)
	nulls := []string{}
	for _, s := range r.Dialect.Settings {
		switch s.Field {
		case "null_value":
			nulls = append(nulls, scalar(s.Value))
		case "charset":
			line("charset: %s   # %s", s.Value, comment(r.Reason))
		default:
			value := scalar(s.Value)
			if s.Field == "skip_lines" || s.Field == "skip_end" {
				value = s.Value
			}
			line("%s: %s   # %s", s.Field, value, reasons[s.Field])
		}
	}
	if len(nulls) > 0 {
		line("null_value: [%s]   # %s", strings.Join(nulls, ", "), reasons["null_value"])
	}
	if !slices.ContainsFunc(r.Dialect.Settings, func(s Setting) bool { return s.Field == "charset" }) && r.Reason != "" {
		line("# character set %s: %s", r.Charset, comment(r.Reason))
	}
	for _, n := range r.Nulls {
		what := "text"
		if n.IsNull {
			what = "NULL"
		}
		line("# %s is %s, %s", scalar(quotedText(n.Text, n.Quoted)), what, setting.Count(n.Count, "time"))
	}
}

// jobGiven writes the given settings that choose what is read: without them a job would read other records.
func (r *Report) jobGiven(line func(string, ...any)) {
	for _, field := range []string{"partitions", "where"} {
		var texts []string
		for _, text := range r.given.Texts(field) {
			texts = append(texts, scalar(undated(text)))
		}
		if len(texts) > 0 {
			line("%s: [%s]", field, strings.Join(texts, ", "))
		}
	}
	if r.given.BadRecords != "" {
		line("bad_records: %s", r.given.BadRecords)
	}
}

func (r *Report) jobColumns(line func(string, ...any)) {
	line("")
	switch {
	case r.given.Missing != "":
		line("missing: %s", scalar(r.given.Missing))
	case r.extra:
		line("missing: 'null'   # the files do not all have the same columns")
	}
	switch {
	case r.given.Extra == "" || r.traits().Open:
	case r.given.Extra == string(source.ExtraIgnore) && r.traits().Named:
		line("extra: ignore   # columns whose type has no text are left out")
	default:
		line("extra: %s", r.given.Extra)
	}
	switch {
	case r.Format == "text" && r.unnamed:
		line("# The first name in the header is empty, so its line is skipped and the columns are named here, in their order.")
	case r.Format == "text" && r.names != nil:
		line("# The input has no column names: name the columns here, in their order.")
	}
	line("columns:")
	for _, c := range r.Columns {
		what := ""
		if c.Within != "" {
			what = "# "
		}
		line("  %s- %s   # %s", what, scalar(c.Name), c.describe())
	}
	r.jobCells(line)
}

// jobCells writes the types that fit all values of a column, as comments if only a sample was read.
func (r *Report) jobCells(line func(string, ...any)) {
	what := ""
	line("")
	line("# Text is stored unchanged, other types as HBase's Bytes encodes them: use type text, or remove the line, if readers expect text.")
	if !r.Sample.Whole {
		line("# Types are guessed from a sample, so they are comments.")
		what = "# "
	}
	line("cells:")
	for i := range r.Columns {
		t := r.Columns[i].cellType()
		if t.Type == "" {
			continue
		}
		more := ""
		if t.Layout != "" {
			more = ", layout: " + scalar(t.Layout)
		}
		if t.Type == "timestamp" {
			more += ", zone: UTC"
		}
		line("  %s- {column: %s, type: %s%s}", what, scalar(r.Columns[i].Name), t.Type, more)
	}
	line("  - rest: true   # all other columns, as text")
}

// describe describes a column for a job file.
func (c *Column) describe() string {
	switch {
	case c.Partition:
		return fmt.Sprintf("%s, of the path, %s", c.Type, setting.Count(c.Distinct, "value"))
	case c.Within != "":
		return fmt.Sprintf("%s, within %s, must be named separately", c.Type, comment(c.Within))
	}
	return fmt.Sprintf("%s, %d NULL, %d empty", c.Type, c.Nulls, c.Empty)
}

// undated writes a text whose braces are its own for a field of a job file where {{ }} stands for dates.
func undated(s string) string { return strings.ReplaceAll(s, "{{", `{{"{{"}}`) }

// scalar formats a text for YAML: quoted, unless it is a word.
func scalar(s string) string {
	plain := s != ""
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		plain = plain && (letter || i > 0 && (c >= '0' && c <= '9' || c == '-' || c == '.' || c == '/'))
		if c < 0x20 || c == 0x7f || c == 0xfffd || c >= 0x80 && !strconv.IsPrint(c) {
			return strconv.QuoteToASCII(s)
		}
	}
	switch strings.ToLower(s) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		plain = false
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// comment returns a text as one line.
func comment(s string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x20 || c == 0x7f || c >= 0x80 && !strconv.IsPrint(c) {
			return ' '
		}
		return c
	}, s)
}
