package hdfsio

import (
	"fmt"

	"github.com/colinmarc/hdfs/v2"
)

// FeatureError refuses a file or a directory that uses a feature of HDFS that this client does not support. The client neither
// encrypts nor decrypts: the bytes of a file in an encryption zone would be read as they are on disk. It knows no striped
// blocks: those of an erasure coded file would be read as replicas.
type FeatureError struct {
	Op, Path string
	Feature  string // with its preposition, such as "in an HDFS encryption zone"
	Advice   string
}

func (e *FeatureError) Error() string {
	return fmt.Sprintf("%s %s: it is %s, which is not supported: %s", e.Op, e.Path, e.Feature, e.Advice)
}

// supported returns a [FeatureError] for op on name if i describes a file, or the parent directory of a new file, that this
// client does not read or write right.
func (i hdfsInfo) supported(op, name string) error {
	st, ok := i.Sys().(*hdfs.FileStatus)
	if !ok {
		return nil
	}
	e := &FeatureError{Op: op, Path: name}
	switch {
	case encrypted(st):
		e.Feature = "in an HDFS encryption zone"
		e.Advice = "copy it out of the zone (hdfs dfs -cp)"
		if i.IsDir() {
			e.Advice = "choose a directory outside the zone"
		}
	case st.GetEcPolicy() != nil:
		e.Feature = "erasure coded (" + policyName(st) + ")"
		e.Advice = "copy it to a replicated directory (hdfs dfs -cp)"
		if i.IsDir() {
			e.Advice = "choose a replicated directory"
		}
	default:
		return nil
	}
	return e
}

// encrypted reports whether a file or directory is in an encryption zone. Only files have encryption information; a directory,
// also the root of a zone, has the flag HAS_CRYPT (HdfsFileStatusProto.Flags, Hadoop 3).
func encrypted(st *hdfs.FileStatus) bool {
	const hasCrypt = 0x02
	return st.GetFileEncryptionInfo() != nil || st.GetFlags()&hasCrypt != 0
}

// systemPolicies are the names of the erasure coding policies that HDFS has by itself, by their ids. The NameNode sends no
// name with these (SystemErasureCodingPolicies, Hadoop 3.4).
var systemPolicies = map[uint32]string{1: "RS-6-3-1024k", 2: "RS-3-2-1024k", 3: "RS-LEGACY-6-3-1024k", 4: "XOR-2-1-1024k", 5: "RS-10-4-1024k"}

// policyName returns the name of the erasure coding policy of st.
func policyName(st *hdfs.FileStatus) string {
	policy := st.GetEcPolicy()
	if name := policy.GetName(); name != "" {
		return name
	}
	if name, ok := systemPolicies[policy.GetId()]; ok {
		return name
	}
	return fmt.Sprintf("policy %d", policy.GetId())
}
