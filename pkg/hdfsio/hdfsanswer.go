package hdfsio

import "bulkload/internal/hadoop/frames"

// mostNameNode is the longest answer of a NameNode that is read; ipc.maximum.response.length is 128 MiB as a rule.
const mostNameNode = 256 << 20

// newNameNodeFilter looks at the answers of a NameNode: a header, and a message unless that reports an error.
func newNameNodeFilter() *frames.Filter {
	return &frames.Filter{Most: mostNameNode, Check: func(head []byte, size uint32) (int, string) {
		if size == 0 {
			return 0, ""
		}
		_, to, need, why := frames.Delimited(head, 0, size)
		if need > 0 || why != "" || uint32(to) == size {
			return need, why
		}
		if len(head) <= to {
			return to + 1, ""
		}
		_, _, need, why = frames.Delimited(head, to, size)
		return need, why
	}}
}
