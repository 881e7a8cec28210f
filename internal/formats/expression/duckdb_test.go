package expression

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen"
)

// duckdbReads answers each line, an expression of SQL, with its values for all records, or null if DuckDB refuses the expression, such as a sum of
// more than its 38 digits.
const duckdbReads = `
import sys, json, duckdb
c = duckdb.connect()
lines = iter(sys.stdin)
c.execute('create table r (id integer, a varchar, b varchar, "end" varchar, n varchar, m varchar)')
c.executemany('insert into r values (?, ?, ?, ?, ?, ?)', json.loads(next(lines)))
text = lambda v: v if v is None or isinstance(v, bool) else str(v)
for line in lines:
    try:
        print(json.dumps([text(v) for v, in c.execute('select ' + json.loads(line) + ' from r order by id').fetchall()]))
    except duckdb.Error:
        print('null')
`

// sql returns an expression of a kind in DuckDB's syntax, or an empty text if DuckDB computes it differently.
func sql(e keygen.Expr, kind keygen.Kind) string {
	from := keygen.KindOf(e)
	text, ok := sqlOf(e, kind)
	switch {
	case !ok:
		return ""
	case from == kind && kind == keygen.KindNumber:
		return text // with its own scale
	case from == keygen.KindNull || from == kind:
		return "cast(" + text + " as " + map[keygen.Kind]string{keygen.KindText: "varchar", keygen.KindNumber: "decimal(12, 3)", keygen.KindBoolean: "boolean"}[kind] + ")"
	case from == keygen.KindText && (text == "n" || text == "m"):
		return "cast(" + text + " as decimal(12, 3))"
	}
	return ""
}

func sqlOf(e keygen.Expr, kind keygen.Kind) (string, bool) {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	switch e := e.(type) {
	case keygen.Column:
		if e.Name == "end" {
			return `"end"`, true
		}
		return e.Name, true
	case keygen.Literal:
		return quote(string(e.Bytes)), true
	case keygen.Number:
		return e.Digits, len(e.Digits) < 15
	case keygen.Constant:
		return e.Word, true
	case keygen.Concat:
		return joinSQL(e.Parts, keygen.KindText, " || ")
	case keygen.Operation:
		return sqlOperation(e, kind, quote)
	case keygen.Call:
		return sqlCall(e, kind, quote)
	}
	return "", false
}

// joinSQL returns a list in parentheses, in DuckDB's syntax.
func joinSQL(list []keygen.Expr, kind keygen.Kind, between string) (string, bool) {
	var all []string
	for _, e := range list {
		one := sql(e, kind)
		if one == "" {
			return "", false
		}
		all = append(all, one)
	}
	return "(" + strings.Join(all, between) + ")", true
}

func sqlOperation(o keygen.Operation, kind keygen.Kind, quote func(string) string) (string, bool) {
	as := keygen.Compared(o.Args)
	if as == keygen.KindNull {
		as = keygen.KindText
	}
	one := func(i int, kind keygen.Kind) string { return sql(o.Args[i], kind) }
	switch o.Name {
	case "and", "or":
		return joinSQL(o.Args, keygen.KindBoolean, " "+o.Name+" ")
	case "not":
		x := one(0, keygen.KindBoolean)
		return "(not " + x + ")", x != ""
	case "is null", "is not null":
		k := keygen.KindOf(o.Args[0])
		x := one(0, max(k, keygen.KindText))
		return "(" + x + " " + o.Name + ")", x != ""
	case "case":
		text := "case"
		for i := 0; i+1 < len(o.Args); i += 2 {
			when, then := one(i, keygen.KindBoolean), one(i+1, kind)
			if when == "" || then == "" {
				return "", false
			}
			text += " when " + when + " then " + then
		}
		if len(o.Args)%2 == 1 {
			x := one(len(o.Args)-1, kind)
			if x == "" {
				return "", false
			}
			text += " else " + x
		}
		return text + " end", true
	case "like", "not like", "matches", "not matches":
		x, form := one(0, keygen.KindText), quote(string(o.Args[1].(keygen.Literal).Bytes))
		switch {
		case strings.HasSuffix(o.Name, "like"):
			return "(" + x + " " + o.Name + " " + form + ` escape '\')`, x != ""
		case o.Name == "matches":
			return "regexp_matches(" + x + ", " + form + ")", x != ""
		}
		return "(not regexp_matches(" + x + ", " + form + "))", x != ""
	case "in", "not in":
		x := one(0, as)
		list, ok := joinSQL(o.Args[1:], as, ", ")
		return "(" + x + " " + o.Name + " " + list + ")", ok && x != ""
	case "between", "not between":
		x, a, b := one(0, as), one(1, as), one(2, as)
		return "(" + x + " " + o.Name + " " + a + " and " + b + ")", x != "" && a != "" && b != ""
	}
	return joinSQL(o.Args, as, " "+o.Name+" ")
}

