package faults

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// content is an allowed final content of the table: the rows of one state of the input, over the earlier rows.
type content struct {
	what    string
	rows    []row // of the job
	digest  string
	cells   int64 // in store files
	records int64
}

// deliver adds the content that an input produces.
func (r *round) deliver(d *delivery, what string) {
	rows := d.rows(r.job.Spec.Regions, r.job.Store)
	r.contents = append(r.contents, r.content(what, rows, nil))
}

// content returns the content with rows over other rows of the job, which an earlier attempt has loaded, over the
// rows before the job.
func (r *round) content(what string, rows, beneath []row) content {
	return content{what: what, rows: rows, digest: digest(overlay(r.others, beneath, rows), family),
		cells: r.before + countCells(beneath) + countCells(rows), records: int64(len(rows))}
}

// overlay returns the visible rows of layers of rows. Later layers hide the cells of earlier ones.
func overlay(layers ...[]row) []row {
	at := map[string]int{}
	var all []row
	for _, rows := range layers {
		for _, top := range rows {
			i, ok := at[top.key]
			if !ok {
				at[top.key] = len(all)
				all = append(all, top)
				continue
			}
			cells := slices.Clone(top.cells)
			for _, c := range all[i].cells {
				if !slices.ContainsFunc(cells, func(t cell) bool { return t.qualifier == c.qualifier }) {
					cells = append(cells, c)
				}
			}
			slices.SortFunc(cells, func(a, b cell) int { return cmp.Compare(a.qualifier, b.qualifier) })
			all[i].cells = cells
		}
	}
	sortRows(all)
	return all
}

// within returns the rows of a region.
func within(rows []row, g region) (some []row) {
	for _, r := range rows {
		if r.key >= g.start && (g.end == "" || r.key < g.end) {
			some = append(some, r)
		}
	}
	return some
}

// survey determines the rows that the job has loaded before it starts over, which stay in the table below the new ones: in
// each region nothing, or all of one content. It computes the contents that the table may have after the restart.
func (r *round) survey(ctx context.Context, o *Outcome) error {
	regions, err := r.lab.regions(ctx, r.table)
	if err != nil {
		return err
	}
	files, err := r.lab.storeFiles(ctx, r.table)
	if err != nil {
		return fmt.Errorf("store files: %w", err)
	}
	// If two contents have the same number of cells in a region, either may be there: all the first, or all the last.
	var first, last []row
	for _, g := range regions {
		n := -countCells(within(r.others, g))
		for _, f := range files {
			if f.region == g.name {
				n += f.cells
			}
		}
		if n == 0 {
			continue
		}
		var fit [][]row
		for _, c := range r.contents {
			if rows := within(c.rows, g); countCells(rows) == n {
				fit = append(fit, rows)
			}
		}
		if len(fit) == 0 {
			o.problem("before the restart the store files of region %s held %d cells of the job, as no state of the input has", g.name, n)
			continue
		}
		first, last = append(first, fit[0]...), append(last, fit[len(fit)-1]...)
	}
	now := r.contents[len(r.contents)-1]
	r.contents = []content{r.content(now.what+", restarted", now.rows, first)}
	if len(last) > 0 {
		r.contents = append(r.contents, r.content(now.what+", restarted", now.rows, last))
	}
	return nil
}
