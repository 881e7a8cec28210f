package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// killedCommand is a command that a [KillRound] kills: its preconditions, its arguments, and the expected result after it
// has ended with 0.
type killedCommand struct {
	name string
	// prepare creates the command's input, and returns its arguments.
	prepare func(ctx context.Context, r *KillRound) ([]string, error)
	// once means that store files have each cell of the tables once, so that their number can be compared.
	once bool
	// shared means that several processes can also build the files: shares, and tasks on YARN.
	shared bool
	// mayRefuse means that a refusal with exit code 3 is right after a compaction, if the table is unchanged.
	mayRefuse bool
}

// killedCommands returns the commands that change a table or write files, one of each kind.
func killedCommands() []killedCommand {
	return []killedCommand{
		{name: "run", prepare: prepareRun, once: true, shared: true},
		{name: "tables", prepare: prepareTables, once: true, shared: true},
		{name: "replace", prepare: prepareReplace, shared: true},
		{name: "into", prepare: prepareInto, shared: true},
		{name: "rekey", prepare: prepareRekey, once: true, shared: true},
		{name: "undo", prepare: prepareUndo, mayRefuse: true},
		{name: "export", prepare: prepareExport},
		{name: "load", prepare: prepareLoad, once: true},
		{name: "table", prepare: prepareTable, once: true, shared: true},
		{name: "compare", prepare: prepareCompare},
		{name: "restore", prepare: prepareRestore},
	}
}

// killRecord is one line of an export with the columns id, k and v.
type killRecord struct{ id, k, v string }

// drawRecords draws records with unique ids.
func (r *KillRound) drawRecords(n int) []killRecord {
	ids := map[string]bool{}
	var all []killRecord
	for len(all) < n {
		id := fmt.Sprintf("%06d", r.rand.IntN(1_000_000))
		if ids[id] {
			continue
		}
		ids[id] = true
		all = append(all, killRecord{id, fmt.Sprintf("k%d", r.rand.IntN(50)), r.text()})
	}
	return all
}

func (r *KillRound) text() string {
	b := make([]byte, 1+r.rand.IntN(30))
	for i := range b {
		b[i] = 'a' + byte(r.rand.IntN(26))
	}
	return string(b)
}

// changed returns old without some records, with some changed, and with new ones.
func (r *KillRound) changed(old []killRecord) []killRecord {
	var all []killRecord
	taken := map[string]bool{}
	for _, rec := range old {
		taken[rec.id] = true
		switch r.rand.IntN(4) {
		case 0: // gone
		case 1:
			all = append(all, killRecord{rec.id, rec.k, r.text()})
		default:
			all = append(all, rec)
		}
	}
	for _, rec := range r.drawRecords(1 + len(old)/4) {
		if !taken[rec.id] {
			all = append(all, rec)
		}
	}
	return all
}

// plainRows returns the rows of records in a table with the given key.
func plainRows(records []killRecord, key func(killRecord) string) []row {
	var rows []row
	for _, rec := range records {
		rows = append(rows, row{key(rec), []cell{{"id", rec.id}, {"k", rec.k}, {"v", rec.v}}})
	}
	sortRows(rows)
	return rows
}

func byID(rec killRecord) string { return rec.id }

// writeInput writes records into a file.
func (r *KillRound) writeInput(name string, records []killRecord) (string, error) {
	var b strings.Builder
	b.WriteString("id,k,v\n")
	for _, rec := range records {
		fmt.Fprintf(&b, "%s,%s,%s\n", rec.id, rec.k, rec.v)
	}
	if r.Engine == YARN {
		return r.shared + "/" + name, r.put(name, b.String())
	}
	file := filepath.Join(r.dir, name)
	return file, os.WriteFile(file, []byte(b.String()), 0o644)
}

// loadArgs returns the arguments of a run that loads a file into the round's table.
func (r *KillRound) loadArgs(input string, more ...string) []string {
	return append([]string{"run", "--output=json", "--table=" + r.table, "--family=" + family, "--key=id", "--columns=id,k,v", "--header=first",
		"--format=csv", "--input=" + input, "--state=" + r.state, "--staging=" + r.stage,
		"--memory=" + oneOf(r.rand, "24MiB", "64MiB"), "--verify=" + oneOf(r.rand, "sample", "full", "files")}, more...)
}

