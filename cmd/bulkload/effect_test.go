package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/cli/session"
	"bulkload/internal/cli/ui"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"

	"github.com/spf13/pflag"
)

// effectInputs are the input files of the command lines of effects.
var effectInputs = map[string]string{
	"in.csv": "id,v,w\na,1,x\nb,,y\nc,3,z\n", "dup.csv": "id,v\na,1\na,2\n", "bad.csv": "id,v\na,1\nb\n", "none.csv": "",
	"bare.csv": "a,1\nb,2\n", "start.csv": "x\nid,v\na,1\n", "end.csv": "id,v\na,1\nx\n", "comment.csv": "id,v\n#a,1\nb,2\n", "semi.csv": "id;v\na;1\n",
	"trim.csv": "id,v\na , 1\n", "null.csv": "id,v\na,NULL\nb,\"NULL\"\n", "quote.csv": "id,v\na,'1,2'\n", "lenient.csv": "id,v\na,b\"c\n", "escape.csv": "id,v\na,1\\,2\n", "map.csv": "id,v\na,1\\n2\n",
	"records.csv": "id,v|a,1|", "rest.csv": "id,v\na,1,2\n", "fixed.txt": "a1\nb2\n", "gbk.csv": "id,v\na,\xc4\xe3\n", "tabs.txt": "a\t1\n", "json.txt": `{"id":"a","v":1}` + "\n",
	"dt=1/in.csv": "id,v\na,1\n", "dt=2/in.csv": "id,v\nb,2\n", "lacking/1.csv": "id,v\na,1\n", "lacking/2.csv": "id\nb\n", "list": "in.csv\n", "salt": "0123456789abcdef",
	"id.yaml": "key: id\n", "times.yaml": "key: id\ncell_timestamp: {column: v, layout: unixms}\n", "check.yaml": "columns: [id, v]\nkey: id\nheader: no\n",
}

