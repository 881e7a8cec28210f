package exporters

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// sparks are versions of Spark with their Scala versions.
var sparks = [][2]string{{"3.5.7", "2.12"}}

// sparkJars returns a directory of Spark's jars. Maven downloads them once.
func sparkJars(t *testing.T, version, scala string) string {
	t.Helper()
	pom, err := filepath.Abs("testdata/spark/pom.xml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(pom)
	if err != nil {
		t.Fatal(err)
	}
	dir := cacheDir(t, fmt.Sprintf("spark-%s-%x", version, sha256.Sum256(text))[:len("spark-")+len(version)+9])
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		t.Fatal(err)
	}
	run(t, exec.CommandContext(t.Context(), "mvn", "-q", "-B", "-f", pom, "-Dspark.version="+version, "-Dscala.version="+scala, "dependency:copy-dependencies",
		"-DincludeScope=runtime", "-DoutputDirectory="+part))
	if err := os.Rename(part, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A script is a list of statements of Spark SQL, each with the export that it belongs to.
type script struct {
	dir   string
	lines bytes.Buffer
	of    []string // the export of each statement
	wrong map[string]string
}

var statementLines = strings.NewReplacer("\\", "\\\\", "\n", "\\n")

func (s *script) add(of, format string, args ...any) {
	s.lines.WriteString(statementLines.Replace(fmt.Sprintf(format, args...)) + "\n")
	s.of = append(s.of, of)
}

// run executes the statements in one Spark. wrong has its failures.
func (s *script) run(t *testing.T, version, scala string) {
	t.Helper()
	file := filepath.Join(s.dir, "statements")
	if err := os.WriteFile(file, s.lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"-Xmx2g", "-XX:+UseSerialGC", "-Duser.timezone=Asia/Shanghai", "-Dspark.master=local[1]", "-Dspark.app.name=exporters", "-Dspark.ui.enabled=false", "-Dspark.driver.host=localhost",
		"-Dspark.driver.bindAddress=127.0.0.1", "-Dspark.local.dir=" + s.dir, "-Dspark.sql.warehouse.dir=" + s.dir + "/warehouse", "-Dspark.sql.session.timeZone=Asia/Shanghai",
		"-Dspark.sql.shuffle.partitions=2", "-Dspark.sql.catalogImplementation=hive", "-Dderby.system.home=" + s.dir, "-Dspark.hadoop.hive.exec.dynamic.partition.mode=nonstrict",
		"-Dspark.hadoop.hive.exec.scratchdir=" + s.dir + "/scratch", "-Dspark.hadoop.javax.jdo.option.ConnectionURL=jdbc:derby:memory:metastore;create=true",
		"-Dspark.sql.ansi.enabled=false", "-XX:TieredStopAtLevel=1", "-Dspark.sql.codegen.wholeStage=false", "-Dspark.sql.codegen.factoryMode=NO_CODEGEN", "-Dspark.sql.adaptive.enabled=false", "-Dspark.sql.legacy.createHiveTableByDefault=false", "-Djava.io.tmpdir=" + s.dir, "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED"}
	for _, p := range []string{"java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util", "java.util.concurrent", "java.util.concurrent.atomic",
		"sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar"} {
		args = append(args, "--add-opens=java.base/"+p+"=ALL-UNNAMED")
	}
	source, err := filepath.Abs("testdata/spark/Statements.java")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "java", append(args, "-cp", sparkJars(t, version, scala)+"/*", source, file)...)
	cmd.Dir, cmd.SysProcAttr = s.dir, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := os.Create(filepath.Join(s.dir, "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = said.Close() }()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, said
	err = cmd.Run()
	s.wrong = map[string]string{}
	done := 0
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "version "):
			t.Log("Spark " + line)
			continue
		case strings.HasPrefix(line, "error "):
			s.wrong[s.of[done]] = line
		case line != "ok":
			continue
		}
		done++
	}
	if err != nil || done != len(s.of) {
		b, _ := os.ReadFile(said.Name())
		t.Fatalf("%d of %d statements: %v: %s", done, len(s.of), err, tail(string(b)))
	}
}

