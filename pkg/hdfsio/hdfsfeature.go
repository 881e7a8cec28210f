package hdfsio

import (
	"fmt"
	"path"
)

// FeatureError refuses a file or a directory that uses an HDFS feature that this client does not support. The client writes no erasure
// coded files, and reads those of the codecs rs and xor.
type FeatureError struct {
	Op, Path string
	Feature  string // such as "erasure coded (RS-LEGACY-6-3-1024k)"
	Advice   string
}

func (e *FeatureError) Error() string {
	return fmt.Sprintf("%s %s: it is %s, which is not supported: %s", e.Op, e.Path, e.Feature, e.Advice)
}

// supported returns a [FeatureError] for op on name if i describes a file, or the parent directory of a new file, that this
// client cannot read or write correctly: one with a policy of erasure coding that it does not read, or a directory whose new files are
// erasure coded.
func (i hdfsInfo) supported(op, name string) error {
	p, coded := i.coding()
	advice := "copy it to a replicated directory (hdfs dfs -cp)"
	switch {
	case !coded, !i.IsDir() && p.Supported():
		return nil
	case i.IsDir():
		advice = "give it replicas by hdfs ec -setPolicy -replicate -path " + path.Dir(name)
	}
	return &FeatureError{op, name, "erasure coded (" + p.Name + ")", advice}
}
