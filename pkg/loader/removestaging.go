package loader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// ErrStaged says that a file is in a staging directory of HBase: a region server may be about to take it, and there may be no other copy.
var ErrStaged = errors.New("a file is in it")

// RemoveStaging has HBase delete the staging directory that a load or a check has left, if it holds no file. A missing directory is not an
// error.
func (c *Cluster) RemoveStaging(ctx context.Context, fsys FS, table TableName, token string) error {
	err := c.removeStaging(ctx, fsys, table, token)
	if err != nil {
		err = fmt.Errorf("HBase's staging directory %s: %w", token, err)
	}
	return err
}

func (c *Cluster) removeStaging(ctx context.Context, fsys FS, table TableName, token string) error {
	if err := checkToken(token); err != nil {
		return err
	}
	dir := fsPath(token)
	families, err := fsys.ReadDir(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, family := range families {
		if !family.IsDir() {
			return fmt.Errorf("%s: %w", family.Name(), ErrStaged)
		}
		files, err := fsys.ReadDir(ctx, dir+"/"+family.Name())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if len(files) > 0 {
			return fmt.Errorf("%s/%s: %w", family.Name(), files[0].Name(), ErrStaged)
		}
	}
	if err := c.Cleanup(ctx, table, token); err != nil {
		return fmt.Errorf("%w (delete it as HBase's user)", err)
	}
	return nil
}
