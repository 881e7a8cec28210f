package exporters

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// mariadb is a private MariaDB server.
type mariadb struct {
	dir, files string
	env        []string
}

func startMariaDB(t *testing.T) *mariadb {
	t.Helper()
	dir := newPlace(t)
	m := &mariadb{dir: dir}
	m.env = debian(t, filepath.Join(dir, "unpacked"), "mariadb", "mariadb-server-core", "mariadb-client-core", "mariadb-client", "libmariadb3")
	data := ownDir(t, dir, "data")
	m.files = ownDir(t, dir, "files")
	share := filepath.Join(dir, "unpacked/usr/share/mysql")
	server := unprivileged(exec.Command(filepath.Join(dir, "unpacked/usr/sbin/mariadbd"), "--no-defaults", "--skip-grant-tables", "--skip-networking", "--datadir="+data,
		"--socket="+m.socket(), "--pid-file="+dir+"/files/pid", "--tmpdir="+m.files, "--lc-messages-dir="+share, "--character-sets-dir="+share+"/charsets", "--innodb-flush-log-at-trx-commit=0",
		"--innodb-buffer-pool-size=32M", "--character-set-server=utf8mb4", "--max-allowed-packet=64M", "--default-time-zone=+00:00", "--sql-mode=STRICT_ALL_TABLES"))
	server.Env, server.Dir = append(m.env, "UMASK=0644"), data
	serve(t, server, syscall.SIGTERM, func(ctx context.Context) error {
		_, err := try(m.client(ctx, "", "-e", "CREATE DATABASE IF NOT EXISTS x"))
		return err
	})
	t.Logf("MariaDB %s", strings.TrimSpace(string(run(t, m.client(t.Context(), "", "-NBe", "SELECT VERSION()")))))
	return m
}

func (m *mariadb) socket() string { return m.dir + "/files/socket" }

func (m *mariadb) charsets() string { return filepath.Join(m.dir, "unpacked/usr/share/mysql/charsets") }

// client runs the mariadb client with one or more statements.
func (m *mariadb) client(ctx context.Context, database string, args ...string) *exec.Cmd {
	if database != "" {
		args = append(args, database)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(m.dir, "unpacked/usr/bin/mariadb"),
		append([]string{"--no-defaults", "--socket=" + m.socket(), "--default-character-set=utf8mb4", "--character-sets-dir=" + m.charsets(), "--max-allowed-packet=64M"}, args...)...)
	cmd.Env = m.env
	return cmd
}

// exec executes statements.
func (m *mariadb) exec(t *testing.T, sql string) {
	t.Helper()
	cmd := m.client(t.Context(), "x")
	cmd.Stdin = strings.NewReader(sql)
	run(t, cmd)
}

// fill makes a table.
func (m *mariadb) fill(t *testing.T, name, columns string, tab table) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s (%s) CHARACTER SET utf8mb4;\n", name, columns)
	for _, row := range tab.rows {
		fmt.Fprintf(&b, "INSERT INTO %s VALUES (%s);\n", name, sqlRow(row, func(s string) string { return "CONVERT(X'" + hex.EncodeToString([]byte(s)) + "' USING utf8mb4)" }))
	}
	m.exec(t, b.String())
}

func sqlRow(row []any, text func(string) string) string {
	values := make([]string, len(row))
	for i, v := range row {
		if values[i] = "NULL"; v != nil {
			values[i] = text(v.(string))
		}
	}
	return strings.Join(values, ",")
}

// contents returns the rows of a table in the hexadecimal output of its client.
func (m *mariadb) contents(t *testing.T, name string, columns ...string) table {
	t.Helper()
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = "HEX(CONVERT(" + c + " USING utf8mb4))"
	}
	return hexRows(t, run(t, m.client(t.Context(), "x", "-NBe", "SELECT "+strings.Join(list, ",")+" FROM "+name+" ORDER BY id")), columns)
}

