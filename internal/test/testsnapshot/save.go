package testsnapshot

import (
	"fmt"
	"path"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"bulkload/internal/test/testcheck"
)

// regionID is the id of all regions, which is a part of their names.
const regionID = 7

// snapshotVersion is the version of the format that HBase writes.
const snapshotVersion = 2

// Save writes the snapshot of the table. It replaces one of the same name.
func (tb *Table) Save() {
	tb.t.Helper()
	dir := ".hbase-snapshot/" + tb.Snapshot
	testcheck.Must(tb.t, tb.FS.RemoveAll(tb.t.Context(), path.Join(tb.Root, dir)))
	info := Field(Field(Field(Field(nil, 1, tb.Snapshot), 2, tb.Table), 3, int(tb.Created)), 5, snapshotVersion)
	tb.Write(dir+"/.snapshotinfo", append(info, tb.Tail...))
	if !tb.Apart {
		tb.Write(dir+"/data.manifest", tb.Manifest())
		return
	}
	tb.Write(dir+"/.tabledesc/.tableinfo.0000000001", []byte("PBUF"))
	tb.Write(dir+"/.tabledesc/.tableinfo.0000000002", append([]byte("PBUF"), tb.schema()...))
	for i := range tb.Regions {
		tb.Write(fmt.Sprintf("%s/region-manifest.%d", dir, i), tb.region(&tb.Regions[i]))
	}
}

// Manifest returns the contents of the snapshot's file data.manifest.
func (tb *Table) Manifest() []byte {
	tb.t.Helper()
	b := Field(nil, 1, tb.schema())
	for i := range tb.Regions {
		b = Field(b, 2, tb.region(&tb.Regions[i]))
	}
	return b
}

func (tb *Table) schema() []byte {
	tb.t.Helper()
	b, err := proto.Marshal(tb.Schema)
	testcheck.Must(tb.t, err)
	return b
}

// region returns the SnapshotRegionManifest of a region.
func (tb *Table) region(r *Region) []byte {
	tb.t.Helper()
	info, err := proto.Marshal(&pb.RegionInfo{RegionId: proto.Uint64(regionID), TableName: tb.Schema.TableName,
		StartKey: []byte(r.Start), EndKey: []byte(r.End), Offline: &r.Offline, Split: &r.Offline})
	testcheck.Must(tb.t, err)
	b := Field(Field(nil, 1, 0), 2, info)
	for _, f := range r.Files {
		b = Field(b, 3, Field(Field(nil, 1, f.Family), 2, f.message()))
	}
	return append(b, r.Tail...)
}

// message returns the StoreFile message of a file.
func (f *File) message() []byte {
	b := Field(nil, 1, f.Name)
	if f.Cut != "" {
		// The first key of the row: no family, the latest timestamp, the greatest type.
		key := append([]byte{0, byte(len(f.Cut))}, f.Cut...)
		key = append(key, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
		half := 1
		if f.Top {
			half = 0
		}
		b = Field(b, 2, Field(Field(nil, 1, key), 2, half))
	}
	return Field(b, 3, f.Size)
}

// Field appends a field with bytes, a string or a number to a protobuf message.
func Field[T []byte | string | int](b []byte, number protowire.Number, v T) []byte {
	switch v := any(v).(type) {
	case int:
		return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(v))
	case string:
		return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), v)
	case []byte:
		return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), v)
	}
	return b
}
