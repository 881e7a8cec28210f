package faults

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// block is a block of a file on HDFS.
type block struct{ id, length int64 }

var fsckBlock = regexp.MustCompile(`(?m)^\d+\. \S+:blk_(\d+)_\d+ len=(\d+) `)

// blocks returns the blocks of a file, in order, from the NameNode's fsck.
func (l *Lab) blocks(ctx context.Context, name string) (all []block, err error) {
	q := url.Values{"path": {name}, "files": {"1"}, "blocks": {"1"}, "ugi": {"hbase"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://localhost:%d/fsck?%s", l.cluster.Ports().NameNodeHTTP, q.Encode()), nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	for _, m := range fsckBlock.FindAllSubmatch(text, -1) {
		id, _ := strconv.ParseInt(string(m[1]), 10, 64)
		length, _ := strconv.ParseInt(string(m[2]), 10, 64)
		all = append(all, block{id, length})
	}
	return all, nil
}

// replicas returns the files of a block in the DataNodes' directories.
func (l *Lab) replicas(b block) ([]string, error) {
	return filepath.Glob(filepath.Join(l.cluster.Dir(), "data", "datanode*", "current", "BP-*", "current", "finalized", "subdir*", "subdir*",
		fmt.Sprintf("blk_%d", b.id)))
}

// flipInFile flips one bit of a file.
func flipInFile(name string, at int64, bit uint) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		return err
	}
	b[0] ^= 1 << bit
	_, err = f.WriteAt(b[:], at)
	return err
}

// mendChecksum updates a DataNode's checksum of the given position to match the data.
func mendChecksum(replica string, at int64) error {
	metas, err := filepath.Glob(replica + "_*.meta")
	if err != nil || len(metas) != 1 {
		return errors.Join(err, fmt.Errorf("%d files of checksums for %s", len(metas), replica))
	}
	meta, err := os.OpenFile(metas[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer meta.Close()
	var head [7]byte // version, kind of checksum, bytes per checksum
	if _, err := meta.ReadAt(head[:], 0); err != nil {
		return err
	}
	table := crc32.IEEETable
	switch head[2] {
	case 1:
	case 2:
		table = crc32.MakeTable(crc32.Castagnoli)
	default:
		return fmt.Errorf("%s has checksums of kind %d", metas[0], head[2])
	}
	size := int64(binary.BigEndian.Uint32(head[3:]))
	data, err := os.Open(replica)
	if err != nil {
		return err
	}
	defer data.Close()
	chunk := make([]byte, size)
	n, err := data.ReadAt(chunk, at/size*size)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	_, err = meta.WriteAt(binary.BigEndian.AppendUint32(nil, crc32.Checksum(chunk[:n], table)), int64(len(head))+at/size*4)
	return err
}