// hexRows returns rows with tabs between values in hexadecimal, and NULL.
func hexRows(t *testing.T, out []byte, columns []string) table {
	t.Helper()
	tab := table{columns: columns}
	for line := range strings.Lines(string(out)) {
		row := []any{}
		for _, v := range strings.Split(strings.TrimSuffix(line, "\n"), "\t") {
			b, err := hex.DecodeString(v)
			if v == "NULL" {
				row = append(row, nil)
			} else if err != nil {
				t.Fatalf("%q: %v", v, err)
			} else {
				row = append(row, string(b))
			}
		}
		tab.rows = append(tab.rows, row)
	}
	return tab
}

const (
	mariaColumns  = "id bigint primary key, check_id varchar(32), name text, amount decimal(18,2), n bigint, d date, ts datetime(6), flag tinyint, remark longtext"
	randomColumns = "id bigint primary key, a text, b text, c text"
)

// outfiles are forms of SELECT … INTO OUTFILE.
var outfiles = []form{
	{name: "default", settings: "dialect: mysql", sample: "mysql/outfile-default.txt"},
	{name: "optionally enclosed", clause: `FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '"'`, settings: "dialect: mysql-csv", sample: "mysql/outfile-csv.csv"},
	{name: "enclosed", clause: `FIELDS TERMINATED BY ',' ENCLOSED BY '"'`, settings: "dialect: mysql-csv"},
	{name: "enclosed crlf", clause: `FIELDS TERMINATED BY ';' ENCLOSED BY '"' LINES TERMINATED BY X'0D0A'`, settings: `dialect: mysql-csv, field_sep: ';', record_sep: '\r\n'`},
	{name: "enclosed single", clause: `FIELDS TERMINATED BY '|' ENCLOSED BY ''''`, settings: `dialect: mysql-csv, field_sep: '|', quote: "'"`},
	{name: "soh", clause: `FIELDS TERMINATED BY X'01'`, settings: `dialect: mysql, field_sep: '\x01'`, sample: "mysql/outfile-soh.txt"},
	{name: "as hive", clause: `FIELDS TERMINATED BY X'01' LINES TERMINATED BY X'02'`, settings: `dialect: mysql, field_sep: '\x01', record_sep: '\x02'`},
	{name: "crlf", clause: `LINES TERMINATED BY X'0D0A'`, settings: `dialect: mysql, record_sep: '\r\n'`},
	{name: "multibyte", clause: `FIELDS TERMINATED BY '@|@' LINES TERMINATED BY X'2340230A'`, settings: `dialect: mysql, field_sep: '@|@', record_sep: '#@#\n'`, sample: "mysql/outfile-multibyte.txt"},
	{name: "bars", clause: `FIELDS TERMINATED BY '||'`, settings: `dialect: mysql, field_sep: '||'`},
	{name: "bars enclosed", clause: `FIELDS TERMINATED BY '||' OPTIONALLY ENCLOSED BY '"' LINES TERMINATED BY X'21210A'`, settings: `dialect: mysql-csv, field_sep: '||', record_sep: '!!\n'`},
	{name: "escape bang", clause: `FIELDS TERMINATED BY ',' ESCAPED BY '!'`, settings: `dialect: mysql, field_sep: ',', escape: '!', null_value: '!N'`},
	{name: "escape bang enclosed", clause: `FIELDS TERMINATED BY ',' ENCLOSED BY '"' ESCAPED BY '!'`, settings: `dialect: mysql-csv, escape: '!', null_value: '!N'`},
	{name: "no escape", clause: `FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '"' ESCAPED BY '' LINES TERMINATED BY X'0D0A'`,
		settings: `dialect: mysql-csv, escape: none, quotes: lenient, null_value: 'NULL', record_sep: '\r\n'`, sample: "mysql/outfile-noescape.csv",
		leave: func(s string) bool {
			return strings.Contains(s, `",`) || strings.Contains(s, "\"\r\n") || strings.Contains(s, "\"\n")
		}},
	{name: "no escape plain", clause: `FIELDS TERMINATED BY ',' ESCAPED BY ''`, settings: `dialect: mysql, field_sep: ',', escape: none, null_value: 'NULL'`, random: true,
		leave: func(s string) bool { return strings.ContainsAny(s, ",\n") || s == "NULL" }},
	{name: "escaped by quote", clause: `FIELDS TERMINATED BY ',' ENCLOSED BY '"' ESCAPED BY '"'`, settings: "dialect: mysql-csv", refused: true},
	{name: "gbk", clause: `CHARACTER SET gbk`, settings: "dialect: mysql, charset: gbk", sample: "mysql/outfile-gbk.txt", charset: "gbk"},
	{name: "gbk enclosed", clause: `CHARACTER SET gbk FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '"'`, settings: "dialect: mysql-csv, charset: gbk", sample: "mysql/outfile-gbk.csv", charset: "gbk"},
	{name: "gbk bar", clause: `CHARACTER SET gbk FIELDS TERMINATED BY '|'`, settings: "dialect: mysql, field_sep: '|', charset: gbk", sample: "mysql/outfile-gbk-pipe.txt", charset: "gbk"},
	{name: "gbk bars enclosed", clause: `CHARACTER SET gbk FIELDS TERMINATED BY '||' ENCLOSED BY '"'`, settings: "dialect: mysql-csv, field_sep: '||', charset: gbk", sample: "mysql/outfile-gbk.csv", charset: "gbk"},
	{name: "big5", clause: `CHARACTER SET big5`, settings: "dialect: mysql, charset: big5", charset: "big5", random: true},
	{name: "latin1", clause: `CHARACTER SET latin1`, settings: "dialect: mysql, charset: latin1", sample: "mysql/outfile-latin1.txt", charset: "latin1"},
	{name: "utf8mb4", clause: `CHARACTER SET utf8mb4 FIELDS TERMINATED BY ',' ENCLOSED BY '"'`, settings: "dialect: mysql-csv"},
	{name: "utf16", clause: `CHARACTER SET utf16`, settings: "dialect: mysql, charset: utf-16be", refused: true},
	{name: "utf16 enclosed", clause: `CHARACTER SET utf16 FIELDS TERMINATED BY ',' ENCLOSED BY '"'`, settings: "dialect: mysql-csv, charset: utf-16be", refused: true},
}

