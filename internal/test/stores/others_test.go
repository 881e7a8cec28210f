package stores

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source"
)

// other is a third-party server.
type other struct {
	kind    string
	program string
	args    func(host, port, dir string) []string
	env     map[string]string // of the program that reads
	root    string
	path    string // of its address
}

// azuriteKey is the key in Azurite's documents.
const azuriteKey = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

func others() []other {
	aws := map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
	return []other{
		{kind: "s3", program: "moto_server", args: func(host, port, _ string) []string { return []string{"-H", host, "-p", port} }, env: aws, root: "s3://bucket"},
		{kind: "gs", program: "fake-gcs-server", args: func(host, port, _ string) []string {
			return []string{"-scheme", "http", "-host", host, "-port", port, "-backend", "memory", "-public-host", host + ":" + port}
		}, env: map[string]string{}, root: "gs://bucket"},
		{kind: "abfs", program: "azurite-blob", args: func(host, port, dir string) []string {
			return []string{"--blobHost", host, "--blobPort", port, "--location", dir, "--silent", "--skipApiVersionCheck", "--disableTelemetry"}
		}, env: map[string]string{}, root: "abfs://bucket@devstoreaccount1", path: "/devstoreaccount1"},
	}
}

// start runs a server for the duration of a test, and returns its address.
func (o other) start(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath(o.program)
	if err != nil || os.Getenv("BULKLOAD_TEST_STORES") == "" {
		t.Skipf("make test-stores has %s", o.program)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testcheck.Must(t, err)
	host, port, err := net.SplitHostPort(l.Addr().String())
	testcheck.Must(t, err)
	testcheck.Must(t, l.Close())
	log := &bytes.Buffer{}
	cmd := exec.Command(program, o.args(host, port, t.TempDir())...)
	cmd.Stdout, cmd.Stderr = log, log
	testcheck.Must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %s", o.program, log.Bytes()[max(0, log.Len()-3000):])
		}
	})
	address := "http://" + net.JoinHostPort(host, port)
	testcheck.Eventually(t, time.Minute, o.program+" answers", func() (bool, any) {
		resp, err := http.Get(address + o.path)
		if err == nil {
			resp.Body.Close()
		}
		return err == nil, err
	})
	for name, value := range o.env {
		t.Setenv(name, value)
	}
	if o.kind == "abfs" {
		t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey="+azuriteKey+";BlobEndpoint="+address+o.path+";")
	}
	return address
}

// upload uploads files to the server's bucket with the provider's own library.
func (o other) upload(t *testing.T, address, dir string, more ...string) {
	t.Helper()
	out, err := exec.Command("python3", append([]string{"testdata/upload.py", o.kind, address, "bucket", dir}, more...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out[max(0, len(out)-2000):])
	}
}

// endpoint returns the setting that directs requests to an address.
func (o other) endpoint(address string) string {
	if o.kind == "gs" {
		return "gs=" + address + "?credentials=none"
	}
	return o.kind + "=" + address + o.path
}

// TestOthers reads random trees from third-party servers, through a proxy with faults, and from local disk.
func TestOthers(t *testing.T) {
	for _, o := range others() {
		t.Run(o.kind, func(t *testing.T) {
			address := o.start(t)
			r := testcheck.Rand(t)
			dir := t.TempDir()
			keys := tree(t, r, dir, 60)
			big := filepath.Join(dir, "big.csv")
			testcheck.Must(t, os.WriteFile(big, lines(r, 9<<20), 0o644))
			o.upload(t, address, dir)
			proxy := NewProxy(To(address), rand.New(rand.NewPCG(r.Uint64(), 1)), Harm{Busy: 0.05, Reset: 0.02, Short: 0.02, Slow: 0.02})
			server := httptest.NewServer(proxy)
			defer server.Close()
			resolve := resolver(t, o.endpoint(server.URL))
			for range 6 {
				inputs := inputsOf(r, keys)
				opts := source.Options{SplitSize: 1 + r.Int64N(4000), AllowEmpty: true, Extra: source.ExtraIgnore, Missing: source.MissingNull}
				o.compare(t, resolve, dir, inputs, opts)
			}
			o.compare(t, resolve, dir, []string{"/big.csv"}, source.Options{SplitSize: 3 << 20})
			t.Logf("%d requests, %d of them harmed", proxy.Requests.Load(), proxy.Harmed.Load())
		})
	}
}

