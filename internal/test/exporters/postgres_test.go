package exporters

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// postgres is a private PostgreSQL.
type postgres struct {
	dir, bin string
	env      []string
}

func startPostgres(t *testing.T) *postgres {
	t.Helper()
	dir := newPlace(t)
	p := &postgres{dir: dir}
	p.env = debian(t, filepath.Join(dir, "unpacked"), "postgres", "@postgresql", "libpq5")
	bins, err := filepath.Glob(filepath.Join(dir, "unpacked/usr/lib/postgresql/*/bin"))
	if err != nil || len(bins) != 1 {
		t.Fatalf("programs in %q: %v", bins, err)
	}
	p.bin = bins[0]
	data, sockets := ownDir(t, dir, "data"), ownDir(t, dir, "sockets")
	if err := os.Chmod(data, 0o700); err != nil {
		t.Fatal(err)
	}
	initdb := unprivileged(exec.CommandContext(t.Context(), p.bin+"/initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"))
	initdb.Env, initdb.Dir = p.env, data
	run(t, initdb)
	server := unprivileged(exec.Command(p.bin+"/postgres", "-D", data, "-k", sockets, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "jit=off", "-c", "shared_buffers=32MB", "-c", "timezone=UTC"))
	server.Env, server.Dir = p.env, data
	serve(t, server, syscall.SIGINT, func(ctx context.Context) error {
		_, err := try(p.psql(ctx, "-c", "SELECT 1"))
		return err
	})
	t.Logf("PostgreSQL %s", strings.TrimSpace(string(run(t, p.psql(t.Context(), "-Atc", "SHOW server_version")))))
	return p
}

// client returns a program of PostgreSQL that connects to the server.
func (p *postgres) client(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, program), append([]string{"-h", p.dir + "/sockets", "-U", "postgres", "-d", "postgres"}, args...)...)
	cmd.Env = p.env
	return cmd
}

func (p *postgres) psql(ctx context.Context, args ...string) *exec.Cmd {
	return p.client(ctx, "psql", append([]string{"-X", "-q", "-v", "ON_ERROR_STOP=1"}, args...)...)
}

// fill makes a table.
func (p *postgres) fill(t *testing.T, name, columns string, tab table) {
	t.Helper()
	types := strings.Split(columns, ", ")
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s (%s);\n", name, columns)
	for _, row := range tab.rows {
		values := make([]string, len(row))
		for i, v := range row {
			if values[i] = "NULL"; v != nil {
				_, kind, _ := strings.Cut(types[i], " ")
				values[i] = fmt.Sprintf("convert_from('\\x%s','UTF8')::%s", hex.EncodeToString([]byte(v.(string))), strings.TrimSuffix(kind, " primary key"))
			}
		}
		fmt.Fprintf(&b, "INSERT INTO %s VALUES (%s);\n", name, strings.Join(values, ","))
	}
	cmd := p.psql(t.Context())
	cmd.Stdin = strings.NewReader(b.String())
	run(t, cmd)
}

