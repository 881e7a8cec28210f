package source

import (
	"bytes"
	"strings"
	"testing"

	"bulkload/pkg/source/dialect"

	"golang.org/x/text/encoding/simplifiedchinese"
)

// BenchmarkText reads the rows of the check table in the forms of text exporters, from the file to its batches, on one core. The scanner for
// separators alone (plain) shows the cost of NULL and escapes.
func BenchmarkText(b *testing.B) {
	rows := checkRows(benchRows)
	tabs := strings.NewReplacer("\n", " ", "\t", " ", `\`, "/")
	plain := func(text string) string { return tabs.Replace(text) }
	escapes := strings.NewReplacer("\n", "\\\n", "\t", "\\\t", `\`, `\\`)
	asMySQL := func(text string) string {
		if text == "" {
			return `\N`
		}
		return escapes.Replace(text)
	}
	hive := with(preset(b, "hive"), func(d *dialect.Dialect) { d.FieldSep, d.Null = "\t", nil })
	null := with(hive, func(d *dialect.Dialect) { d.Null = []string{`\N`} })
	for _, c := range []struct {
		name  string
		d     dialect.Dialect
		value func(string) string
	}{
		{"plain", hive, plain},
		{"null", null, func(text string) string {
			if text == "" {
				return `\N`
			}
			return plain(text)
		}},
		{"mysql, nothing to escape", preset(b, "mysql"), plain},
		{"mysql", preset(b, "mysql"), asMySQL},
		{"mysql gbk", with(preset(b, "mysql"), func(d *dialect.Dialect) { d.Charset = "gbk" }), asMySQL},
		{"hive gbk", with(hive, func(d *dialect.Dialect) { d.Charset = "gbk" }), plain},
		{"mysql utf-8", with(preset(b, "mysql"), func(d *dialect.Dialect) { d.Charset = "utf-8" }), asMySQL},
		{"postgres", preset(b, "postgres"), asMySQL},
	} {
		b.Run(c.name, func(b *testing.B) {
			var data bytes.Buffer
			for _, row := range rows {
				for i, v := range row {
					if i > 0 {
						data.WriteByte('\t')
					}
					data.WriteString(c.value(v))
				}
				data.WriteByte('\n')
			}
			text := data.Bytes()
			if c.d.Charset == "gbk" {
				var err error
				if text, err = simplifiedchinese.GB18030.NewEncoder().Bytes(text); err != nil {
					b.Fatal(err)
				}
			}
			benchmark(b, writeFile(b, "check.txt", text), Options{Format: FormatText, Dialect: &c.d, Columns: checkColumns}, int64(len(text)))
		})
	}
	for name, d := range map[string]dialect.Dialect{"csv": preset(b, "csv"), "postgres-csv": preset(b, "postgres-csv"), "spark": preset(b, "spark"), "csv gbk": with(preset(b, "csv"), func(d *dialect.Dialect) { d.Charset = "gbk" })} {
		b.Run(name, func(b *testing.B) {
			text := toCSV(append([][]string{checkColumns}, rows...)...)
			if d.Charset == "gbk" {
				var err error
				if text, err = simplifiedchinese.GB18030.NewEncoder().Bytes(text); err != nil {
					b.Fatal(err)
				}
			}
			if d.Escape != "" {
				text = bytes.ReplaceAll(text, []byte(`""`), []byte(`\"`))
			}
			benchmark(b, writeFile(b, "check.txt", text), Options{Format: FormatText, Dialect: &d, Columns: checkColumns}, int64(len(text)))
		})
	}
}

func preset(b *testing.B, name string) dialect.Dialect {
	b.Helper()
	d, err := dialect.Preset(name)
	if err != nil {
		b.Fatal(err)
	}
	return d
}

func with(d dialect.Dialect, change func(*dialect.Dialect)) dialect.Dialect {
	change(&d)
	return d
}
