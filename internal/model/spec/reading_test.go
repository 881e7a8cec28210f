package spec

import (
	"strings"
	"testing"

	"bulkload/pkg/source/dialect"
)

// TestReadingOfAJobFile checks the dialect of a job file: its preset and the settings that override it.
func TestReadingOfAJobFile(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"", ""},
		{`field_sep: '|'`, ""},
		{`header: no`, ""},
		{`dialect: mysql`, `field_sep=\t record_sep=\n escape=\\ escape_map=mysql null='\\N' header=no`},
		{`{dialect: mysql, field_sep: '|', charset: GBK}`, `field_sep=| record_sep=\n escape=\\ escape_map=mysql null='\\N' header=no charset=gbk`},
		{`{dialect: hive, null_value: ['', 'NULL']}`, `field_sep=\x01 record_sep=\n null='' null='NULL' header=no`},
		{`{dialect: hive, null_value: ''}`, `field_sep=\x01 record_sep=\n null='' header=no`},
		{`{dialect: hive, null_value: 'NULL'}`, `field_sep=\x01 record_sep=\n null='NULL' header=no`},
		{`{dialect: hive, null_value: -1}`, `field_sep=\x01 record_sep=\n null='-1' header=no`},
		{`{dialect: hive, null_value: none}`, `field_sep=\x01 record_sep=\n header=no`},
		{`{dialect: postgres-csv, header: match, quote: "'"}`, `field_sep=, quote=' doubled=yes null='' header=match`},
		{`{dialect: spark, quote: none, escape: none}`, `field_sep=, record_sep=\n null='' header=yes`},
		{`{dialect: spark, escape: '"'}`, `field_sep=, record_sep=\n quote=" doubled=yes null='' header=yes`},
		{`{dialect: mysql-csv, escape: none, quotes: lenient, record_sep: '\r\n'}`, `field_sep=, record_sep=\r\n quote=" lenient=yes null='\\N' header=no`},
		{`{dialect: mysql, record_sep: '\r\n'}`, `field_sep=\t record_sep=\r\n escape=\\ escape_map=mysql null='\\N' header=no`},
		{`{dialect: postgres-csv, record_sep: '\r\n'}`, `field_sep=, quote=" doubled=yes null='' header=yes`},
		{`{null_value: '\N'}`, `field_sep=, quote=" doubled=yes null='\\N' header=yes`},
		{`{format: dump, skip_end: 1}`, `field_sep=\x01 record_sep=\x10 header=no skip_end=1`},
		{`{format: json, charset: GBK}`, ""},
		{`{format: rejects, dialect: mysql, field_sep: '@|@'}`, ""},
		{`{charset: GBK}`, `field_sep=, quote=" doubled=yes header=yes charset=gbk`},
		{`{field_sep: '@|@'}`, `field_sep=@|@ quote=" doubled=yes header=yes`},
		{`{trim: both, comment: '#', skip_lines: 2, null_quoted: yes, escape: '\', escape_map: postgres}`,
			`field_sep=, quote=" escape=\\ escape_map=postgres null_quoted=yes header=yes skip_lines=2 comment=# trim=both`},
	} {
		s, err := ParseSpec("job.yaml", []byte(c.file))
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		j, err := s.ResolveTable()
		got := ""
		if j.Text() != nil {
			got = j.Text().String()
		}
		if err != nil || got != strings.ReplaceAll(c.want, `escape=\\`, `escape=\`) {
			t.Errorf("%s: %s, %v, want %s", c.file, got, err, c.want)
		}
		if want := map[bool]string{true: "store", false: "skip"}[strings.Contains(c.want, "null=")]; map[bool]string{true: "store", false: "skip"}[j.StoresEmpty(j.Text() != nil && len(j.Text().Null) > 0)] != want {
			t.Errorf("%s: empty values are not %s", c.file, want)
		}
	}
	for file, want := range map[string]string{
		"table: t\nnull: '\\N'":              "line 2: unknown field \"null\"",
		"cells:\n- {column: a, null: store}": "line 2: unknown field \"null\" (what becomes of NULL is nulls)",
		"cell_ttl: &a {~: 1}":                "line 1: unknown field \"~\"",
		"cell_ttl: {~: 1}":                   "line 1: unknown field \"~\"",
		`null_value: NULL`:                   "write the text in quotes",
		`null_value: &a ~`:                   "write the text in quotes",
		`null_value: [a, ~]`:                 "write the text in quotes",
		`dialect: informix`:                  "dialect: \"informix\" is not a dialect",
		`{dialect: mysql, format: parquet}`:  "dialect: mysql is text, and format says parquet",
		`{dialect: mysql-csv, quotes: odd}`:  "quotes: \"odd\" is invalid: want",
		`{charset: klingon}`:                 "charset: ",
		`{format: json, charset: klingon}`:   "charset: ",
		`{null_quoted: perhaps}`:             "null_quoted: ",
		`{header: perhaps}`:                  "header: ",
		`{trim: all}`:                        "trim: ",
		`{dialect: hive, field_sep: '\q'}`:   "field_sep: ",
		`{extra: some}`:                      "extra: ",
		`{missing: some}`:                    "missing: ",
	} {
		s, err := ParseSpec("job.yaml", []byte(file))
		if err == nil {
			_, err = s.ResolveTable()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", file, err, want)
		}
	}
	if d := dialect.Presets(); len(d) < 9 {
		t.Error(d)
	}
}