// TestMariaDB reads the exports of MariaDB and its programs.
func TestMariaDB(t *testing.T) {
	gate(t)
	m := fillMariaDB(t)
	defer m.tally.log(t)
	for i, f := range outfiles {
		t.Run("outfile "+f.name, func(t *testing.T) { m.outfileIsRead(t, i, f) })
	}
	for _, f := range batchForms() {
		t.Run(f.name, func(t *testing.T) { m.batchIsRead(t, f) })
	}
	for i, f := range dumpForms() {
		t.Run(f.name, func(t *testing.T) { m.dumpIsRead(t, i, f) })
	}
	t.Run("dump of statements", m.statementsAreRefused)
}

// filledMariaDB is a server with tables and their exports.
type filledMariaDB struct {
	*mariadb
	tally   *tally
	awkward table            // table t
	randoms map[string]table // tables of random rows
}

// fillMariaDB starts a server with tables.
func fillMariaDB(t *testing.T) *filledMariaDB {
	t.Helper()
	m := &filledMariaDB{mariadb: startMariaDB(t), tally: &tally{}, awkward: expectedOf(t, "mysql/outfile-default.txt"), randoms: map[string]table{}}
	m.fill(t, "t", mariaColumns, m.awkward)
	for seed := range seeds {
		name := fmt.Sprintf("r%d", seed)
		m.randoms[name] = randomTable(seed, 100, append(append([]string{"\x00"}, wild...), append(pieces, bare...)...)...)
		m.fill(t, name, randomColumns, m.randoms[name])
	}
	return m
}

