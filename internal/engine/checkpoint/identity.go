package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/streams"
	"bulkload/pkg/loader"
)

// Identity identifies a job. Two jobs are the same if they have the same
//
//   - HBase cluster, by its id, whatever addresses lead to it;
//   - table, with or without the default namespace;
//   - family and key, however the key is spaced;
//   - further tables, with their families, keys and names of indexes;
//   - inputs in the same order, by the places that they name: a local path made
//     absolute, a path on HDFS with the nameservice or the NameNode's address and
//     port, both without dots and double slashes; standard input and descriptors that
//     the shell opened by their ordinal;
//   - caller's ID, see [Options].
//
// Names of the same place that only the file system or the name service can
// recognize as equal, such as a symbolic link and its target, or a host and its
// address, make different jobs. How the inputs are read is part of the plan, see
// [readingRecord].
type Identity struct {
	Table string // as in the names of its directories
	rest  string // hexadecimal digest of all parts except the cluster
	ID    string // digest of all parts; empty while the cluster is unknown
	Old   string // the digest of earlier versions, of the texts as they were given
	given string // the table as it was given, for directory names of earlier versions

	Cluster string // id of the connected cluster; empty: the job needs none, or has several
}

// Identify returns the identity of a job whose cluster is not known yet.
func Identify(env *cluster.Env, s spec.Job, word string) (Identity, error) {
	name, err := loader.ParseTableName(s.Table)
	if err != nil {
		return Identity{}, fail.With(fail.Config, err)
	}
	key := s.Key()
	if s.RowKey() != nil {
		key = s.RowKey().String()
	}
	places := make([]string, len(s.Inputs))
	streams := streams.Places(s.Inputs)
	for i, input := range s.Inputs {
		if places[i] = streams[i]; places[i] != "" {
			continue
		}
		if places[i], err = env.Place(input); err != nil {
			return Identity{}, err
		}
	}
	return Identity{Table: name.FileName(), rest: digestOf(slices.Concat([]string{name.String(), s.FamilyName(), key, word}, places, furtherTables(s))...),
		given: strings.ReplaceAll(s.Table, ":", "_"), Old: digestOf(append([]string{s.Table, s.FamilyName(), s.Key(), word}, s.Inputs...)...)}, nil
}

// furtherTables returns a job's further tables with their families and keys; nil if it has none.
func furtherTables(s spec.Job) []string {
	if !s.Several() {
		return nil
	}
	list := []string{"\x00tables"} // no place has this name
	for _, t := range s.Targets()[1:] {
		name := t.Table
		if n, err := loader.ParseTableName(name); err == nil {
			name = n.String()
		}
		list = append(list, name, t.FamilyName(), t.RowKey().String(), t.Index)
	}
	return list
}

// IdentifyParts returns the identity of a job that loads no inputs. The parts must distinguish it from every other job of the table; its kind is one
// of them.
func IdentifyParts(t loader.TableName, parts ...string) Identity {
	parts = append([]string{t.String()}, parts...)
	return Identity{Table: t.FileName(), rest: digestOf(parts...), given: t.FileName(), Old: digestOf(append(parts, "no earlier version")...)}
}

// InPlaceOf returns the identity of a job whose table is made to replace another. It differs from the identity of a job that adds to a table of that
// name.
func (i Identity) InPlaceOf(t loader.TableName) Identity {
	i.rest, i.Old = digestOf("in place of", t.String(), i.rest), digestOf("in place of", t.String(), i.Old)
	return i
}

// On returns the identity on a cluster.
func (i Identity) On(cluster string) Identity {
	i.ID = digestOf(i.rest, cluster)
	return i
}

// OnCluster returns [Identity.On] the connected cluster; nil: the job needs no cluster.
func (i Identity) OnCluster(ctx context.Context, c *loader.Cluster) (Identity, error) {
	if c == nil {
		return i.On("no cluster"), nil
	}
	id, err := c.ID(ctx)
	if err != nil {
		return i, cluster.Failure(err)
	}
	i.Cluster = id
	return i.On(id), nil
}

func digestOf(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Name returns the name of the job's directory: its table, twelve digits that the job has on every cluster, and twelve that are unique to the job.
func (i Identity) Name() string { return i.prefix() + i.ID[:history.StateDigits] }

// prefix returns the beginning of the job's name, which is the same on every cluster.
func (i Identity) prefix() string { return i.Table + "-" + i.rest[:history.StateDigits] + "-" }

// OldName returns the directory name that earlier versions used.
func (i Identity) OldName() string { return i.given + "-" + i.Old[:history.StateDigits] }

// StateDir returns the directory of a job's state; empty: no state is kept. A job that an earlier version began is resumed in its old directory.
func (o Options) StateDir(i Identity) string {
	if o.Dir == "" {
		return ""
	}
	dir := filepath.Join(o.Dir, i.Name())
	if old := filepath.Join(o.Dir, i.OldName()); !hasJournal(dir) && hasJournal(old) {
		return old
	}
	return dir
}

// AnyCluster returns the directory of the job's state while its cluster is not known; empty if there is none, or more than one.
func (o Options) AnyCluster(i Identity) string {
	if o.Dir == "" {
		return ""
	}
	found, err := filepath.Glob(filepath.Join(globEscape.Replace(o.Dir), i.prefix()+strings.Repeat("[0-9a-f]", history.StateDigits)))
	if old := filepath.Join(o.Dir, i.OldName()); hasJournal(old) {
		found = append(found, old)
	}
	if err != nil || len(found) != 1 {
		return ""
	}
	return found[0]
}

var globEscape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// hasJournal reports whether there is a journal that is not empty.
func hasJournal(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, journal.FileName))
	return err == nil && info.Size() > 0
}

// TableOf returns the table's part of the name of a job's directory.
func TableOf(name string) string {
	if m := stateTable.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return ""
}

var stateTable = regexp.MustCompile(`^(.+?)(?:-[0-9a-f]{12})?-[0-9a-f]{12}$`)
