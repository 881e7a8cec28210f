package statetable

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// fakeHBase is a cluster of one server, with its RPC registry, hbase:meta and a table of states with one row.
type fakeHBase struct {
	host string
	port uint64

	mu     sync.Mutex
	cells  map[string]string // of the row, by family and qualifier
	change func() bool       // is called after a mutation was done and before its answer, which it may have lost
}

// serve answers the calls of a connection. It closes one that does not begin as those of the client do, such as a probe for a login.
func (f *fakeHBase) serve(nc net.Conn) {
	hello := make([]byte, 6)
	if _, err := io.ReadFull(nc, hello); err != nil || string(hello) != "HBas\x00\x50" {
		return
	}
	frame := func() []byte {
		var size uint32
		if binary.Read(nc, binary.BigEndian, &size) != nil {
			return nil
		}
		b := make([]byte, size)
		if _, err := io.ReadFull(nc, b); err != nil {
			return nil
		}
		return b
	}
	frame() // the header of the connection
	for call := frame(); call != nil; call = frame() {
		header, n := protowire.ConsumeBytes(call)
		request, _ := protowire.ConsumeBytes(call[n:])
		method, _ := frames.Bytes(header, 3)
		answer, block, ok := f.answer(string(method), request)
		if !ok {
			return
		}
		head := frames.AppendNumber(nil, 1, frames.Number(header, 1))
		if len(block) > 0 {
			head = frames.AppendBytes(head, 3, frames.AppendNumber(nil, 1, uint64(len(block))))
		}
		body := append(protowire.AppendBytes(protowire.AppendBytes(nil, head), answer), block...)
		if _, err := nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)); err != nil {
			return
		}
	}
}

// answer returns the message and the cells of an answer; without ok the connection breaks.
func (f *fakeHBase) answer(method string, request []byte) (message, block []byte, ok bool) {
	server := frames.AppendNumber(frames.AppendBytes(nil, 1, f.host), 2, f.port)
	switch method {
	case "GetActiveMaster":
		return frames.AppendBytes(nil, 1, server), nil, true
	case "GetMetaRegionLocations":
		return frames.AppendBytes(nil, 1, frames.AppendBytes(nil, 2, server)), nil, true
	case "Scan":
		return f.scan(request)
	case "Mutate":
		return f.mutate(request)
	}
	return nil, nil, true
}

func (f *fakeHBase) scan(request []byte) (message, block []byte, ok bool) {
	var req pb.ScanRequest
	if proto.Unmarshal(request, &req) != nil {
		return nil, nil, false
	}
	row, cells, start := "job", map[string]string{}, string(req.GetScan().GetStartRow())
	f.mu.Lock()
	defer f.mu.Unlock()
	if meta := string(req.GetRegion().GetValue()) == "hbase:meta,,1"; meta && start == "states,," {
		info, _ := proto.Marshal(&pb.RegionInfo{RegionId: proto.Uint64(1), TableName: &pb.TableName{Namespace: []byte("default"), Qualifier: []byte("states")}})
		row, cells["info:regioninfo"] = "states,,1.0123.", "PBUF"+string(info)
		cells["info:server"] = net.JoinHostPort(f.host, strconv.FormatUint(f.port, 10))
	} else if meta {
		row, cells["table:state"] = start, string([]byte{8, 0})
	} else if start == row {
		for _, column := range req.GetScan().GetColumn() {
			for name, value := range f.cells {
				if family := string(column.Family) + ":"; name[:len(family)] == family {
					cells[name] = value
				}
			}
		}
	}
	resp := &pb.ScanResponse{MoreResultsInRegion: proto.Bool(false)}
	for _, name := range slices.Sorted(maps.Keys(cells)) {
		family, qualifier, _ := bytes.Cut([]byte(name), []byte(":"))
		block = appendKeyValue(block, row, family, qualifier, cells[name])
	}
	if len(cells) > 0 {
		resp.CellsPerResult, resp.PartialFlagPerResult = []uint32{uint32(len(cells))}, []bool{false}
	}
	message, err := proto.Marshal(resp)
	return message, block, err == nil
}