// write writes a client's output to a file.
func (p *postgres) write(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "export.txt")
	if err := os.WriteFile(file, run(t, cmd), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func query(name string, rows table) string {
	return fmt.Sprintf("SELECT %s FROM %s WHERE id IN (%s) ORDER BY id", strings.Join(rows.columns, ","), name, rows.ids())
}

const (
	postgresColumns       = "id bigint primary key, check_id text, name text, amount numeric(18,2), n bigint, d date, ts timestamp, flag boolean, remark text"
	postgresRandomColumns = "id bigint primary key, a text, b text, c text"
)

// copies are forms of COPY … TO.
var copies = []form{
	{name: "text", clause: "(FORMAT text)", settings: "dialect: postgres"},
	{name: "text header", clause: "(FORMAT text, HEADER)", settings: "dialect: postgres, header: 'yes'"},
	{name: "text bar", clause: "(FORMAT text, DELIMITER '|', NULL '')", settings: "dialect: postgres, field_sep: '|', null_value: ''", sample: "postgres/copy-text-pipe.txt", change: emptyIsNull},
	{name: "text soh", clause: "(FORMAT text, DELIMITER E'\\x01')", settings: `dialect: postgres, field_sep: '\x01'`},
	{name: "text comma", clause: "(FORMAT text, DELIMITER ',', NULL 'NULL')", settings: `dialect: postgres, field_sep: ',', null_value: 'NULL'`, change: wordIsNull("NULL")},
	{name: "csv", clause: "(FORMAT csv, HEADER)", settings: "dialect: postgres-csv", sample: "postgres/copy-csv.csv"},
	{name: "csv without header", clause: "(FORMAT csv)", settings: "dialect: postgres-csv, header: 'no'"},
	{name: "csv force", clause: "(FORMAT csv, FORCE_QUOTE *, NULL '\\N')", settings: `dialect: postgres-csv, header: 'no', null_value: '\N'`, sample: "postgres/copy-csv-force.csv"},
	{name: "csv force header", clause: "(FORMAT csv, FORCE_QUOTE *, HEADER)", settings: `dialect: postgres-csv`},
	{name: "csv escape", clause: `(FORMAT csv, HEADER, ESCAPE '\', NULL 'NULL')`, settings: "dialect: spark, null_value: 'NULL'", sample: "postgres/copy-csv-escape.csv"},
	{name: "csv escape force", clause: `(FORMAT csv, FORCE_QUOTE *, ESCAPE '\')`, settings: "dialect: spark, header: 'no'"},
	{name: "csv single quote", clause: `(FORMAT csv, QUOTE '''', DELIMITER ';')`, settings: `dialect: postgres-csv, header: 'no', quote: "'", field_sep: ';'`},
	{name: "csv odd quote", clause: `(FORMAT csv, QUOTE '$', ESCAPE '^', DELIMITER '|', NULL '-')`, settings: `dialect: spark, header: 'no', quote: '$', escape: '^', field_sep: '|', null_value: '-'`},
	{name: "csv tab", clause: `(FORMAT csv, DELIMITER E'\t')`, settings: `dialect: postgres-csv, header: 'no', field_sep: '\t'`},
	{name: "binary", clause: "(FORMAT binary)", settings: "dialect: postgres", refused: true},
	{name: "csv gbk", clause: "(FORMAT csv, HEADER, ENCODING 'GBK')", settings: "dialect: postgres-csv, charset: gbk", sample: "postgres/copy-gbk.csv", charset: "gbk"},
	{name: "text gbk", clause: "(FORMAT text, ENCODING 'GBK')", settings: "dialect: postgres, charset: gbk", sample: "postgres/copy-gbk.txt", charset: "gbk"},
	{name: "text gbk bar", clause: "(FORMAT text, ENCODING 'GBK', DELIMITER '|')", settings: "dialect: postgres, charset: gbk, field_sep: '|'", sample: "postgres/copy-gbk.txt", charset: "gbk"},
	{name: "csv gbk escape bar", clause: `(FORMAT csv, ENCODING 'GBK', DELIMITER '|', ESCAPE '\')`, settings: "dialect: spark, header: 'no', charset: gbk, field_sep: '|'", sample: "postgres/copy-gbk.txt", charset: "gbk"},
	{name: "text gb18030", clause: "(FORMAT text, ENCODING 'GB18030')", settings: "dialect: postgres, charset: gb18030"},
	{name: "csv gb18030", clause: "(FORMAT csv, ENCODING 'GB18030')", settings: "dialect: postgres-csv, header: 'no', charset: gb18030"},
	{name: "text latin1", clause: "(FORMAT text, ENCODING 'LATIN1')", settings: "dialect: postgres, charset: iso-8859-1", charset: "latin1", random: true},
	{name: "csv latin1", clause: "(FORMAT csv, ENCODING 'LATIN1')", settings: "dialect: postgres-csv, header: 'no', charset: iso-8859-1", charset: "latin1", random: true},
	{name: "csv win1252", clause: "(FORMAT csv, ENCODING 'WIN1252')", settings: "dialect: postgres-csv, header: 'no', charset: windows-1252", charset: "latin1", random: true},
}

func emptyIsNull(v any) any {
	if v == "" {
		return nil
	}
	return v
}

func wordIsNull(word string) func(any) any {
	return func(v any) any {
		if v == word {
			return nil
		}
		return v
	}
}

// of returns the pieces that have only ASCII characters and the given others.
func of(pieces []string, more string) []string {
	return slices.DeleteFunc(slices.Clone(pieces), func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 && !strings.ContainsRune(more, r) })
	})
}