func (o other) compare(t *testing.T, resolve source.Resolve, dir string, inputs []string, opts source.Options) {
	t.Helper()
	want, wantErr := read(t.Context(), local, dir, slices.Clone(inputs), opts)
	got, err := read(t.Context(), resolve, o.root, slices.Clone(inputs), opts)
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("%q: %v, local %v", inputs, err, wantErr)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%q: %s", inputs, firstDifference(got, want))
	}
}

// TestOthersMany lists 2,500 objects of one directory, in pages of 1,000.
func TestOthersMany(t *testing.T) {
	for _, o := range others() {
		t.Run(o.kind, func(t *testing.T) {
			address := o.start(t)
			dir := t.TempDir()
			for i := range 2500 {
				testcheck.Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("k %04d.csv", i)), fmt.Appendf(nil, "id\n%d\n", i), 0o644))
			}
			o.upload(t, address, dir)
			fsys, name, err := resolver(t, o.endpoint(address))(o.root)
			testcheck.Must(t, err)
			list, err := fsys.ReadDir(t.Context(), name)
			if err != nil || len(list) != 2500 {
				t.Fatalf("%d entries, %v", len(list), err)
			}
		})
	}
}

// TestOthersChange replaces an object while it is read: third-party servers refuse its remaining ranges too.
func TestOthersChange(t *testing.T) {
	for _, o := range others() {
		t.Run(o.kind, func(t *testing.T) {
			address := o.start(t)
			dir := t.TempDir()
			testcheck.Must(t, os.WriteFile(filepath.Join(dir, "x.csv"), lines(testcheck.Rand(t), 24<<20), 0o644))
			o.upload(t, address, dir)
			in, err := source.Open(t.Context(), resolver(t, o.endpoint(address)), []string{o.root + "/x.csv"}, source.Options{SplitSize: 100 << 20})
			testcheck.Must(t, err)
			rows := 0
			err = in.NewReader().Read(t.Context(), 0, func(b *source.Batch) error {
				if rows == 0 {
					o.upload(t, address, dir, "again", "x.csv")
				}
				rows += b.Rows
				return nil
			})
			if err == nil || rows == 0 || !strings.Contains(err.Error(), "has changed since it was listed") {
				t.Errorf("%d rows, %v", rows, err)
			}
		})
	}
}

// TestOthersRefuse checks the errors for missing buckets and objects, and for keys that a server does not accept.
func TestOthersRefuse(t *testing.T) {
	for _, o := range others() {
		t.Run(o.kind, func(t *testing.T) {
			address := o.start(t)
			dir := t.TempDir()
			testcheck.Must(t, os.WriteFile(filepath.Join(dir, "x.csv"), []byte("id\n1\n"), 0o644))
			o.upload(t, address, dir)
			fails := func(input, want string) {
				t.Helper()
				_, err := source.Open(t.Context(), resolver(t, o.endpoint(address)), []string{input}, source.Options{})
				if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
					t.Errorf("%v, want %q", err, want)
				}
			}
			fails(strings.Replace(o.root, "bucket", "nobucket", 1)+"/x.csv", "does not exist at 127.0.0.1")
			fails(o.root+"/y.csv", "file does not exist")
			fails(o.root+"/y/*.csv", "file does not exist")
			if o.kind == "abfs" {
				t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountName=devstoreaccount1;AccountKey=c2VjcmV0;BlobEndpoint="+address+o.path)
				fails(o.root+"/x.csv", "the credentials (from AZURE_STORAGE_CONNECTION_STRING)")
			}
		})
	}
}