// loaded creates the table with some records.
func (r *KillRound) loaded(ctx context.Context) ([]killRecord, error) {
	old := r.drawRecords(r.size)
	input, err := r.writeInput("old.csv", old)
	if err != nil {
		return nil, err
	}
	if err := r.create(ctx, r.table); err != nil {
		return nil, err
	}
	_, err = r.give(ctx, r.loadArgs(input, "--verify=off")...)
	return old, err
}

func prepareRun(ctx context.Context, r *KillRound) ([]string, error) {
	records := r.drawRecords(r.size)
	input, err := r.writeInput("in.csv", records)
	if err != nil {
		return nil, err
	}
	r.expect(r.table, plainRows(records, byID))
	return r.loadArgs(input), r.create(ctx, r.table)
}

func prepareTables(ctx context.Context, r *KillRound) ([]string, error) {
	byK, byV := r.table+"_k", r.table+"_v"
	job := fmt.Sprintf(`table: %s
family: %s
columns: [id, k, v]
key: id
tables:
  - table: %s
    key: k + "|" + id
    columns: [id]
  - index: by_v
    table: %s
    key: v + "|" + id
    covers: [k]
`, r.table, family, byK, byV)
	file := filepath.Join(r.dir, "job.yaml")
	records := r.drawRecords(r.size)
	input, err := r.writeInput("in.csv", records)
	if err := errors.Join(err, os.WriteFile(file, []byte(job), 0o644)); err != nil {
		return nil, err
	}
	var k, v []row
	for _, rec := range records {
		k = append(k, row{rec.k + "|" + rec.id, []cell{{"id", rec.id}}})
		v = append(v, row{rec.v + "|" + rec.id, []cell{{"_row", rec.id}, {"k", rec.k}}})
	}
	sortRows(k)
	sortRows(v)
	r.expect(r.table, plainRows(records, byID))
	r.expect(byK, k)
	r.expect(byV, v)
	for _, table := range []string{r.table, byK, byV} {
		if err := r.create(ctx, table); err != nil {
			return nil, err
		}
	}
	return []string{"run", "--output=json", "--job=" + file, "--header=first", "--format=csv", "--input=" + input, "--state=" + r.state,
		"--staging=" + r.stage, "--memory=64MiB", "--verify=" + oneOf(r.rand, "sample", "full")}, nil
}

func prepareReplace(ctx context.Context, r *KillRound) ([]string, error) {
	old, err := r.loaded(ctx)
	if err != nil {
		return nil, err
	}
	records := r.changed(old)
	input, err := r.writeInput("in.csv", records)
	r.expect(r.table, plainRows(records, byID))
	return r.loadArgs(input, "--verify=sample", "--replace", "--max-deletes=100%"), err
}

func prepareInto(ctx context.Context, r *KillRound) ([]string, error) {
	old, err := r.loaded(ctx)
	if err != nil {
		return nil, err
	}
	records := r.changed(old)
	input, err := r.writeInput("in.csv", records)
	r.expect(r.table, plainRows(old, byID))
	r.expect(r.table+"_new", plainRows(records, byID))
	return r.loadArgs(input, "--verify=full", "--replace", "--into="+r.table+"_new", "--max-deletes=100%"), err
}

func prepareRekey(ctx context.Context, r *KillRound) ([]string, error) {
	old, err := r.loaded(ctx)
	r.expect(r.table, plainRows(old, byID))
	r.expect(r.table+"_new", plainRows(old, func(rec killRecord) string { return rec.v + "|" + rec.id }))
	return []string{"rekey", "--output=json", "--from=" + r.table, "--to=" + r.table + "_new", "--key=v + '|' + id", "--state=" + r.state,
		"--staging=" + r.stage, "--memory=64MiB"}, err
}

func prepareUndo(ctx context.Context, r *KillRound) ([]string, error) {
	old, with, args, err := r.loadedTwice(ctx)
	r.before = digest(with, family)
	r.expect(r.table, old)
	return append(args, "--staging="+r.stage), err
}

// prepareRestore prepares the undo of a load by a snapshot, in place or into a new table. The snapshot's name differs
// from the names that commands choose.
func prepareRestore(ctx context.Context, r *KillRound) ([]string, error) {
	snapshot := "before" + strings.NewReplacer(":", "", "-", "").Replace(r.table)
	old, with, args, err := r.loadedTwice(ctx, "--snapshot="+snapshot)
	args = append(args, "--by=snapshot")
	if into := oneOf(r.rand, "", "", r.table+"_new"); into != "" {
		r.expect(r.table, with)
		r.expect(into, old)
		return append(args, "--into="+into), err
	}
	r.expect(r.table, old)
	return args, err
}

