package jobtest

import (
	"context"

	"bulkload/pkg/source"
)

// Texts reads inputs: the values of each row by column, nil for NULL, split after split.
func Texts(ctx context.Context, in *source.Input) (rows []map[string]any, err error) {
	r := in.NewReader()
	for split := range in.Splits() {
		err := r.Read(ctx, split, func(b *source.Batch) error {
			for i := range b.Rows {
				row := map[string]any{}
				for c, name := range in.Columns() {
					if row[name] = nil; !b.Null(i, c) {
						row[name] = string(b.Field(i, c))
					}
				}
				rows = append(rows, row)
			}
			return nil
		})
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}
