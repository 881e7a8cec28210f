package snapshot

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

// storeFile is one entry of a region's store.
type storeFile struct {
	name string // as in the store's directory
	size int64  // of the file that the entry refers to
	half half
	row  []byte // where the file is cut; nil for a whole file
}

// half selects the part of a file that belongs to the region.
type half uint8

const (
	whole  half = iota
	bottom      // rows below the cut
	top         // rows from the cut on
)

// Names of store files (StoreFileInfo and HFileLink, 2.6.4). The name of a half
// is the file's name, a dot, and the file's region.
const (
	plainName = `[0-9a-f]+(?:_SeqId_[0-9]+_)?`
	linkName  = `(?:([^=/]+)=)?([^=/]+)=([0-9a-f]+)-(` + plainName + `)`
)

var (
	plainFile = regexp.MustCompile(`^` + plainName + `$`)
	linkFile  = regexp.MustCompile(`^` + linkName + `$`)
)

// HalvesBeyond reports whether a region has a half of a file that the same region of o, which may be nil, does not have.
func (s *Snapshot) HalvesBeyond(o *Snapshot) bool {
	type place struct{ region, family, name string }
	has := map[place]bool{}
	if o != nil {
		for _, r := range o.Regions {
			for family, files := range r.stores {
				for _, f := range files {
					has[place{r.Encoded, family, f.name}] = true
				}
			}
		}
	}
	for _, r := range s.Regions {
		for family, files := range r.stores {
			for _, f := range files {
				if f.half != whole && !has[place{r.Encoded, family, f.name}] {
					return true
				}
			}
		}
	}
	return false
}

// family reads a FamilyFiles message.
func (r *Region) family(b []byte) error {
	var name string
	var files [][]byte
	if !frames.Fields(b, func(field protowire.Number, _ uint64, data []byte) {
		switch field {
		case 1:
			name = string(data)
		case 2:
			files = append(files, data)
		}
	}) {
		return fmt.Errorf("%w: the files of a family", ErrDamaged)
	}
	for _, b := range files {
		f, err := parseStoreFile(b)
		if err != nil {
			return err
		}
		r.stores[name] = append(r.stores[name], f)
		r.Files++
		r.Bytes += f.size
	}
	return nil
}

// parseStoreFile reads a StoreFile message. A file is a half if the message has a reference.
// A dot in the name does not prove that, because the table name in a link may contain a dot.
func parseStoreFile(b []byte) (storeFile, error) {
	var f storeFile
	var reference []byte
	var size uint64
	if !frames.Into(b, frames.To{1: &f.name, 2: &reference, 3: &size}) {
		return f, fmt.Errorf("%w: a store file's entry", ErrDamaged)
	}
	f.size = int64(min(size, 1<<62))
	if reference == nil {
		return f, nil
	}
	ref := new(pb.Reference)
	if err := unmarshal(reference, ref); err != nil {
		return f, err
	}
	// The split key is not the key of a cell: it has a row, no family and no qualifier.
	key := ref.GetSplitkey()
	if len(key) < 2 || 2+int(binary.BigEndian.Uint16(key)) > len(key) {
		return f, fmt.Errorf("%w: a reference is cut at a key of %d bytes", ErrDamaged, len(key))
	}
	f.row = key[2 : 2+int(binary.BigEndian.Uint16(key))]
	f.half = bottom
	if ref.GetRange() == pb.Reference_TOP {
		f.half = top
	}
	return f, nil
}

// target identifies the file that holds the bytes of an entry: table, region and name.
type target struct{ namespace, qualifier, region, file string }

// target resolves a region's entry to the file that it refers to.
func (s *Snapshot) target(r *Region, f *storeFile) (target, error) {
	name, region := f.name, r.Encoded
	if f.half != whole {
		at := strings.LastIndexByte(name, '.')
		if at < 0 {
			return target{}, fmt.Errorf("%w: a reference without a parent: %.100q", ErrDamaged, name)
		}
		name, region = name[:at], name[at+1:]
	}
	if plainFile.MatchString(name) && plainFile.MatchString(region) {
		return target{s.namespace, s.qualifier, region, name}, nil
	}
	m := linkFile.FindStringSubmatch(name)
	if m == nil || m[1] != "" && !legalName.MatchString(m[1]) || !legalName.MatchString(m[2]) {
		return target{}, fmt.Errorf("%w: a file's name %.100q", ErrDamaged, f.name)
	}
	m[1] = cmp.Or(m[1], "default")
	return target{m[1], m[2], m[3], m[4]}, nil
}

// places returns the paths where the file may be, in HBase's search order
// (HFileLink, 2.6.4).
func (t target) places(root, family string) []string {
	rest := path.Join("data", t.namespace, t.qualifier, t.region, family, t.file)
	var all []string
	for _, dir := range []string{"", "archive", ".tmp", "mobdir"} {
		all = append(all, path.Join(root, dir, rest))
	}
	return all
}

// loadSequence returns the sequence id in the name of a bulk-loaded file, false
// if there is none (HStoreFile.open, 2.6.4).
func loadSequence(name string) (int64, bool) {
	const mark = "_SeqId_"
	at := strings.LastIndex(name, mark)
	if at < 0 {
		return 0, false
	}
	digits, _, _ := strings.Cut(name[at+len(mark):], "_")
	n, err := strconv.ParseInt(digits, 10, 63)
	return n, err == nil
}