// view creates a view of a table from a file of JSON lines; types are those of its columns, in SQL.
func (s *script) view(t *testing.T, name, types string, tab table) {
	t.Helper()
	var b bytes.Buffer
	for _, row := range tab.rows {
		m := map[string]any{}
		for i, c := range tab.columns {
			m[c] = row[i]
		}
		line, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	file := filepath.Join(s.dir, name+".rows")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	list := make([]string, 0, len(tab.columns))
	for column := range strings.SplitSeq(types, ", ") {
		c, kind, _ := strings.Cut(column, " ")
		list = append(list, fmt.Sprintf("CAST(%s AS %s) AS %s", c, kind, c))
	}
	s.add("view", "CREATE TEMPORARY VIEW raw_%s (%s STRING) USING json OPTIONS (path '%s')", name, strings.Join(tab.columns, " STRING, "), file)
	s.add("view", "CREATE TEMPORARY VIEW %s AS SELECT %s FROM raw_%s", name, strings.Join(list, ", "), name)
}

// write writes rows with Spark in a form, into a directory, which it returns. more is inserted before FROM.
func (s *script) write(f form, name, types string, rows table) string {
	dir := filepath.Join(s.dir, "out", strings.ReplaceAll(f.name, " ", "-")+"-"+name)
	if rows.numbers != "" {
		dir += "-one"
	}
	id := f.name + "/" + dir
	using, options, _ := strings.Cut(f.clause, " ")
	list := strings.Join(rows.columns, ", ") + f.more
	for _, set := range f.set {
		s.add(id, "SET %s", set)
	}
	switch {
	case using == "hive" || len(f.partitions) > 0:
		table := fmt.Sprintf("h%d", len(s.of))
		columns := []string{}
		for column := range strings.SplitSeq(types, ", ") {
			if c, _, _ := strings.Cut(column, " "); strings.Contains(", "+list+",", ", "+c+",") && !(using == "hive" && len(f.partitions) > 0 && strings.Contains(" dt region ", " "+c+" ")) {
				columns = append(columns, column)
			}
		}
		by := ""
		if len(f.partitions) > 0 {
			by = "PARTITIONED BY (" + strings.Join(f.partitions, ", ") + ")"
		}
		if using == "hive" {
			s.add(id, "CREATE TABLE %s (%s) %s %s LOCATION '%s'", table, strings.Join(columns, ", "), by, options, dir)
		} else {
			s.add(id, "CREATE TABLE %s (%s) USING %s %s %s LOCATION '%s'", table, strings.Join(columns, ", "), using, options, by, dir)
		}
		s.add(id, "INSERT INTO %s SELECT %s FROM %s WHERE id IN (%s)", table, list, name, rows.ids())
	default:
		s.add(id, "INSERT OVERWRITE DIRECTORY '%s' USING %s %s SELECT %s FROM %s WHERE id IN (%s)", dir, using, options, list, name, rows.ids())
	}
	for _, set := range f.set {
		key, _, _ := strings.Cut(set, "=")
		s.add(id, "RESET %s", key)
	}
	return dir
}

const (
	sparkColumns       = "id BIGINT, check_id STRING, name STRING, amount DECIMAL(18,2), n BIGINT, d DATE, ts TIMESTAMP, flag BOOLEAN, remark STRING"
	hiveColumns        = "id BIGINT, check_id STRING, name STRING, amount DECIMAL(18,2), n BIGINT, d DATE, ts TIMESTAMP, flag BOOLEAN, remark STRING"
	sparkRandomColumns = "id BIGINT, a STRING, b STRING, c STRING"
)

// A written is a Spark export that was written, with its check.
type written struct {
	id string
	e  export
}

// TestSpark reads the exports of Spark, and of Hive's SerDes in it.
func TestSpark(t *testing.T) {
	gate(t)
	for _, v := range sparks {
		t.Run(v[0], func(t *testing.T) { testSpark(t, v[0], v[1]) })
	}
}

func testSpark(t *testing.T, version, scala string) {
	s := &script{dir: t.TempDir()}
	awkward := samplesTable(t, "expected.jsonl")
	s.view(t, "t", sparkColumns, awkward)
	parts := expectedOf(t, "spark/part-parquet", append(awkward.columns, "dt", "region")...)
	for i, row := range parts.rows { // its times are in UTC
		n, err := strconv.Atoi(row[0].(string))
		if err != nil {
			t.Fatal(err)
		}
		parts.rows[i] = append(slices.Clone(awkward.rows[n-1]), row[len(row)-2:]...)
	}
	s.view(t, "p", sparkColumns+", dt STRING, region STRING", parts)
	randoms := map[string]table{}
	all := append(append(append([]string{}, pieces...), bare...), wild...)
	for seed := range (seeds + 1) / 2 { // a statement of Spark takes long
		for charset, pieces := range map[string][]string{"": all, "gbk": of(all, "华东誠皘癅癪皛é ü"), "latin1": of(all, "éüß")} {
			name := fmt.Sprintf("r%s%d", charset, seed)
			randoms[name] = randomTable(seed, 100, pieces...)
			s.view(t, name, sparkRandomColumns, randoms[name])
		}
		name := fmt.Sprintf("p%d", seed)
		randoms[name] = partTable(seed)
		s.view(t, name, sparkRandomColumns+", dt STRING, region STRING", randoms[name])
	}
	var exports []written
	add := func(f form, name, types string, want table, from table) {
		dir := s.write(f, name, types, from)
		exports = append(exports, written{f.name + "/" + dir, export{form: f, want: want, paths: []string{dir}, sorted: true}})
	}
	for _, f := range sparkForms {
		if f.only != "" && !strings.HasPrefix(version, f.only) || !regexp.MustCompile(os.Getenv("BULKLOAD_EXPORTERS_FORMS")).MatchString(f.name) {
			continue
		}
		switch {
		case len(f.partitions) > 0:
			want := expectedOf(t, f.sample, parts.columns...)
			add(f, "p", sparkColumns+", dt STRING, region STRING", want, want)
			for seed := range (seeds + 1) / 2 { // a statement of Spark takes long
				name := fmt.Sprintf("p%d", seed)
				tab := randoms[name].without(f.leave)
				add(f, name, sparkRandomColumns+", dt STRING, region STRING", tab.as(f.change).partitioned(), tab)
			}
			continue
		case !f.random:
			want := awkward.without(f.leave).as(f.fixedChange)
			if f.sample != "" {
				want = expectedOf(t, f.sample)
			}
			add(f, "t", sparkColumns, want, want)
		}
		for seed := range (seeds + 1) / 2 { // a statement of Spark takes long
			if f.refused || f.fixed {
				continue
			}
			name := fmt.Sprintf("r%s%d", f.charset, seed)
			tab := randoms[name].without(f.leave)
			add(f, name, sparkRandomColumns, tab.as(f.change), tab)
			if seed == 0 && f.more == "" && (strings.HasPrefix(f.clause, "csv") || strings.HasPrefix(f.clause, "hive")) {
				add(f, name, sparkRandomColumns, f.lines(tab.only("b").as(f.change)), tab.only("b"))
			}
		}
	}
	s.run(t, version, scala)
	if w := s.wrong["view"]; w != "" {
		t.Fatal(w)
	}
	n := &tally{}
	defer n.log(t)
	for _, w := range exports {
		t.Run(strings.ReplaceAll(w.e.name, " ", "-")+"/"+filepath.Base(w.e.paths[0]), func(t *testing.T) {
			if said := s.wrong[w.id]; said != "" {
				if w.e.unwritable {
					t.Skipf("Spark cannot write it: %.300s", said)
				}
				t.Fatalf("Spark cannot write it: %.600s", said)
			}
			e := w.e
			if len(e.want.columns) == 1 {
				e.sorted = false
			}
			n.check(t, e)
		})
	}
}
