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

// format gives the NameNode an empty file system. It is a copy, with new names, of one that the first cluster of a machine has formatted,
// since formatting in a JVM takes a tenth of a cluster's start. With two NameNodes the edit log is formatted too, which requires a JVM.
func (c *Cluster) format(ctx context.Context) error {
	name := c.layout.name(NameNode)
	if c.state.HA {
		if err := c.formatBy(ctx); err != nil {
			return err
		}
		// The effect of -bootstrapStandby, without a second JVM.
		if err := os.CopyFS(c.layout.name(NameNode.Nth(2)), os.DirFS(name)); err != nil {
			return fmt.Errorf("copy the namenode's image for the second one: %w", err)
		}
		return nil
	}
	// The root directory belongs to the user that runs the NameNode.
	sum := sha256.Sum256(fmt.Appendf(nil, "%s kerberos %t", c.hdfsLib, c.state.Security.Kerberos))
	blank, err := cached(ctx, fmt.Sprintf("blank-%x", sum[:6]), func(part string) error {
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

// formatBy runs the NameNode's own format, preceded by these arguments.
func (c *Cluster) formatBy(ctx context.Context, args ...string) error {
	argv := slices.Concat(c.command(NameNode), args, []string{"-format", "-nonInteractive"})
	if _, err := c.spawner.output(ctx, nil, argv, c.daemonEnvironment()); err != nil {
		return fmt.Errorf("format the test cluster's namenode: %w", err)
	}
	return nil
}

var clusterNames = regexp.MustCompile(`(?m)^(clusterID=CID-|blockpoolID=BP-)[^-\n]+`)

// rename gives a copied file system its own cluster ID and block pool ID, so that DataNodes of other clusters cannot
// be confused with its own.
func rename(version string) error {
	text, err := os.ReadFile(version)
	if err != nil {
		return err
	}
	return os.WriteFile(version, clusterNames.ReplaceAll(text, []byte("${1}"+rand.Text())), 0o644)
}
