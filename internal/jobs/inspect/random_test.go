package inspect

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/test/race"
)

// A pen writes tables as an exporter does, with independent code.
type pen struct {
	name   string
	header bool
	null   string
	sep    []string
	end    string
	loses  bool // '' is written like NULL
	cannot string
	value  func(v, sep string, number bool) string
}

// escaper returns a function that writes a backslash and a letter for some bytes.
func escaper(pairs ...string) func(v, sep string) string {
	return func(v, sep string) string {
		return strings.NewReplacer(append([]string{`\`, `\\`}, pairs...)...).Replace(v)
	}
}

func doubled(v, sep string, always bool) string {
	if always || v == "" || strings.ContainsAny(v, sep+"\"\r\n") {
		return `"` + strings.ReplaceAll(v, `"`, `""`) + `"`
	}
	return v
}

func pens() []pen {
	my := func(quoted bool) func(v, sep string, number bool) string {
		return func(v, sep string, number bool) string {
			first := sep[:1]
			if quoted && !number {
				return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", "\\\n", "\x00", `\0`).Replace(v) + `"`
			}
			return strings.NewReplacer(`\`, `\\`, first, `\`+first, "\n", "\\\n", "\x00", `\0`).Replace(v)
		}
	}
	pg := escaper("\b", `\b`, "\f", `\f`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\v", `\v`)
	text := []string{"\t", "|", ",", "\x01"}
	return []pen{
		{name: "mysql", null: `\N`, sep: append([]string{"@|@"}, text...), value: my(false)},
		{name: "mysql quoted", null: `\N`, sep: []string{",", ";", "\t"}, value: my(true)},
		{name: "mysql -B", header: true, null: "NULL", sep: []string{"\t"}, value: func(v, _ string, _ bool) string {
			return strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, "\x00", `\0`).Replace(v)
		}},
		{name: "copy", null: `\N`, cannot: "\x00", sep: []string{"\t", "|", ","}, value: func(v, sep string, _ bool) string {
			if v = pg(v, sep); sep != "\t" {
				v = strings.ReplaceAll(v, sep, `\`+sep)
			}
			return v
		}},
		{name: "copy null ''", null: "", loses: true, cannot: "\x00", sep: []string{"\t"}, value: func(v, sep string, _ bool) string { return pg(v, sep) }},
		{name: "csv", header: true, null: "", cannot: "\x00", sep: []string{",", ";", "\t", "|"}, value: func(v, sep string, _ bool) string { return doubled(v, sep, false) }},
		{name: "csv without names", null: "", cannot: "\x00", sep: []string{",", ";", "\t"}, value: func(v, sep string, _ bool) string { return doubled(v, sep, false) }},
		{name: "csv, crlf", header: true, null: "", end: "\r\n", cannot: "\x00", sep: []string{",", ";"}, value: func(v, sep string, _ bool) string { return doubled(v, sep, false) }},
		{name: "csv, all quoted", null: "NULL", cannot: "\x00", sep: []string{","}, value: func(v, sep string, _ bool) string { return doubled(v, sep, true) }},
		{name: "csv, texts quoted", header: true, null: "", cannot: "\x00", sep: []string{","}, value: func(v, sep string, number bool) string { return doubled(v, sep, !number) }},
		{name: "spark", header: true, null: "", cannot: "\x00", sep: []string{",", "|"}, value: func(v, sep string, _ bool) string {
			if v == "" || strings.ContainsAny(v, sep+"\"\r\n") {
				return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v) + `"`
			}
			return v
		}},
		{name: "hive", null: `\N`, cannot: "\n\x00SEP", sep: text, value: func(v, _ string, _ bool) string { return v }},
		{name: "hive null ''", null: "", loses: true, cannot: "\n\x00SEP", sep: text, value: func(v, _ string, _ bool) string { return v }},
		{name: "hive escaped", null: `\N`, cannot: "\n\x00", sep: text, value: func(v, sep string, _ bool) string {
			return strings.NewReplacer(`\`, `\\`, sep, `\`+sep).Replace(v)
		}},
		{name: "hive crlf", null: `\N`, cannot: "\x00", sep: text, value: func(v, sep string, _ bool) string {
			return strings.NewReplacer(`\`, `\\`, sep, `\`+sep, "\n", `\n`, "\r", `\r`).Replace(v)
		}},
		{name: "@tsv", null: "", loses: true, cannot: "\x00", sep: []string{"\t"}, value: func(v, _ string, _ bool) string {
			return strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`).Replace(v)
		}},
	}
}

var pieces = []string{"a", "b", "Smith", " ", ",", "\t", "|", ";", `"`, `"`, `\`, `\`, "\n", "\r", "\r\n", `\N`, "NULL", "x1", "42", "é", "中", `\n`, "'", "@", "\x01", "t", "N", ""}

// table returns a random table: the names of its columns, and rows of texts, nil
// for NULL.
func table(r *rand.Rand) (names []string, numbers []bool, rows [][]*string) {
	cols, count := 2+r.IntN(5), 1+r.IntN(60)
	kinds := make([]int, cols)
	tame := r.IntN(3) // how rare difficult texts are
	for c := range cols {
		kinds[c] = r.IntN(5)
		names, numbers = append(names, fmt.Sprintf("col_%c", 'a'+c)), append(numbers, kinds[c] < 2)
	}
	nulls := r.IntN(4)
	for i := range count {
		row := make([]*string, cols)
		for c := range cols {
			v := ""
			switch kinds[c] {
			case 0:
				v = fmt.Sprint(r.IntN(1000) - 100)
			case 1:
				v = fmt.Sprintf("%d.%02d", r.IntN(100), r.IntN(100))
			case 2:
				v = fmt.Sprintf("2026-%02d-%02d", 1+r.IntN(12), 1+r.IntN(28))
			default:
				for range r.IntN(4) {
					if tame > 0 && r.IntN(4*tame) > 0 {
						v += pieces[r.IntN(3)]
					} else {
						v += pieces[r.IntN(len(pieces))]
					}
				}
			}
			if nulls > 0 && r.IntN(4*nulls) == 0 {
				continue
			}
			if v == "" && kinds[c] == 4 {
				v = fmt.Sprint("k", i)
			}
			row[c] = &v
		}
		rows = append(rows, row)
	}
	return names, numbers, rows
}

func (p *pen) write(sep string, names []string, numbers []bool, rows [][]*string) string {
	var b strings.Builder
	end := p.end
	if end == "" {
		end = "\n"
	}
	if p.header {
		b.WriteString(strings.Join(names, sep) + end)
	}
	for _, row := range rows {
		for c, v := range row {
			if c > 0 {
				b.WriteString(sep)
			}
			if v == nil {
				b.WriteString(p.null)
			} else {
				b.WriteString(p.value(*v, sep, numbers[c]))
			}
		}
		b.WriteString(end)
	}
	return b.String()
}

// can removes from the rows what the writer cannot represent.
func (p *pen) can(sep string, rows [][]*string) {
	cannot := strings.ReplaceAll(p.cannot, "SEP", sep)
	for _, row := range rows {
		for c, v := range row {
			if v == nil {
				continue
			}
			s := strings.Map(func(r rune) rune {
				if strings.ContainsRune(cannot, r) {
					return '_'
				}
				return r
			}, *v)
			if p.loses && s == "" || strings.HasPrefix(p.name, "hive") && s == p.null && p.cannot != "\x00" || p.name == "mysql -B" && s == "NULL" {
				row[c] = nil
				continue
			}
			row[c] = &s
		}
	}
}

// TestRandomTables checks that inspect reads what was written, or reports a doubt.
func TestRandomTables(t *testing.T) {
	n := 1500
	if race.Reduced(t) {
		n = 300
	}
	const first = 0
	sure, all, wrong := map[string]int{}, map[string]int{}, 0
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed)+first, 15))
		list := pens()
		p := &list[r.IntN(len(list))]
		sep := p.sep[r.IntN(len(p.sep))]
		names, numbers, rows := table(r)
		p.can(sep, rows)
		out := p.write(sep, names, numbers, rows)
		g, err := NewGiven(spec.Spec{})
		if err != nil {
			t.Fatal(err)
		}
		j := &judge{texts: []text{{path: "t", data: []byte(out), whole: true}}}
		v := j.judge(g)
		all[p.name]++
		if v.read == nil {
			continue
		}
		sure[p.name]++
		var got [][]*string
		for rec := range j.records(v.read, 0) {
			row := make([]*string, len(rec.fields))
			for k, f := range rec.fields {
				if !rec.null(k) {
					s := string(rec.cutter.value(rec.data, f))
					row[k] = &s
				}
			}
			got = append(got, row)
		}
		if d := differ(got, rows); d != "" {
			if wrong++; wrong < 12 {
				t.Errorf("seed %d, %s with %q: read as %s %s: %s\n%.600q", seed, p.name, sep, v.read.scan.w.what, v.read.dialect.String(), d, out)
			}
			continue
		}
		if err := j.check(v.read); err != nil {
			t.Errorf("seed %d, %s: %v\n%.300q", seed, p.name, err, out)
		}
	}
	t.Logf("%d of %d wrong", wrong, n)
	for _, p := range pens() {
		t.Logf("%s: %d of %d without doubt", p.name, sure[p.name], all[p.name])
		if !race.Reduced(t) && 10*sure[p.name] < all[p.name] {
			t.Errorf("%s: %d of %d are without doubt", p.name, sure[p.name], all[p.name])
		}
	}
}

func differ(got, want [][]*string) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d rows, want %d", len(got), len(want))
	}
	show := func(s *string) string {
		if s == nil {
			return "NULL"
		}
		return fmt.Sprintf("%q", *s)
	}
	for i := range got {
		if len(got[i]) != len(want[i]) {
			return fmt.Sprintf("row %d: %d columns, want %d", i+1, len(got[i]), len(want[i]))
		}
		for k := range got[i] {
			if show(got[i][k]) != show(want[i][k]) {
				return fmt.Sprintf("row %d, column %d: %s, want %s", i+1, k+1, show(got[i][k]), show(want[i][k]))
			}
		}
	}
	return ""
}