// outfileIsRead checks that the output of SELECT INTO OUTFILE is read correctly, by the reader here and by LOAD DATA.
func (m *filledMariaDB) outfileIsRead(t *testing.T, i int, f form) {
	if !f.random {
		e := export{form: f, want: m.awkward}
		if f.sample != "" && !f.refused {
			e.want = expectedOf(t, f.sample)
		}
		if f.sample == "" {
			e.want = e.want.without(f.leave)
		}
		e.paths = []string{m.outfile(t, fmt.Sprintf("t.%d", i), "t", f.clause, e.want)}
		m.tally.check(t, e)
		m.tally.judge(t, m.mariadb, e, mariaColumns, f.clause)
	}
	for name, tab := range m.randoms {
		if f.refused {
			continue
		}
		want := m.converted(t, name, f.charset, tab).without(f.leave)
		e := export{form: f, want: want, paths: []string{m.outfile(t, fmt.Sprintf("%s.%d", name, i), name, f.clause, want)}}
		m.tally.check(t, e)
		m.tally.judge(t, m.mariadb, e, randomColumns, f.clause)
		one := want.only("b")
		m.tally.check(t, export{form: f, want: one, paths: []string{m.outfile(t, fmt.Sprintf("%s.%d.one", name, i), name, f.clause, one)}})
		if f.leave != nil {
			e.want = tab
			e.paths[0] = m.outfile(t, fmt.Sprintf("%s.%d.all", name, i), name, f.clause, tab)
			m.tally.lossyCheck(t, e)
		}
	}
}

// batchForms returns forms of the client's output.
func batchForms() []form {
	return []form{
		{name: "batch", clause: "-B", settings: "dialect: mysql-batch", sample: "mysql/batch.tsv"},
		{name: "batch without names", clause: "-B -N", settings: "dialect: mysql-batch, header: 'no'", sample: "mysql/batch.tsv"},
		{name: "batch gbk", clause: "-B -N --default-character-set=gbk", settings: "dialect: mysql-batch, header: 'no', charset: gbk", sample: "mysql/batch-gbk.tsv", charset: "gbk"},
		{name: "batch raw", clause: "-B --raw", settings: "dialect: mysql-batch, escape: none", refused: true},
		{name: "table", clause: "--table", settings: "dialect: mysql-batch", refused: true},
		{name: "xml", clause: "--xml", settings: "dialect: mysql-batch", refused: true},
	}
}

// batchIsRead checks that the output of the client is read correctly.
func (m *filledMariaDB) batchIsRead(t *testing.T, f form) {
	e := export{form: f, want: m.awkward}
	if f.sample != "" {
		e.want = expectedOf(t, f.sample)
	}
	e.paths = []string{m.batch(t, "t", f, e.want)}
	m.tally.check(t, e)
	for name, tab := range m.randoms {
		if f.refused {
			continue
		}
		e := export{form: f, want: m.converted(t, name, f.charset, tab).as(func(v any) any {
			if v == "NULL" {
				return nil
			}
			return v
		})}
		e.paths = []string{m.batch(t, name, f, tab)}
		m.tally.check(t, e)
		one := e.want.only("b")
		m.tally.check(t, export{form: f, want: one, paths: []string{m.batch(t, name, f, one)}})
	}
}

// dumpForms returns forms of mariadb-dump.
func dumpForms() []form {
	return []form{
		{name: "dump", settings: "dialect: mysql"},
		{name: "dump enclosed", clause: `--fields-terminated-by=, --fields-enclosed-by="`, settings: "dialect: mysql-csv"},
		{name: "dump bar", clause: `--fields-terminated-by=| --lines-terminated-by=0x1e0a`, settings: `dialect: mysql, field_sep: '|', record_sep: '\x1e\n'`},
	}
}

// dumpIsRead checks that the text files of a dump are read correctly.
func (m *filledMariaDB) dumpIsRead(t *testing.T, i int, f form) {
	dir := ownDir(t, m.files, fmt.Sprintf("dump%d", i))
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(m.dir, "unpacked/usr/bin/mariadb-dump"),
		append(append([]string{"--no-defaults", "--socket=" + m.socket(), "--character-sets-dir=" + m.charsets(), "--order-by-primary", "--tab=" + dir}, strings.Fields(f.clause)...), "x")...)
	cmd.Env = m.env
	run(t, cmd)
	m.tally.check(t, export{form: f, want: m.awkward, paths: []string{dir + "/t.txt"}})
	for name, tab := range m.randoms {
		m.tally.check(t, export{form: f, want: tab, paths: []string{dir + "/" + name + ".txt"}})
	}
}

