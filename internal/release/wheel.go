package release

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// withProgram is the Python package whose wheels contain the program, one for each platform. All others are independent of the platform.
const withProgram = "python/bulkload"

// platformTags maps platforms to the tags of wheels with the program. The program is static, so any libc of Linux works; Go requires macOS 12.
var platformTags = map[string][]string{
	"linux/amd64":  {"manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"},
	"linux/arm64":  {"manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"},
	"darwin/arm64": {"macosx_12_0_arm64"},
	"darwin/amd64": {"macosx_12_0_x86_64"},
}

// platformWheel makes the wheel with the program of a platform, if there are wheels for it.
func (m *maker) platformWheel(ctx context.Context, platform string, program File) error {
	tags := platformTags[platform]
	if tags == nil {
		return nil
	}
	bill := func(f File) bool { return f.Name == "sbom.spdx.json" }
	more := []File{{Name: "sboms/bulkload.spdx.json", Data: m.legal[slices.IndexFunc(m.legal, bill)].Data}}
	for _, f := range slices.DeleteFunc(slices.Clone(m.legal), bill) {
		more = append(more, File{Name: "licenses/" + f.Name, Data: f.Data})
	}
	return m.wheel(ctx, withProgram, tags, more, &program)
}

// pureWheels makes the wheels of all packages below python except [withProgram].
func (m *maker) pureWheels(ctx context.Context) error {
	names, err := tracked(ctx, m.Root, "python/*/pyproject.toml")
	if err != nil {
		return err
	}
	for _, name := range names {
		if dir := path.Dir(name); dir != withProgram {
			if err := m.wheel(ctx, dir, []string{"any"}, nil, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// separators matches the characters between words of a package's name.
var separators = regexp.MustCompile(`[-_.]+`)

// wheel makes the wheel of a package: the files that git tracks below src, a program for PATH, metadata with more files, and
// RECORD, which pip uses to verify all files.
func (m *maker) wheel(ctx context.Context, dir string, tags []string, more []File, program *File) error {
	p, err := readProject(filepath.Join(m.Root, dir))
	if err != nil {
		return err
	}
	files, err := packageFiles(ctx, m.Root, dir)
	if err != nil {
		return err
	}
	for _, f := range m.common {
		if strings.HasPrefix(f.Name, "LICENSE") || strings.HasPrefix(f.Name, "NOTICE") {
			more = append(more, File{Name: "licenses/" + f.Name, Data: f.Data})
		}
	}
	var licences []string
	for _, f := range more {
		if name, ok := strings.CutPrefix(f.Name, "licenses/"); ok {
			licences = append(licences, name)
		}
	}
	slices.Sort(licences)
	licence := m.licence
	if licence == "NOASSERTION" {
		licence = ""
	}
	version := pythonVersion(m.Version)
	metadata, err := p.metadata(filepath.Join(m.Root, dir), version, licence, licences)
	if err != nil {
		return err
	}
	about := fmt.Sprintf("Wheel-Version: 1.0\nGenerator: bulkload-release\nRoot-Is-Purelib: %t\n", program == nil)
	for _, tag := range tags {
		about += "Tag: py3-none-" + tag + "\n"
	}
	more = append(more, File{Name: "METADATA", Data: metadata}, File{Name: "WHEEL", Data: []byte(about)})
	if points := p.entryPoints(); points != nil {
		more = append(more, File{Name: "entry_points.txt", Data: points})
	}
	name := strings.ToLower(separators.ReplaceAllString(p.Name, "_")) + "-" + version
	if program != nil {
		files = append(files, File{Name: name + ".data/scripts/" + program.Name, Data: program.Data, Executable: true})
	}
	slices.SortFunc(more, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	for _, f := range more {
		files = append(files, File{Name: name + ".dist-info/" + f.Name, Data: f.Data})
	}
	data, err := m.zip(append(files, record(name+".dist-info/RECORD", files)))
	if err != nil {
		return err
	}
	return m.write(name+"-py3-none-"+strings.Join(tags, ".")+".whl", data)
}

// packageFiles returns the files of a package's src directory, with their installed names.
func packageFiles(ctx context.Context, root, dir string) ([]File, error) {
	names, err := tracked(ctx, root, dir+"/src")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s/src has no files that git knows", dir)
	}
	var files []File
	for _, name := range names {
		f, err := readFile(filepath.Join(root, name), strings.TrimPrefix(name, dir+"/src/"))
		if err != nil {
			return nil, err
		}
		f.Executable = false
		files = append(files, f)
	}
	return files, nil
}

// record returns RECORD, the list of all files of a wheel with their checksums, including RECORD itself.
func record(name string, files []File) File {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for _, f := range files {
		sum := sha256.Sum256(f.Data)
		_ = w.Write([]string{f.Name, "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]), strconv.Itoa(len(f.Data))}) // writes to a buffer do not fail
	}
	_ = w.Write([]string{name, "", ""})
	w.Flush()
	return File{Name: name, Data: b.Bytes()}
}

func (m *maker) zip(files []File) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })
	for _, f := range files {
		h := &zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: m.Date}
		h.SetMode(0o644)
		if f.Executable {
			h.SetMode(0o755)
		}
		out, err := w.CreateHeader(h)
		if err != nil {
			return nil, fmt.Errorf("wheel: %s: %w", f.Name, err)
		}
		if _, err := out.Write(f.Data); err != nil {
			return nil, fmt.Errorf("wheel: %s: %w", f.Name, err)
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
