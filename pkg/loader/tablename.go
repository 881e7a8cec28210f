package loader

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"bulkload/pkg/hfile"

	"github.com/tsuna/gohbase/pb"
)

// DefaultNamespace is the namespace of tables without an explicit one.
const DefaultNamespace = "default"

// TableName is a table's full name. Its namespace is never empty.
type TableName struct {
	Namespace, Qualifier string
}

// ParseTableName reads "ns:name" or "name". It allows the names that HBase allows (TableName.isLegalFullyQualifiedTableName, 2.6.4):
// letters and digits of every script that Java represents by one char. A legal name may contain dots, but no slash.
func ParseTableName(s string) (TableName, error) {
	ns, name, ok := strings.Cut(s, ":")
	if !ok {
		ns, name = DefaultNamespace, s
	}
	for _, r := range ns {
		if !isWord(r) {
			return TableName{}, fmt.Errorf("table name %q: a namespace has letters, digits and underscores only, not %q", s, r)
		}
	}
	for _, r := range name {
		if !isWord(r) && r != '-' && r != '.' {
			return TableName{}, fmt.Errorf("table name %q: a table has letters, digits, underscores, hyphens and full stops only, not %q", s, r)
		}
	}
	switch {
	case ns == "":
		return TableName{}, fmt.Errorf("table name %q: the namespace is empty", s)
	case name == "":
		return TableName{}, fmt.Errorf("table name %q: the table is empty", s)
	case name[0] == '-' || name[0] == '.':
		return TableName{}, fmt.Errorf("table name %q: a table begins with a letter, a digit or an underscore", s)
	case ns == zookeeperName || name == zookeeperName:
		return TableName{}, fmt.Errorf("table name %q: HBase allows no table and no namespace of the name %s", s, zookeeperName)
	}
	return TableName{Namespace: ns, Qualifier: name}, nil
}

// zookeeperName is a znode that ZooKeeper reserves.
const zookeeperName = "zookeeper"

// CheckFamily returns an error for a name that no column family can have (ColumnFamilyDescriptorBuilder.isLegalColumnFamilyName, 2.6.4).
func CheckFamily(name string) error {
	switch {
	case name == "":
		return errors.New("a family needs a name")
	case len(name) > hfile.MaxFamilyLen:
		return fmt.Errorf("%q is not a family name: it has %d bytes, and a family has at most %d", name, len(name), hfile.MaxFamilyLen)
	case name[0] == '.', name == "recovered.edits", strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune(":/\\", r) }):
		return fmt.Errorf("%q is not a family name: HBase allows no colon, slash, backslash or control character, no full stop at the beginning, and not recovered.edits", name)
	}
	return nil
}

// isWord matches Java's Character.isAlphabetic and isDigit, and underscores.
func isWord(r rune) bool {
	return r == '_' || r <= 0xFFFF && unicode.In(r, unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.Nd)
}

// String returns the name as users write it, and as HBase writes it in hbase:meta: without the default namespace.
func (t TableName) String() string {
	if t.Namespace == DefaultNamespace || t.Namespace == "" {
		return t.Qualifier
	}
	return t.Namespace + ":" + t.Qualifier
}

// proto returns the name with its namespace, which the servers require.
func (t TableName) proto() *pb.TableName {
	return &pb.TableName{Namespace: []byte(cmp.Or(t.Namespace, DefaultNamespace)), Qualifier: []byte(t.Qualifier)}
}

// FileName returns the name as part of a file's name: without a colon, in ASCII, and short enough.
func (t TableName) FileName() string {
	const longest = 150
	name := []byte(strings.Map(func(r rune) rune {
		if r == ':' || r > 0x7e {
			return '_'
		}
		return r
	}, t.String()))
	return string(name[:min(len(name), longest)])
}