func (f *fakeHBase) mutate(request []byte) (message, block []byte, ok bool) {
	var req pb.MutateRequest
	var comparator pb.BinaryComparator
	if proto.Unmarshal(request, &req) != nil || proto.Unmarshal(req.GetCondition().GetComparator().GetSerializedComparator(), &comparator) != nil {
		return nil, nil, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	done := f.cells["o:owner"] == string(comparator.GetComparable().GetValue())
	for _, family := range req.GetMutation().GetColumnValue() {
		for _, cell := range family.GetQualifierValue() {
			name := string(family.Family) + ":" + string(cell.Qualifier)
			switch {
			case done && req.GetMutation().GetMutateType() == pb.MutationProto_DELETE:
				delete(f.cells, name)
			case done:
				f.cells[name] = string(cell.Value)
			}
		}
	}
	message, err := proto.Marshal(&pb.MutateResponse{Processed: &done})
	return message, nil, err == nil && (f.change == nil || f.change())
}

// appendKeyValue encodes a cell as KeyValueCodec does.
func appendKeyValue(b []byte, row string, family, qualifier []byte, value string) []byte {
	key := append(binary.BigEndian.AppendUint16(nil, uint16(len(row))), row...)
	key = append(append(append(key, byte(len(family))), family...), qualifier...)
	key = append(binary.BigEndian.AppendUint64(key, 1), 4) // the timestamp, and a put
	for _, size := range []int{8 + len(key) + len(value), len(key), len(value)} {
		b = binary.BigEndian.AppendUint32(b, uint32(size))
	}
	return append(append(b, key...), value...)
}

// takeJob makes this process the owner of a job in a fake table.
func takeJob(t *testing.T) (*fakeHBase, *Owner) {
	t.Helper()
	f := &fakeHBase{cells: map[string]string{}}
	host, port, err := net.SplitHostPort(testcheck.Serve(t, func(nc net.Conn) { f.serve(nc) }).Addr().String())
	testcheck.Must(t, err)
	f.host = host
	f.port, err = strconv.ParseUint(port, 10, 16)
	testcheck.Must(t, err)
	c, err := loader.Dial(t.Context(), loader.Config{Registry: []string{net.JoinHostPort(host, port)}, EffectiveUser: "x"}, slog.New(slog.DiscardHandler))
	testcheck.Must(t, err)
	t.Cleanup(func() { c.Close() })
	o, _, err := New(c, loader.TableName{Namespace: "default", Qualifier: "states"}).Take(t.Context(), "job", nil, nil)
	testcheck.Must(t, err)
	return f, o
}

// TestLostAnswerOfDelete checks that removing a job succeeds if the answer is lost after HBase has removed it, and that a job that another process has
// taken over stays, with an error that names that process.
func TestLostAnswerOfDelete(t *testing.T) {
	f, o := takeJob(t)
	lost := 0
	f.mu.Lock()
	f.change = func() bool {
		lost++
		return len(f.cells) > 0 || lost > 1
	}
	f.mu.Unlock()
	testcheck.Must(t, o.Delete(t.Context()))
	f.mu.Lock()
	if err := o.Lost(); err != nil || len(f.cells) > 0 || lost < 2 {
		t.Errorf("lost %v, %d mutations, left are %q", err, lost, f.cells)
	}
	f.mu.Unlock()

	f, o = takeJob(t)
	f.mu.Lock()
	f.cells["o:owner"] = `{"epoch":2,"host":"elsewhere"}`
	f.mu.Unlock()
	err := o.Delete(t.Context())
	f.mu.Lock()
	defer f.mu.Unlock()
	if e, ok := errors.AsType[*LostError](err); !ok || e.Holder.Host != "elsewhere" || len(f.cells) == 0 {
		t.Errorf("error %v, left are %q", err, f.cells)
	}
}

// TestRestartedJobHasItsFirstRecord checks that a job that begins again has its first record at once, also if the call that deletes its earlier records
// fails, and that only these are deleted.
func TestRestartedJobHasItsFirstRecord(t *testing.T) {
	for _, broken := range []bool{false, true} {
		f, o := takeJob(t)
		for _, line := range []string{"one", "two"} {
			testcheck.Must(t, o.Append(t.Context(), []byte(line)))
		}
		ctx, cancel := context.WithCancel(t.Context())
		f.mu.Lock()
		f.change = func() bool {
			if _, there := f.cells["j:000000-000000000001-000000"]; broken && !there {
				cancel()
				return false
			}
			return true
		}
		f.mu.Unlock()
		if err := o.Restart(ctx, []byte("again")); (err != nil) != broken {
			t.Fatal(err)
		}
		cancel()
		f.mu.Lock()
		f.change = nil
		f.mu.Unlock()
		for _, want := range []string{"again", "again next"} {
			c, err := o.table.Read(t.Context(), "job")
			testcheck.Must(t, err)
			if got := string(bytes.Join(c.Records, []byte(" "))); got != want {
				t.Errorf("broken %t: the records are %q, want %q", broken, got, want)
			}
			testcheck.Must(t, o.Append(t.Context(), []byte("next")))
		}
		f.mu.Lock()
		if n := len(slices.DeleteFunc(slices.Collect(maps.Keys(f.cells)), func(name string) bool { return name[0] == 'o' })); n != 3 {
			t.Errorf("broken %t: %d cells of records, want 3", broken, n)
		}
		f.mu.Unlock()
	}
}
