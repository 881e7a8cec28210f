package build

import (
	"context"
	"errors"
	"path"

	"bulkload/pkg/hdfsio"
)

// Policies are the storage policies of files on HDFS.
type Policies struct {
	Of      map[string]string                                           // by family; none: inherited from the parent directory
	Refused func(ctx context.Context, family, policy string, err error) // called for a policy that HDFS does not accept; may be nil
}

// WritingOf returns the directory of a family's incomplete files: files with a storage policy have a directory of their own, because
// blocks stay where they are when a file is renamed.
func (o Output) WritingOf(family string) string {
	if o.Policies.Of[family] == "" {
		return o.writing()
	}
	return path.Join(o.writing(), family)
}

// SetPolicy creates the directory of a family's incomplete files, if the family has a storage policy, and sets the policy on it and on the
// family's directory, which must exist. A policy that HDFS does not accept, or for which no DataNode has disks, is skipped.
func (o Output) SetPolicy(ctx context.Context, family string) error {
	policy := o.Policies.Of[family]
	if policy == "" {
		return nil
	}
	if err := o.Mkdir(ctx, o.WritingOf(family)); err != nil {
		return err
	}
	err := o.trySetting(ctx, family, policy)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if o.Policies.Refused != nil {
		o.Policies.Refused(ctx, family, policy, err)
	}
	if err := o.FS.RemoveAll(ctx, path.Join(o.Dir, o.WritingOf(family))); err != nil {
		return err
	}
	return o.Mkdir(ctx, o.WritingOf(family))
}

// trySetting sets the policy and writes a byte.
func (o Output) trySetting(ctx context.Context, family, policy string) error {
	p, ok := o.FS.(hdfsio.PolicySetter)
	if !ok {
		return errors.ErrUnsupported
	}
	writing := path.Join(o.Dir, o.WritingOf(family))
	if err := p.SetStoragePolicy(ctx, writing, policy); err != nil {
		return err
	}
	name := path.Join(writing, "_try")
	w, err := o.FS.Create(ctx, name, hdfsio.CreateOptions{Perm: o.FileMode})
	if err != nil {
		return err
	}
	if _, err = w.Write([]byte{0}); err == nil {
		err = w.Finish()
	}
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	if err := o.FS.Remove(ctx, name); err != nil {
		return err
	}
	return p.SetStoragePolicy(ctx, path.Join(o.Dir, family), policy)
}
