package testcluster

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// format gives the NameNode an empty file system: one that the first cluster of a machine has formatted, under names of its own, since a JVM
// that formats takes a tenth of what a cluster's start takes. With two NameNodes the edit log is formatted too, which a JVM has to do.
func (c *Cluster) format(ctx context.Context) error {
	name := c.layout.name(NameNode)
	if c.state.HA {
		if err := c.formatBy(ctx); err != nil {
			return err
		}
		// What -bootstrapStandby does, without a second JVM.
		if err := os.CopyFS(c.layout.name(NameNode.Nth(2)), os.DirFS(name)); err != nil {
			return fmt.Errorf("copy the namenode's image for the second one: %w", err)
		}
		return nil
	}
	root, err := cacheRoot()
	if err != nil {
		return err
	}
	// The root directory is that of the user as whom the NameNode runs.
	sum := sha256.Sum256(fmt.Appendf(nil, "%s kerberos %t", c.hdfsLib, c.state.Security.Kerberos))
	blank := filepath.Join(root, fmt.Sprintf("blank-%x", sum[:6]))
	err = fillOnce(ctx, blank, func(part string) error {
		return c.formatBy(ctx, "-D", "dfs.namenode.name.dir=file://"+filepath.Join(part, "name"))
	})
	if err != nil {
		return err
	}
	if err := os.CopyFS(name, os.DirFS(filepath.Join(blank, "name"))); err != nil {
		return fmt.Errorf("copy an empty image for the namenode: %w", err)
	}
	return rename(filepath.Join(name, "current", "VERSION"))
}

// formatBy runs the NameNode's own format with these arguments before it.
func (c *Cluster) formatBy(ctx context.Context, args ...string) error {
	argv := slices.Concat(c.command(NameNode), args, []string{"-format", "-nonInteractive"})
	if _, err := c.spawner.output(ctx, nil, argv, c.daemonEnvironment()); err != nil {
		return fmt.Errorf("format the test cluster's namenode: %w", err)
	}
	return nil
}

var clusterNames = regexp.MustCompile(`(?m)^(clusterID=CID-|blockpoolID=BP-)[^-\n]+`)

// rename gives a file system that was copied a cluster and a block pool of its own, so that no DataNode of another one is taken for its own.
func rename(version string) error {
	text, err := os.ReadFile(version)
	if err != nil {
		return err
	}
	return os.WriteFile(version, clusterNames.ReplaceAll(text, []byte("${1}"+rand.Text())), 0o644)
}
