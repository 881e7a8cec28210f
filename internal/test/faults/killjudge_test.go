package faults

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

func (r *KillRound) judge(ctx context.Context) error {
	if err := r.lab.Heal(ctx); err != nil {
		return err
	}
	last := len(r.Exits) - 1
	if r.Exits[last] != 0 && !r.Refused {
		r.problem("no way on by the same command: exit code %d: %s", r.Exits[last], r.Errors[len(r.Errors)-1])
	}
	for _, table := range r.tables {
		got, err := r.lab.admin(ctx, "digest", table)
		if err != nil {
			return fmt.Errorf("digest of %s: %w", table, err)
		}
		want := r.digests[table]
		if r.Refused && r.before != "" {
			want = r.before
		}
		if got != want {
			r.problem("%s has %s, want %s", table, got, want)
		}
		if r.command.once && !r.compacts {
			if err := r.judgeCells(ctx, table); err != nil {
				return err
			}
		}
	}
	return errors.Join(r.judgeExport(), r.judgeLeft(ctx))
}

// judgeCells compares the number of cells in the store files of a table.
func (r *KillRound) judgeCells(ctx context.Context, table string) error {
	files, err := r.lab.storeFiles(ctx, table)
	if err != nil {
		return err
	}
	var have int64
	for _, f := range files {
		have += f.cells
	}
	if have != r.cells[table] {
		r.problem("the store files of %s hold %d cells, want %d", table, have, r.cells[table])
	}
	return nil
}

// judgeLeft checks for files that the command should have removed.
func (r *KillRound) judgeLeft(ctx context.Context) error {
	fsys, _, err := r.lab.env.Resolve("hdfs:///")
	if err != nil {
		return err
	}
	qualifier := strings.TrimPrefix(r.table, "faults:") // names of snapshots have no namespace
	for dir, of := range map[string]string{
		"/hbase/.hbase-snapshot": qualifier, hbaseStaging: qualifier, killsRoot: path.Base(r.stage), r.stage: "",
	} {
		infos, err := fsys.ReadDir(ctx, dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, info := range infos {
			built := strings.HasSuffix(info.Name(), "-built") || info.Name() == path.Base(r.stage) && dir == killsRoot
			name := strings.NewReplacer(":", "_", "-", "_").Replace(info.Name())
			if built || !strings.Contains(name, strings.NewReplacer(":", "_", "-", "_").Replace(of)) {
				continue
			}
			if dir == hbaseStaging {
				// HBase chooses the name of its directory, and a process that is killed before the response does not
				// know it.
				if files, err := filesBelow(ctx, fsys, path.Join(dir, info.Name())); err != nil || len(files) == 0 {
					r.Empty++
					continue
				}
			}
			r.problem("left: %s/%s", dir, info.Name())
		}
	}
	spilled, err := os.ReadDir(r.spill())
	if err == nil && len(spilled) > 0 {
		r.problem("%d entries are left in the spill directory", len(spilled))
	}
	return err
}

// judgeExport compares the files of an export with the records of the table.
func (r *KillRound) judgeExport() error {
	if r.exported == "" {
		return nil
	}
	names, err := filepath.Glob(filepath.Join(r.exported, "part-*"))
	if err != nil {
		return err
	}
	var got []killRecord
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		lines, err := csv.NewReader(f).ReadAll()
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		for _, l := range lines[1:] {
			got = append(got, killRecord{l[len(l)-3], l[len(l)-2], l[len(l)-1]})
		}
	}
	order := func(a, b killRecord) int { return cmp.Compare(a.id, b.id) }
	want := slices.SortedFunc(slices.Values(r.want), order)
	slices.SortFunc(got, order)
	if !slices.Equal(got, want) {
		r.problem("the export has %d records, not the %d of the table, or others", len(got), len(want))
	}
	if left, _ := filepath.Glob(filepath.Join(r.exported, "_writing*")); len(left) > 0 {
		r.problem("left in the export: %v", left)
	}
	return nil
}
