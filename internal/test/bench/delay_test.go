package bench

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"bulkload/internal/model/manifest"
	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/testcluster"
)

// oneWay is the delay of the link in each direction.
const oneWay = time.Millisecond

// delayCase compares bulkload build onto HDFS over a direct link, through a proxy, and through a proxy that delays.
//
// The proxies listen on farHost, at the ports of NameNode and DataNode. The client connects to them because that is the
// name of its file system, and because it uses the host names of DataNodes (dfs.client.use.datanode.hostname), which is
// farHost. The case ends with HFiles on HDFS: a region server would take a file system of another name for a different
// one, and copy the files.
func (l *Lab) delayCase(ctx context.Context) (c Case, err error) {
	if os.Getenv(testcluster.EnvConf) != "" {
		return Case{}, fmt.Errorf("the DataNode must be known as %s, as it is on the cluster that this program starts: unset %s", farHost, testcluster.EnvConf)
	}
	cluster, err := l.running(ctx)
	if err != nil {
		return Case{}, err
	}
	input, err := l.file(ctx, data.Spec{Table: data.Check, Rows: l.Rows, Seed: l.Seed, Regions: 10}, data.Dump)
	if err != nil {
		return Case{}, err
	}
	program, err := l.program(ctx)
	if err != nil {
		return Case{}, err
	}
	ports := []int{cluster.Ports().NameNode, cluster.Ports().DataNode[0].Data}
	c = Case{Name: CaseDelay, Rounds: l.Rounds, Reference: "proxy",
		Title: fmt.Sprintf("bulkload build of %s check rows into 10 regions on HDFS, through a link of %s round trip", grouped(l.Rows), 2*oneWay),
		Notes: []string{"Throughput is \"write MiB/s\": bytes of HFiles by the time of the second pass, which encodes, uploads, reads back and renames.",
			"The proxies run in the measuring process on the same cores, so the fair comparison is with the proxy that does not delay."}}
	env := clusterEnv(cluster)
	near, far := "hdfs://localhost:"+strconv.Itoa(ports[0]), "hdfs://"+net.JoinHostPort(farHost, strconv.Itoa(ports[0]))
	conf := l.path("far-conf")
	if err := writeFarConf(conf, far); err != nil {
		return Case{}, err
	}
	tool := func(name, fsName string, env []string, open func() (*openLink, error)) Tool {
		out := fsName + workDir + "/delay"
		argv := []string{program, "build", "--quiet", "--output=json", "--job=" + l.jobFile(data.Check), "--input=" + input,
			"--format=dump", "--out=" + out, "--splits=" + splits(10), "--empty=store", "--timestamp=1500000000000", "--memory=" + l.Memory}
		return Tool{Name: name, Rows: l.Rows, Warm: warmFiles(input), Run: func(ctx context.Context, _ int) (Sample, error) {
			if err := l.removeRemote(ctx, cluster, workDir+"/delay"); err != nil {
				return Sample{}, err
			}
			link, err := open()
			if err != nil {
				return Sample{}, err
			}
			stdout, usage, err := command{argv: argv, dir: l.Root, env: env}.run(ctx)
			if err := errors.Join(err, link.Close()); err != nil {
				return Sample{}, err
			}
			m := &manifest.Manifest{}
			if err := json.Unmarshal(stdout, m); err != nil {
				return Sample{}, fmt.Errorf("output of bulkload build: %w", err)
			}
			detail := manifestDetail(m, 0)
			delete(detail, "input MiB")
			if carried := link.carried(); carried > 0 {
				detail["carried MiB"] = float64(carried) / (1 << 20)
			}
			detail["write MiB/s"] = float64(m.Bytes) / (1 << 20) / m.WriteTime.Seconds()
			return Sample{Usage: usage, Detail: detail}, l.removeRemote(ctx, cluster, workDir+"/delay")
		}}
	}
	farEnv := append(env, "HADOOP_CONF_DIR="+conf, "HBASE_CONF_DIR="+conf)
	c.Tools = []Tool{
		tool("direct", near, env, func() (*openLink, error) { return &openLink{}, nil }),
		tool("proxy", far, farEnv, func() (*openLink, error) { return openPorts(ports, 0) }),
		tool("proxy, "+(2*oneWay).String(), far, farEnv, func() (*openLink, error) { return openPorts(ports, oneWay) }),
	}
	return c, nil
}

// removeRemote removes a tree on the cluster's HDFS.
func (l *Lab) removeRemote(ctx context.Context, c *testcluster.Cluster, name string) error {
	h, err := l.hdfs(c)
	if err != nil {
		return err
	}
	return errors.Join(h.RemoveAll(ctx, name), h.Close())
}

// writeFarConf writes the configuration of a client at the far end of the link.
func writeFarConf(dir, fsName string) error {
	type property struct {
		Name  string `xml:"name"`
		Value string `xml:"value"`
	}
	type configuration struct {
		XMLName  xml.Name   `xml:"configuration"`
		Property []property `xml:"property"`
	}
	b, err := xml.MarshalIndent(configuration{Property: []property{
		{"fs.defaultFS", fsName}, {"dfs.client.use.datanode.hostname", "true"},
	}}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "core-site.xml"), append(b, '\n'), 0o644)
}

// openLink makes ports of this machine reachable on farHost.
type openLink struct{ proxies []*Proxy }

func openPorts(ports []int, delay time.Duration) (*openLink, error) {
	o := &openLink{}
	for _, port := range ports {
		p, err := NewProxy(net.JoinHostPort(farHost, strconv.Itoa(port)), net.JoinHostPort("localhost", strconv.Itoa(port)), delay)
		if err != nil {
			return nil, errors.Join(err, o.Close())
		}
		o.proxies = append(o.proxies, p)
	}
	return o, nil
}

// carried returns the number of bytes transferred in both directions.
func (o *openLink) carried() (n int64) {
	for _, p := range o.proxies {
		n += p.Carried()
	}
	return n
}

func (o *openLink) Close() error {
	var errs []error
	for _, p := range o.proxies {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}
