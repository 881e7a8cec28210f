package mapreduce

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/hadoop/streaming"
	"bulkload/internal/test/testcheck"
)

// TestTaskTrustsAuthorities checks that a task has the trust store of the node's ssl-client.xml, for a KMS with TLS: the configuration of a job does not
// have it. A file that is missing or damaged ends no task.
func TestTaskTrustsAuthorities(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		testcheck.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write(streaming.JobFile, "<configuration/>")
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	store := filepath.Join(dir, "trust.pem")
	write("trust.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	var said bytes.Buffer
	open := func(conf string) *task {
		t.Helper()
		said.Reset()
		env := func(name string) (string, bool) { return conf, name == "HADOOP_CONF_DIR" && conf != "" }
		k := &task{Process: Process{Env: env, Dir: dir, Log: slog.New(slog.NewTextHandler(&said, nil))}, Task: streaming.Task{Output: "file://" + dir}}
		testcheck.Must(t, k.open())
		t.Cleanup(func() { k.env.Close() })
		return k
	}
	ask := func(k *task) error {
		o, err := k.env.WebTLS()
		if err != nil {
			return err
		}
		transport := &http.Transport{TLSClientConfig: o}
		defer transport.CloseIdleConnections()
		r, err := (&http.Client{Transport: transport}).Get(server.URL)
		if err != nil {
			return err
		}
		return r.Body.Close()
	}
	server.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(io.Discard, nil), slog.LevelError)
	for name, conf := range map[string]string{"no directory": "", "no file": dir} {
		if err := ask(open(conf)); err == nil || said.Len() > 0 {
			t.Errorf("%s: %v, %s", name, err, said.String())
		}
	}
	write("ssl-client.xml", "<configuration><property>")
	if err := ask(open(dir)); err == nil || !strings.Contains(said.String(), "ssl-client.xml") {
		t.Errorf("a damaged file: %v, %s", err, said.String())
	}
	write("ssl-client.xml", fmt.Sprintf("<configuration><property><name>ssl.client.truststore.location</name><value>%s</value></property>"+
		"<property><name>ssl.client.truststore.type</name><value>PEM</value></property></configuration>", store))
	if err := ask(open(dir)); err != nil || said.Len() > 0 {
		t.Errorf("%v, %s", err, said.String())
	}
}
