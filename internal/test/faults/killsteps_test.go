package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
)

// Engine is the way to build the files of a killed command.
type Engine string

// The engines.
const (
	Alone  Engine = "one process"
	Shares Engine = "shares" // processes of plan, build --share, merge, and finally load or the command itself
	YARN   Engine = "YARN"
)

// killedBy returns the commands whose files an engine can build.
func killedBy(e Engine) []killedCommand {
	return slices.DeleteFunc(killedCommands(), func(c killedCommand) bool { return e != Alone && !c.shared })
}

// killStep is one of the commands that must end with 0 in sequence.
type killStep struct {
	kind    string // kind of work; kills are distributed over kinds
	args    []string
	journal bool
}

// name returns the name of the step, which is the same in all rounds.
func (r *KillRound) name(s killStep) string {
	if r.Engine == Alone {
		return r.Command
	}
	return fmt.Sprintf("%s by %s, %s", r.Command, r.Engine, s.kind)
}

// steps returns the commands that do, with the round's engine, the work of one process.
func (r *KillRound) steps(ctx context.Context, args []string) ([]killStep, error) {
	switch r.Engine {
	case Shares:
		return r.byShares(ctx, args)
	case YARN:
		r.earlier = map[string]bool{}
		all, err := r.lab.cluster.Containers()
		for _, c := range all {
			r.earlier[c.Container] = true
		}
		return []killStep{{args[0], append(args, "--engine=yarn", "--maps=2", "--reduces=2"), true}}, err
	}
	return []killStep{{args[0], args, true}}, nil
}

// byShares gives the plan the arguments of the build, and the last command those of the load.
func (r *KillRound) byShares(ctx context.Context, args []string) ([]killStep, error) {
	var built, loaded, memory []string
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--verify": // load verifies all rows, or none
		case "--memory":
			memory = []string{arg}
		case "--output":
			built, loaded = append(built, arg), append(loaded, arg)
		case "--state", "--staging", "--replace", "--max-deletes", "--into":
			loaded = append(loaded, arg)
		case "--input":
			table, is := strings.CutPrefix(value, "hbase:")
			if is {
				value = "snapshot:" + r.snapshotName()
				if err := r.snapshot(ctx, table); err != nil {
					return nil, err
				}
			}
			built = append(built, "--input="+value)
		default:
			built = append(built, arg)
		}
	}
	plan, rows, out := "--plan="+r.shared+"/plan", r.shared+"/rows", r.shared+"/hfiles"
	planning := killStep{"plan", slices.Concat([]string{"plan", "--out=" + r.shared + "/plan", "--split-size=16KiB"}, built), false}
	merge := []string{"merge", "--output=json", plan, "--shares=" + rows}
	if args[0] == "rekey" {
		planning = killStep{"plan", append(slices.Clone(args), "--plan", "--out="+r.shared+"/plan"), true}
	} else {
		merge = append(merge, "--out="+out)
	}
	steps := []killStep{planning}
	shares, merges := 1+r.rand.IntN(5), 1+r.rand.IntN(3)
	for _, k := range r.rand.Perm(shares) {
		of := fmt.Sprintf("--share=%d/%d", k+1, shares)
		steps = append(steps, killStep{"build", slices.Concat([]string{"build", "--output=json", plan, "--out=" + rows, of}, memory), false})
	}
	for _, k := range r.rand.Perm(merges) {
		steps = append(steps, killStep{"merge", append(slices.Clone(merge), fmt.Sprintf("--share=%d/%d", k+1, merges)), false})
	}
	if args[0] == "rekey" {
		return append(steps, killStep{"rekey", args, true}), nil
	}
	load := func(table, dir string) {
		steps = append(steps, killStep{"load", slices.Concat([]string{"load"}, loaded, []string{"--table=" + table, dir}), true})
	}
	switch r.Command {
	case "tables":
		for _, table := range r.tables {
			load(table, out+"/"+strings.ReplaceAll(table, ":", "_"))
		}
	case "table":
		load(r.tables[1], out)
	default:
		load(r.table, out)
	}
	return steps, nil
}

// snapshotName differs from the names that commands choose for themselves.
func (r *KillRound) snapshotName() string {
	return "before" + strings.NewReplacer(":", "", "-", "").Replace(r.table)
}

// snapshot takes the snapshot that shares read.
func (r *KillRound) snapshot(ctx context.Context, table string) error {
	name, err := loader.ParseTableName(table)
	if err != nil {
		return err
	}
	c, err := r.lab.env.Dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Snapshot(ctx, name, r.snapshotName(), 0)
}

// put writes a file next to the shares.
func (r *KillRound) put(name, text string) error {
	ctx := context.Background()
	fsys, dir, err := r.lab.env.Resolve(r.shared)
	if err == nil {
		err = fsys.MkdirAll(ctx, dir, 0o755)
	}
	if err != nil {
		return err
	}
	w, err := fsys.Create(ctx, path.Join(dir, name), hdfsio.CreateOptions{})
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Finish()
}

// shareFiles returns the files of the shares of a step that has no journal.
func (r *KillRound) shareFiles(ctx context.Context, s killStep) []string {
	if s.journal {
		return nil
	}
	fsys, dir, err := r.lab.env.Resolve(r.shared)
	if err != nil {
		return nil
	}
	all, _ := filesBelow(ctx, fsys, filepath.ToSlash(dir)) // it may change meanwhile
	return all
}