// TestPostgres reads the exports of PostgreSQL and its programs.
func TestPostgres(t *testing.T) {
	gate(t)
	p := startPostgres(t)
	awkward := expectedOf(t, "postgres/copy-csv.csv")
	p.fill(t, "t", postgresColumns, awkward)
	n := &tally{}
	defer n.log(t)
	all := slices.Concat(pieces, bare)
	kinds := map[string][]string{"": slices.Concat(all, wild), "gbk": of(all, "华东誠皘癅癪皛é ü"), "latin1": of(all, "éüß")}
	randoms := map[string]table{}
	for seed := range seeds {
		for charset, pieces := range kinds {
			name := fmt.Sprintf("r%s%d", charset, seed)
			randoms[name] = randomTable(seed, 100, pieces...)
			p.fill(t, name, postgresRandomColumns, randoms[name])
		}
	}
	// Tables are the awkward one, unless the form is for others, and the random ones of its character set.
	tables := func(f form, each func(name string, want table)) {
		if !f.random {
			want := awkward
			if f.sample != "" {
				want = expectedOf(t, f.sample)
			}
			if f.sample == "" {
				want = want.without(f.leave).as(f.change).ending(f.ends)
			}
			each("t", want)
		}
		for seed := range seeds {
			if name := fmt.Sprintf("r%s%d", f.charset, seed); !f.fixed && !f.refused {
				each(name, randoms[name].without(f.leave).as(f.change))
				each(name, randoms[name].without(f.leave).as(f.change).only("b"))
			}
		}
	}
	for _, f := range copies {
		t.Run("copy "+f.name, func(t *testing.T) {
			tables(f, func(name string, want table) {
				e := export{form: f, want: want, paths: []string{p.write(t, p.psql(t.Context(), "-c", "COPY ("+query(name, want)+") TO STDOUT WITH "+f.clause))}}
				n.check(t, e)
				if !f.refused && len(want.columns) > 1 {
					n.judgePostgres(t, p, e, name)
				}
			})
		})
	}
	clients := []form{
		{name: "csv", clause: "--csv", settings: "dialect: postgres-csv", sample: "postgres/psql.csv", change: emptyIsNull},
		{name: "csv null", clause: `--csv -P null=\N`, settings: `dialect: postgres-csv, null_value: '\N'`, change: wordIsNull(`\N`), random: true},
		{name: "csv tuples semicolon", clause: `--csv -t -P csv_fieldsep=;`, settings: `dialect: postgres-csv, field_sep: ';', header: 'no'`, sample: "postgres/psql.csv", change: emptyIsNull},
		{name: "unaligned", clause: `-A -F|`, settings: "dialect: postgres, field_sep: '|', escape: none, null_value: '', header: 'yes', skip_end: 1", sample: "postgres/psql-unaligned.txt", change: emptyIsNull,
			leave: func(s string) bool { return strings.ContainsAny(s, "|\n") }},
		{name: "unaligned tuples", clause: `-A -t -F|`, settings: "dialect: postgres, field_sep: '|', escape: none, null_value: ''", sample: "postgres/psql-unaligned.txt", change: emptyIsNull,
			leave: func(s string) bool { return strings.ContainsAny(s, "|\n") }},
		{name: "unaligned separators", clause: "-A -t -F\x1f -R\x1e -P null=NULL", settings: `dialect: hive, field_sep: '\x1f', record_sep: '\x1e', null_value: 'NULL'`, fixed: true, change: wordIsNull("NULL"), ends: "\n",
			leave: func(s string) bool { return strings.ContainsAny(s, "\x1e\x1f") }},
		{name: "aligned", settings: "dialect: postgres, field_sep: '|', escape: none, header: 'yes'", refused: true},
		{name: "html", clause: "-H", settings: "dialect: postgres-csv", refused: true},
	}
	for _, f := range clients {
		t.Run("psql "+f.name, func(t *testing.T) {
			tables(f, func(name string, want table) {
				args := strings.FieldsFunc(f.clause, func(r rune) bool { return r == ' ' })
				n.check(t, export{form: f, want: want, paths: []string{p.write(t, p.psql(t.Context(), append(args, "-c", query(name, want))...))}})
				if f.leave != nil && !f.fixed && name != "t" {
					full := randoms[name].as(f.change)
					n.lossyCheck(t, export{form: f, want: full, paths: []string{p.write(t, p.psql(t.Context(), append(args, "-c", query(name, full))...))}})
				}
			})
		})
	}
	for _, f := range []form{
		{name: "data", clause: "--data-only", settings: "dialect: postgres", refused: true},
		{name: "statements", clause: "--data-only --column-inserts", settings: "dialect: postgres", refused: true},
		{name: "tar", clause: "-Ft", settings: "dialect: postgres", refused: true},
		{name: "custom", clause: "-Fc", settings: "dialect: postgres", refused: true},
	} {
		t.Run("pg_dump "+f.name, func(t *testing.T) {
			n.check(t, export{form: f, want: awkward, paths: []string{p.write(t, p.client(t.Context(), "pg_dump", append(strings.Fields(f.clause), "-t", "t")...))}})
		})
	}
	// The rows of a dump, between COPY and the line \. after them, are in the format of COPY.
	t.Run("pg_dump rows", func(t *testing.T) {
		dump := p.write(t, p.client(t.Context(), "pg_dump", "--data-only", "-t", "t"))
		file := p.write(t, exec.CommandContext(t.Context(), "sh", "-c", `sed -n '/^COPY /,/^\\\.$/p' "$0" | sed '1d;$d'`, dump)) // the command in docs/sources.md
		n.check(t, export{form: form{settings: "dialect: postgres"}, want: awkward, paths: []string{file}})
	})
}

