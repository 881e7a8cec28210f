package release

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// imageUser is the user and the group of an image. Most hosts have no name for them.
const imageUser = 65532

// image makes an image for an architecture of Linux: the static program, which includes the time zones, the certificates of public authorities, and
// directories and user names, but no shell and no libc. It is a tar file in the OCI image layout, which podman, skopeo and docker load read.
func (m *maker) image(arch string, program File) ([]byte, error) {
	content, err := imageTar(program.Data, m.Date)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image, err := mutate.ConfigFile(mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1), &v1.ConfigFile{
		Architecture: arch, OS: "linux", Created: v1.Time{Time: m.Date}, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: []string{"/usr/local/bin/bulkload"},
			Cmd:        []string{"--help"},
			User:       "65532:65532",
			Env: []string{"PATH=/usr/local/bin", "HADOOP_CONF_DIR=/etc/hadoop/conf", "HBASE_CONF_DIR=/etc/hadoop/conf", "BULKLOAD_STATE=/var/lib/bulkload",
				"SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
			Volumes:    map[string]struct{}{"/var/lib/bulkload": {}},
			WorkingDir: "/var/lib/bulkload",
			Labels:     map[string]string{"org.opencontainers.image.title": "bulkload", "org.opencontainers.image.version": m.Version},
		},
	})
	if err != nil {
		return nil, err
	}
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: m.Date}, CreatedBy: "bulkload release"}})
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(m.tmp, "image")
	if err != nil {
		return nil, err
	}
	out, err := layout.Write(dir, empty.Index)
	if err != nil {
		return nil, err
	}
	if err := out.AppendImage(image, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": m.Version, "io.containerd.image.name": "docker.io/library/bulkload:" + m.Version})); err != nil {
		return nil, err
	}
	if err := dockerManifest(dir, image, "bulkload:"+m.Version); err != nil {
		return nil, err
	}
	return tarOfDir(dir, m.Date)
}

func imageTar(program []byte, at time.Time) ([]byte, error) {
	var certificates bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // it is trusted for some certificates only, which a file cannot express
		}
		if err := pem.Encode(&certificates, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return tarOf([]entry{
		{"etc/", 0o755, 0, nil},
		{"etc/hadoop/", 0o755, 0, nil},
		{"etc/hadoop/conf/", 0o755, 0, nil},
		{"etc/ssl/", 0o755, 0, nil},
		{"etc/ssl/certs/", 0o755, 0, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, 0, certificates.Bytes()},
		{"etc/passwd", 0o644, 0, []byte("root:x:0:0:root:/root:/sbin/nologin\nbulkload:x:65532:65532:bulkload:/var/lib/bulkload:/sbin/nologin\n")},
		{"etc/group", 0o644, 0, []byte("root:x:0:\nbulkload:x:65532:\n")},
		{"tmp/", 0o1777, 0, nil},
		{"usr/", 0o755, 0, nil},
		{"usr/local/", 0o755, 0, nil},
		{"usr/local/bin/", 0o755, 0, nil},
		{"usr/local/bin/bulkload", 0o755, 0, program},
		{"var/", 0o755, 0, nil},
		{"var/lib/", 0o755, 0, nil},
		{"var/lib/bulkload/", 0o700, imageUser, nil},
	}, at, tar.FormatPAX)
}

// dockerManifest adds manifest.json, in which docker load of engines before version 25 finds the image's parts.
func dockerManifest(dir string, image v1.Image, tag string) error {
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	blob := func(d v1.Hash) string { return "blobs/" + d.Algorithm + "/" + d.Hex }
	var layers []string
	for _, l := range manifest.Layers {
		layers = append(layers, blob(l.Digest))
	}
	b, err := json.Marshal([]map[string]any{{"Config": blob(manifest.Config.Digest), "RepoTags": []string{tag}, "Layers": layers}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "manifest.json"), b, 0o644)
}

// tarOfDir returns the files of a directory as a tar file, in the order of names.
func tarOfDir(dir string, at time.Time) ([]byte, error) {
	var entries []entry
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		entries = append(entries, entry{filepath.ToSlash(name), 0o644, 0, data})
		return err
	})
	if err != nil {
		return nil, err
	}
	return tarOf(entries, at, tar.FormatUSTAR)
}