// loadedTwice creates the table with some records and loads others over them. It returns the rows before and after the second load, and the command
// that undoes it.
func (r *KillRound) loadedTwice(ctx context.Context, more ...string) (old, with []row, undo []string, err error) {
	first, err := r.loaded(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	records := r.changed(first)
	input, err := r.writeInput("in.csv", records)
	if err != nil {
		return nil, nil, nil, err
	}
	out, err := r.give(ctx, r.loadArgs(input, append(more, "--verify=off", "--job-id=second")...)...)
	if err != nil {
		return nil, nil, nil, err
	}
	var result struct{ Job string }
	lines := strings.Split(strings.TrimSpace(out), "\n")
	err = json.Unmarshal([]byte(lines[len(lines)-1]), &result)
	return plainRows(first, byID), overlay(plainRows(first, byID), plainRows(records, byID)), []string{"undo", "--output=json", "--job=" + filepath.Base(result.Job), "--state=" + r.state}, err
}

func prepareExport(ctx context.Context, r *KillRound) ([]string, error) {
	old, err := r.loaded(ctx)
	r.expect(r.table, plainRows(old, byID))
	r.exported, r.want = filepath.Join(r.dir, "out"), old
	return []string{"export", r.table, "--output=json", "--to=" + r.exported, "--format=csv", "--state=" + r.state,
		"--columns=" + family + ":id," + family + ":k," + family + ":v"}, err
}

func prepareLoad(ctx context.Context, r *KillRound) ([]string, error) {
	records := r.drawRecords(r.size)
	input, err := r.writeInput("in.csv", records)
	if err != nil {
		return nil, err
	}
	if err := r.create(ctx, r.table); err != nil {
		return nil, err
	}
	out := oneOf(r.rand, filepath.Join(r.dir, "hfiles"), "hdfs://"+r.stage+"-built/hfiles")
	// Other boundaries than the table's: some files must be split.
	_, err = r.give(ctx, "build", "--output=json", "--table="+r.table, "--family="+family, "--key=id", "--columns=id,k,v", "--header=first",
		"--format=csv", "--input="+input, "--out="+out, "--splits="+oneOf(r.rand, "3,6", "25,5,75", strings.Join(splits(10), ",")))
	r.expect(r.table, plainRows(records, byID))
	return []string{"load", "--output=json", "--table=" + r.table, "--state=" + r.state, "--staging=" + r.stage, out}, err
}

func prepareTable(ctx context.Context, r *KillRound) ([]string, error) {
	old, err := r.loaded(ctx)
	if err != nil {
		return nil, err
	}
	other := r.table + "_new"
	r.expect(r.table, plainRows(old, byID))
	r.expect(other, plainRows(old, func(rec killRecord) string { return rec.v + "|" + rec.id }))
	return []string{"run", "--output=json", "--table=" + other, "--family=" + family, "--key=v + '|' + id",
		"--columns=id,k,v", "--input=hbase:" + r.table, "--state=" + r.state, "--staging=" + r.stage,
		"--memory=64MiB", "--verify=" + oneOf(r.rand, "sample", "full", "files")}, r.create(ctx, other)
}

// prepareCompare prepares the repair of a table that lacks some rows of another table, has additional rows, and has
// other values.
func prepareCompare(ctx context.Context, r *KillRound) ([]string, error) {
	old, err := r.loaded(ctx)
	if err != nil {
		return nil, err
	}
	other := r.table + "_new"
	input, err := r.writeInput("in.csv", r.changed(old))
	if err == nil {
		err = r.create(ctx, other)
	}
	if err != nil {
		return nil, err
	}
	r.expect(r.table, plainRows(old, byID))
	r.expect(other, plainRows(old, byID))
	_, err = r.give(ctx, r.loadArgs(input, "--verify=off", "--table="+other)...)
	return []string{"compare", r.table, other, "--output=json", "--repair-b", "--state=" + r.state, "--staging=" + r.stage, "--memory=64MiB"}, err
}

// drawUpheaval draws a change of the table or the cluster between two attempts.
func drawUpheaval(r *rand.Rand) string {
	return oneOf(r, "", "", Split, Merge, compactAll, RSKill)
}

// compactAll is a major compaction of the table.
const compactAll = "compact"