func sqlCall(c keygen.Call, kind keygen.Kind, quote func(string) string) (string, bool) {
	number := func(i int) int { n, _ := keygen.WholeNumber(c.Args[i]); return n }
	args, kind2 := c.Args, keygen.KindText
	switch c.Func {
	case "substr":
		x, from := sql(args[0], keygen.KindText), number(1)
		text := fmt.Sprintf("substring(%s, %d)", x, from+1)
		if from < 0 {
			text = fmt.Sprintf("right(%s, %d)", x, -from)
		}
		if len(args) > 2 {
			text = fmt.Sprintf("left(%s, %d)", text, number(2))
		}
		return text, x != ""
	case "lpad", "rpad":
		x := sql(args[0], keygen.KindText)
		return fmt.Sprintf("%s(%s, %d, %s)", c.Func, x, number(1), quote(string(args[2].(keygen.Literal).Bytes))), x != ""
	case "round":
		x := sql(args[0], keygen.KindNumber)
		return fmt.Sprintf("round(%s, %d)", x, number(1)), x != "" && number(1) >= 0 && number(1) < 9
	case "decimal":
		x := sql(args[0], keygen.KindNumber)
		return x, x != ""
	case "add", "subtract", "multiply":
		return joinSQL(args, keygen.KindNumber, map[string]string{"add": " + ", "subtract": " - ", "multiply": " * "}[c.Func])
	case "coalesce":
		kind2 = kind
	case "nullif", "least", "greatest":
		kind2 = keygen.Compared(args)
	case "abs", "negate":
		kind2 = keygen.KindNumber
	case "replace", "concat", "upper", "lower", "trim", "ltrim", "rtrim", "reverse", "length", "md5hex":
	default:
		return "", false
	}
	list, ok := joinSQL(args, max(kind2, keygen.KindText), ", ")
	name := map[string]string{"md5hex": "md5", "negate": "-"}[c.Func]
	if name == "" {
		name = c.Func
	}
	text := name + list
	if c.Func == "least" || c.Func == "greatest" { // DuckDB ignores NULL
		for _, a := range args {
			text = "case when " + sql(a, max(kind2, keygen.KindText)) + " is null then null else " + text + " end"
		}
	}
	return text, ok
}

// TestDuckDB compares random expressions over random records with DuckDB, as far as both define them in the same way. It needs
// BULKLOAD_TEST_DUCKDB=1, and in BULKLOAD_DIALECTS_PYTHON a python3 with the module duckdb, which scripts/test-dialects installs.
func TestDuckDB(t *testing.T) {
	if os.Getenv("BULKLOAD_TEST_DUCKDB") == "" {
		t.Skip("BULKLOAD_TEST_DUCKDB=1 runs it, with DuckDB in BULKLOAD_DIALECTS_PYTHON")
	}
	w := writer{testcheck.Rand(t)}
	texts, numbers := []string{"", " ", "abc", "a%c", " Ab c ", "订单", "x订y", "12", "1.50"}, []string{"0", "1", "1.0", "-2.5", "7.50", "0.005", "-99.125", "1000000"}
	var records []map[string]*string
	var rows [][]any
	for i := range 40 {
		record := map[string]*string{}
		row := []any{i}
		for _, name := range []string{"a", "b", "end", "n", "m"} {
			list := texts
			if name == "n" || name == "m" {
				list = numbers
			}
			if w.IntN(5) > 0 {
				record[name] = &list[w.IntN(len(list))]
			}
			row = append(row, record[name])
		}
		records, rows = append(records, record), append(rows, row)
	}
	var in bytes.Buffer
	line := func(v any) {
		b, err := json.Marshal(v)
		testcheck.Must(t, err)
		in.Write(append(b, '\n'))
	}
	line(rows)
	var all []keygen.Expr
	for len(all) < 10_000 {
		e, err := keygen.ParseValue(w.expr(keygen.Kind(w.IntN(3))+keygen.KindText, 1+w.IntN(3)))
		testcheck.Must(t, err)
		if text := sql(e, max(keygen.KindOf(e), keygen.KindText)); text != "" && len(keygen.Columns(e)) > 0 {
			all = append(all, e)
			line(text)
		}
	}
	python := exec.CommandContext(t.Context(), os.Getenv("BULKLOAD_DIALECTS_PYTHON"), "-c", duckdbReads)
	python.Stdin, python.Stderr = &in, os.Stderr
	out, err := python.Output()
	testcheck.Must(t, err)
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(answers) != len(all) {
		t.Fatalf("DuckDB answers %d times, not %d", len(answers), len(all))
	}
	compared := 0
	for i, e := range all {
		var values []any
		testcheck.Must(t, json.Unmarshal([]byte(answers[i]), &values))
		p, err := Compile(e, Options{})
		testcheck.Must(t, err)
		for j, want := range values {
			got, null, err := p.Append(nil, fieldsOf(p, records[j]))
			if err != nil || null != (want == nil) || !null && !sameValue(keygen.KindOf(e), string(got), want) {
				t.Fatalf("%s\nof %s\nis %q, NULL %v, %v; DuckDB says %v of\n%s", e, show(records[j]), got, null, err, want, sql(e, keygen.KindOf(e)))
			}
			compared++
		}
	}
	t.Logf("%d values of %d expressions are those of DuckDB", compared, len(all))
	if compared == 0 {
		t.Error("DuckDB has answered nothing")
	}
}

func sameValue(kind keygen.Kind, got string, want any) bool {
	if kind != keygen.KindNumber {
		return got == fmt.Sprint(want)
	}
	a, ok := new(big.Rat).SetString(got)
	b, ok2 := new(big.Rat).SetString(fmt.Sprint(want))
	return ok && ok2 && a.Cmp(b) == 0
}