// statementsAreRefused checks that a dump of SQL statements is refused in every dialect.
func (m *filledMariaDB) statementsAreRefused(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), filepath.Join(m.dir, "unpacked/usr/bin/mariadb-dump"), "--no-defaults", "--socket="+m.socket(), "--no-create-info", "x", "t")
	cmd.Env = m.env
	name := filepath.Join(t.TempDir(), "t.sql")
	if err := os.WriteFile(name, run(t, cmd), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, settings := range []string{"dialect: mysql", "dialect: mysql-csv", "dialect: mysql-batch", ""} {
		m.tally.check(t, export{form: form{settings: settings, refused: true}, want: m.awkward, paths: []string{name}})
	}
}

// seeds is the number of random tables: BULKLOAD_EXPORTERS_SEEDS, or 2.
var seeds = func() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("BULKLOAD_EXPORTERS_SEEDS"), 10, 16); err == nil {
		return n
	}
	return 2
}()

// converted returns the server's conversion of a random table's values to a character set: a question mark replaces
// characters that the set does not have.
func (m *mariadb) converted(t *testing.T, name, charset string, tab table) table {
	t.Helper()
	if charset == "" {
		return tab
	}
	list := []string{"HEX(id)"}
	for _, c := range tab.columns[1:] {
		list = append(list, fmt.Sprintf("HEX(CONVERT(CONVERT(%s USING %s) USING utf8mb4))", c, charset))
	}
	list[0] = "HEX(CONVERT(id USING utf8mb4))"
	return hexRows(t, run(t, m.client(t.Context(), "x", "-NBe", "SELECT "+strings.Join(list, ",")+" FROM "+name+" ORDER BY id")), tab.columns)
}

// outfile writes rows to a file with the server.
func (m *mariadb) outfile(t *testing.T, file, name, clause string, rows table) string {
	t.Helper()
	file = filepath.Join(m.files, file)
	charset := ""
	if rest, ok := strings.CutPrefix(clause, "CHARACTER SET "); ok {
		charset, clause, _ = strings.Cut(rest, " ")
		charset = "CHARACTER SET " + charset
	}
	m.exec(t, fmt.Sprintf("SELECT %s INTO OUTFILE '%s' %s %s FROM %s WHERE id IN (%s) ORDER BY id;", strings.Join(rows.columns, ","), file, charset, clause, name, rows.ids()))
	return file
}

// batch writes rows to a file with the client.
func (m *mariadb) batch(t *testing.T, name string, f form, rows table) string {
	t.Helper()
	cmd := m.client(t.Context(), "x", append(strings.Fields(f.clause), "-e", query(name, rows))...)
	file := filepath.Join(t.TempDir(), name+".tsv")
	if err := os.WriteFile(file, run(t, cmd), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// judge loads the server's own file with the server, and counts whether the rows are those that it wrote.
func (n *tally) judge(t *testing.T, m *mariadb, e export, columns, clause string) {
	t.Helper()
	charset := "CHARACTER SET utf8mb4"
	if rest, ok := strings.CutPrefix(clause, "CHARACTER SET "); ok {
		charset, clause, _ = strings.Cut(rest, " ")
		charset = "CHARACTER SET " + charset
	}
	cmd := m.client(t.Context(), "x")
	cmd.Stdin = strings.NewReader(fmt.Sprintf("DROP TABLE IF EXISTS back; CREATE TABLE back (%s) CHARACTER SET utf8mb4; LOAD DATA INFILE '%s' INTO TABLE back %s %s;", columns, e.paths[0], charset, clause))
	if _, err := try(cmd); err != nil {
		n.notReadBack++
		t.Logf("not read by LOAD DATA: %s", firstLine(err.Error()))
		return
	}
	if d := m.contents(t, "back", e.want.columns...).differs(e.want); d != "" {
		n.notReadBack++
		t.Logf("LOAD DATA reads otherwise: %s", firstLine(d))
		return
	}
	n.readBack++
}