// effects has, for each flag, the additional arguments and the flag that show its effect.
var effects = map[string]string{
	"allow-empty": "--input=none.csv --allow-empty", "bad-records": "--input=bad.csv --bad-records=1", "block-size": "--input=long.csv --block-size=1KiB", "bloom": "--input=long.csv --bloom=NONE",
	"compression": "--input=long.csv --compression=NONE", "compression-level": "--input=long.csv --compression=GZ --compression-level=better", "encoding": "--input=long.csv --encoding=NONE",
	"charset": "--input=gbk.csv --charset=gbk", "columns": "--columns=id", "comment": "--input=comment.csv --comment=#", "dialect": "--input=tabs.txt --columns=id,v --header=no --dialect=mysql",
	"empty": "--empty=store", "escape": `--input=escape.csv --escape=\`, "escape-map": `--input=map.csv --escape=\ --escape-map=mysql`, "extra": "--columns=id,v --extra=ignore",
	"field-sep": "--input=semi.csv --field-sep=;", "filter": "--filter=v!='1'", "format": "--input=json.txt --columns=id,v --format=csv", "header": "--input=bare.csv --columns=id,v --header=no",
	"input": "--input=bare.csv", "inputs-from": "--inputs-from=list", "job": "--job=check.yaml", "key": "--key=w", "last-column": "--input=rest.csv --last-column=rest",
	"missing": "--input=lacking --missing=null", "null-value": "--input=null.csv --null-value=NULL", "null-quoted": "--input=null.csv --null-value=NULL --null-quoted=yes",
	"partitions": "--input=dt=1 --partitions=off", "where": "--input=. --where=dt=1", "positions": "--input=fixed.txt --header=no --positions=id=1,v=2", "query": "--query=v",
	"quote": "--input=quote.csv --quote='", "quotes": "--input=lenient.csv --quotes=lenient", "record-length": "--input=fixed.txt --header=no --positions=id=1,v=2 --record-length=3",
	"record-sep": "--input=records.csv --format=dump --header=no --columns=id,v --field-sep=, --record-sep=|", "salt-buckets": "--key=salt(id)+id --salt-buckets=3", "salt-file": "--filter=salted(id)!='' --salt-file=salt", "skip-end": "--input=end.csv --skip-end=1",
	"skip-lines": "--input=start.csv --skip-lines=1", "table": "--table=t", "family": "--input=long.csv --family=longer", "trim": "--input=trim.csv --trim=both",
	// There is no table among the inputs.
	"from-key": "--from-key=a", "to-key": "--to-key=b", "key-prefix": "--key-prefix=a", "start-row": "--start-row=a", "stop-row": "--stop-row=b", "row-prefix": "--row-prefix=a",
	"since": "--since=1", "until": "--until=2", "only": "--only=f", "input-versions": "--input-versions=2", "parse": "--parse=id", "read-by": "--read-by=scan",
}

// effectsOf has the effects of one command, which override those of all commands.
var effectsOf = map[string]map[string]string{
	"plan": {
		"engine": "--engine=yarn", "map-memory": "--engine=yarn --map-memory=3GiB", "reduce-memory": "--engine=yarn --reduce-memory=3GiB", "maps": "--engine=yarn --maps=7", "reduces": "--engine=yarn --splits=b --reduces=2",
		"max-file-size": "--max-file-size=1GiB", "skew": "--skew=9", "suggest": "--suggest=3", "svg": "--svg=plan.svg", "splits": "--splits=b", "replace": "--table=t --replace",
		"max-deletes": "--table=t --replace --max-deletes=7", "into": "--table=t --replace --into=u", "table-splits": "--table-splits=t=a", "out": "--out=p.json",
		// The shares use the job's settings in the plan.
		"duplicates": "--input=dup.csv --out=p.json --duplicates=last", "expect-records": "--out=p.json --expect-records=9", "timestamp": "--out=p.json --timestamp=77",
		"versions": "--job=times.yaml --input=dup.csv --out=p.json --duplicates=versions --versions=2", "split-size": "--input=long.csv --out=p.json --split-size=4KiB",
	},
	"build": {
		"duplicates": "--input=dup.csv --duplicates=last", "expect-records": "--expect-records=9", "timestamp": "--timestamp=77", "versions": "--job=times.yaml --input=dup.csv --duplicates=versions --versions=2",
		"out": "--out=elsewhere", "splits": "--splits=b", "table-splits": "--table-splits=t=a", "plan": "--plan=p.json", "share": "--share=1/1", "only-between": "--only-between=x",
		"reject-file": "--input=bad.csv --bad-records=1 --reject-file=r.jsonl", "filtered-file": "--filter=v!='1' --filtered-file=f.jsonl", "duplicates-file": "--input=dup.csv --duplicates=last --duplicates-file=d.jsonl",
		"report": "--report=r.html", "metrics-file": "--metrics-file=m.prom", "openlineage": "--openlineage=l.jsonl",
		"metrics-push": "--metrics-push=x:y", "listen": "--listen=x",
	},
	"inspect": {
		"sample": "--input=long.csv --sample=100B", "values": "--values", "write": "--write=job.yaml", "profile": "--profile", "hide": "--profile --hide=v",
		"report": "--profile --report=r.html", "job": "--profile --job=check.yaml", "columns": "--profile --job=id.yaml --columns=id", "dialect": "--profile --job=id.yaml --dialect=mysql",
		"format": "--input=json.txt --profile --job=id.yaml --columns=id,v --format=csv", "positions": "--input=fixed.txt --profile --job=id.yaml --header=no --positions=id=1,v=2",
		"record-length": "--input=fixed.txt --profile --job=id.yaml --header=no --positions=id=1,v=2 --record-length=3",
		"bad-records":   "--input=bad.csv --profile --job=id.yaml --bad-records=1", "escape": `--input=escape.csv --profile --job=id.yaml --escape=\`, "extra": "--profile --job=id.yaml --columns=id --extra=ignore",
		"field-sep": "--input=semi.csv --profile --job=id.yaml --field-sep=;", "header": "--profile --job=id.yaml --columns=id,v,w --header=no", "missing": "--input=lacking --profile --job=id.yaml --missing=null",
		"null-value": "--input=null.csv --profile --job=id.yaml --null-value=NULL", "null-quoted": "--input=null.csv --profile --job=id.yaml --null-value=NULL --null-quoted=yes",
		"quote": "--input=quote.csv --profile --job=id.yaml --quote='",
	},
}

// withoutEffect are flags that leave no trace in the output of a small job, and their purposes.
var withoutEffect = map[string]string{
	"config output show-data log-level log-format quiet cpuprofile memprofile trace date time-zone": "of every command",
	"zookeeper znode hdfs principal keytab ticket-cache user endpoint":                              "whom a command asks, and as who",
	"memory workers spill-dir spill-limit upload-limit upload-streams":                              "how the work is done, with the same result",
	"exact profile-share": "all of a small input is read without the one, and with the other",
	"result-file metrics-label report-records openlineage-job": "TestScripts shows what they write",
	"progress stalled-after":                                   "what is shown while a job works",
}

// effectBases are command lines that succeed.
var effectBases = map[string][]string{
	"plan":    {"plan", "--output=json", "--workers=1", "--timestamp=5", "--splits=m"},
	"build":   {"build", "--output=json", "--workers=1", "--timestamp=5", "--out=out", "--progress=off", "--report=off"},
	"inspect": {"inspect", "--output=json", "--workers=1"},
}

// TestEffects checks that each flag of these commands changes their result, or has a reason. A job file serves several commands, so it may have
// settings that one of them does not use; flags without an effect are not offered.
func TestEffects(t *testing.T) {
	race.Plain(t)
	for _, name := range []string{"HADOOP_CONF_DIR", "HBASE_CONF_DIR", "OPENLINEAGE_URL", "BULKLOAD_METRICS_PUSH"} {
		t.Setenv(name, "")
	}
	excused := map[string]bool{"help": true}
	for flags := range withoutEffect {
		for _, name := range strings.Fields(flags) {
			excused[name] = true
		}
	}
	for _, command := range slices.Sorted(maps.Keys(effectBases)) {
		t.Run(command, func(t *testing.T) {
			t.Chdir(t.TempDir())
			writeEffectInputs(t)
			cmd, _, err := newRootCmd(&globals{}).Find([]string{command})
			testcheck.Must(t, err)
			testcheck.Must(t, cmd.ParseFlags(nil))
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				line, ok := effectsOf[command][f.Name]
				if !ok {
					line, ok = effects[f.Name]
				}
				switch {
				case f.Hidden || excused[f.Name] && !ok:
				case !ok:
					t.Errorf("--%s has no command line here that shows what it does, and no reason", f.Name)
				default:
					checkEffect(t, command, f.Name, strings.Fields(line))
				}
			})
		})
	}
}

// TestWithoutEffect checks that these flags have no effect, also where no small job could show one.
func TestWithoutEffect(t *testing.T) {
	for command, flags := range map[string]string{
		"plan":  "reject-file filtered-file duplicates-file verify replicate phoenix-indexes replace-rejected",
		"build": "verify replicate phoenix-indexes query max-deletes",
		"check": "reject-file filtered-file duplicates-file query",
		"run":   "query",
		"load":  "report-records reject-file",
	} {
		cmd, _, err := newRootCmd(&globals{}).Find([]string{command})
		testcheck.Must(t, err)
		for _, flag := range strings.Fields(flags) {
			if cmd.Flags().Lookup(flag) != nil {
				t.Errorf("%s offers --%s, which changes nothing there", command, flag)
			}
		}
	}
}

// checkEffect runs a command with and without its last argument.
func checkEffect(t *testing.T, command, flag string, more []string) {
	t.Helper()
	last := len(more) - 1
	if !strings.HasPrefix(more[last]+"=", "--"+flag+"=") {
		t.Fatalf("%q does not end with --%s", more, flag)
	}
	args := slices.Clone(effectBases[command])
	inputs := slices.ContainsFunc(more, func(a string) bool { return strings.HasPrefix(a, "--input=") || strings.HasPrefix(a, "--inputs-from=") })
	switch {
	case command == "inspect":
		for i, a := range more {
			more[i] = strings.TrimPrefix(a, "--input=")
		}
		if !inputs {
			args = append(args, "in.csv")
		}
	case command != "inspect":
		args = append(args, "--key=id")
		if !inputs || flag == "input" {
			args = append(args, "--input=in.csv")
		}
	}
	without := resultOf(t, append(slices.Clone(args), more[:last]...))
	if flag == "job" { // once for each command: times are removed
		if again := resultOf(t, append(slices.Clone(args), more[:last]...)); again != without {
			t.Fatalf("%q: two runs differ:\n%s\n%s", append(args, more[:last]...), without, again)
		}
	}
	if with := resultOf(t, append(slices.Clone(args), more...)); with == without {
		t.Errorf("%s: %q does what it does without the last: %s", command, more, with)
	}
}

func writeEffectInputs(t *testing.T) {
	long := "id,v\n"
	for i := range 3000 {
		long += fmt.Sprintf("%05d,%x\n", i, sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
	}
	for name, text := range effectInputs {
		testcheck.Must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		testcheck.Must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	testcheck.Must(t, os.WriteFile("long.csv", []byte(long), 0o600))
}

// resultOf returns the result of a command: its error, its output, and its files, which are removed. Times are left
// out.
func resultOf(t *testing.T, args []string) string {
	t.Helper()
	var out, all bytes.Buffer
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	testcheck.Must(t, err)
	defer null.Close()
	g := &globals{Program: session.Program{Console: &ui.Console{File: null}}}
	root := newRootCmd(g)
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&bytes.Buffer{})
	err = errors.Join(root.ExecuteContext(context.Background()), g.Print(io.Discard, nil, func(io.Writer) {}))
	fmt.Fprintf(&all, "%v\n%s", err, timeless(out.Bytes()))
	testcheck.Must(t, filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		_, known := effectInputs[name]
		if err != nil || d.IsDir() || known || name == "long.csv" {
			return err
		}
		b, err := os.ReadFile(name)
		switch filepath.Ext(name) {
		case ".html", ".jsonl", ".prom":
			b = nil
		case ".json":
			b = timeless(b)
		}
		fmt.Fprintf(&all, "\n%s %x", name, sha256.Sum256(b))
		return err
	}))
	entries, err := os.ReadDir(".")
	testcheck.Must(t, err)
	for _, e := range entries {
		name := e.Name()
		if _, known := effectInputs[name]; !known && name != "long.csv" && !slices.Contains([]string{"dt=1", "dt=2", "lacking"}, name) {
			testcheck.Must(t, os.RemoveAll(name))
		}
	}
	return all.String()
}

// timeless returns a JSON object without the fields that differ between two runs of the same job.
func timeless(text []byte) []byte {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return text
	}
	var drop func(v any)
	drop = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				drop(x)
			}
		case map[string]any:
			for name, x := range v {
				if strings.HasSuffix(name, "_ns") || name == "checksum" {
					delete(v, name)
				}
				drop(x)
			}
		}
	}
	drop(v)
	text, _ = json.Marshal(v)
	return text
}