// judgePostgres copies the server's own file with the server, and counts whether the rows are those that it wrote.
func (n *tally) judgePostgres(t *testing.T, p *postgres, e export, name string) {
	t.Helper()
	data, err := os.ReadFile(e.paths[0])
	if err != nil {
		t.Fatal(err)
	}
	run(t, p.psql(t.Context(), "-c", "DROP TABLE IF EXISTS back", "-c", "CREATE TABLE back (LIKE "+name+")"))
	cmd := p.psql(t.Context(), "-c", "COPY back ("+strings.Join(e.want.columns, ",")+") FROM STDIN WITH "+strings.ReplaceAll(e.clause, ", FORCE_QUOTE *", ""))
	cmd.Stdin = bytes.NewReader(data)
	if _, err := try(cmd); err != nil {
		n.notReadBack++
		t.Logf("not read by COPY FROM: %s", firstLine(err.Error()))
		return
	}
	list := make([]string, len(e.want.columns))
	for i, c := range e.want.columns {
		list[i] = "encode(convert_to(" + c + "::text,'UTF8'),'hex')"
		if c == "flag" {
			list[i] = "encode(convert_to(left(flag::text,1),'UTF8'),'hex')"
		}
	}
	out := run(t, p.psql(t.Context(), "-At", "-F\t", "-P", "null=NULL", "-c", "SELECT "+strings.Join(list, ",")+" FROM back ORDER BY id"))
	if d := hexRows(t, out, e.want.columns).differs(e.want); d != "" {
		n.notReadBack++
		t.Logf("COPY FROM reads otherwise: %s", firstLine(d))
		return
	}
	n.readBack++
}
