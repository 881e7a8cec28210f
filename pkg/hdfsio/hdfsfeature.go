package hdfsio

import (
	"fmt"

	"github.com/colinmarc/hdfs/v2"
)

// FeatureError refuses a file or a directory that uses a feature of HDFS that this client does not support. It knows no striped
// blocks: those of an erasure coded file would be read as replicas.
type FeatureError struct {
	Op, Path string
	Feature  string // such as "erasure coded"
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
