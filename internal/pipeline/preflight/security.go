package preflight

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"bulkload/internal/hadoop/tlsconf"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/kerberos"
	"bulkload/pkg/setting"
)

// securityFacts holds the servers' security requirements, the negotiated protection, and the login.
type securityFacts struct {
	user            string // for simple authentication
	nameNode        *cluster.NameNode
	nnErr           error
	hdfs, hbase     bool // Kerberos is configured
	data            string
	hbaseRPC        kerberos.Quality // 0: unknown
	hbaseErr        error
	tls             bool
	stores          []tlsconf.Validity // of TLS
	principal       string
	keytab          string
	open            fs.FileMode // mode of a keytab that every user can read, else 0
	until, renewTil time.Time
	now             time.Time

	staging, root string // paths whose zones were queried
	inputs        []string
	zones         map[string]hdfsio.Zone // by path, for paths in a zone
}

// maxZones is the maximum number of inputs whose encryption zone is queried.
const maxZones = 16

// askSecurity runs after the other queries, because it needs their results.
func (f *checkFacts) askSecurity(ctx context.Context) {
	conf := f.env.Conf
	s := &f.security
	*s = securityFacts{nameNode: s.nameNode, nnErr: s.nnErr, user: f.user, hdfs: conf.Kerberos(hdfsio.HadoopAuthentication), hbase: conf.Kerberos(hdfsio.HBaseAuthentication),
		data: conf.Value("dfs.data.transfer.protection"), keytab: f.env.Identity.Keytab, now: time.Now(),
		tls: conf.Bool("hbase.client.netty.tls.enabled", false)}
	if c, err := tlsconf.Read(conf.Value); err == nil && c != nil {
		s.stores = c.Validities()
	}
	for _, err := range []error{f.dialErr, f.tableErr, f.statusErr} {
		if s.hbaseErr == nil && fail.OtherSecurity(err) {
			s.hbaseErr = err
		}
	}
	if s.hdfs || s.hbase {
		if login, err := f.env.Login(); err == nil {
			s.principal = login.Principal()
			s.until, s.renewTil = login.Until()
		}
		if mode, open := kerberos.OpenToOthers(s.keytab); open {
			s.open = mode
		}
	}
	if s.hbase && s.hbaseErr == nil && len(f.status.Servers) > 0 {
		s.hbaseRPC, s.hbaseErr = f.env.AskHBase(ctx, f.status.Servers[0])
	}
	l := f.staging.location
	if s.nameNode == nil {
		return
	}
	var paths []string
	if len(f.staging.above) > 0 { // the first one is the deepest existing directory
		s.staging = f.staging.above[0].path
		paths = append(paths, s.staging)
	}
	if root, err := f.rootDir(); err == nil && root.Path != "" && !root.Local() {
		s.root = root.Path
		paths = append(paths, s.root)
	}
	for _, input := range f.spec.Inputs {
		in, err := conf.Resolve(input)
		if err != nil || in.Local() || in.Authority != l.Authority || len(s.inputs) == maxZones {
			continue
		}
		p := in.Path
		if i := strings.IndexAny(p, "*?[{"); i >= 0 {
			p = path.Dir(p[:i] + "x")
		}
		if !slices.Contains(s.inputs, p) {
			s.inputs = append(s.inputs, p)
		}
	}
	fsys, err := f.env.FS(l)
	h, ok := fsys.(*hdfsio.HDFS)
	if err != nil || !ok {
		return
	}
	s.zones = map[string]hdfsio.Zone{}
	for _, p := range append(paths, s.inputs...) {
		if zone, err := h.Zone(ctx, p); err == nil && zone.Root != "" { // else the user may not query it
			s.zones[p] = zone
		}
	}
}

// askNameNode queries the NameNode before the file system is used, and reports whether that can be used: a login that
// cannot succeed is not retried.
func (f *checkFacts) askNameNode(ctx context.Context) bool {
	s := &f.security
	s.nameNode, s.nnErr = f.env.AskNameNode(ctx, f.staging.location)
	if fail.OtherSecurity(s.nnErr) {
		f.staging.step, f.staging.probeErr = "log in for", s.nnErr
		return false
	}
	return true
}

// rootDir returns the directory in which HBase created the staging directory of a load, or HBase's root directory if it created none.
func (f *checkFacts) rootDir() (hdfsio.Location, error) {
	if f.bulk.token == "" {
		return f.env.Conf.Resolve(cluster.Root(f.env.Conf))
	}
	dir, err := f.env.Conf.Resolve(f.bulk.token)
	dir.Path = path.Dir(dir.Path)
	return dir, err
}

// shortTicket is the minimum remaining lifetime of a ticket that cannot be renewed.
const shortTicket = time.Hour

// checkSecurity reports the cluster's security requirements and the negotiated protection.
func checkSecurity(s securityFacts, stagingErr error) Check {
	const name = "security"
	onHDFS := s.nnErr
	if !fail.OtherSecurity(onHDFS) {
		onHDFS = stagingErr
	}
	var wrong []string
	for _, side := range []struct {
		what string
		err  error
	}{{"HDFS", onHDFS}, {"HBase", s.hbaseErr}} {
		if fail.OtherSecurity(side.err) {
			wrong = append(wrong, side.what+": "+oneLine{side.err}.Error())
		}
	}
	if len(wrong) > 0 {
		return bad(name, "copy core-site.xml, hdfs-site.xml and hbase-site.xml of this cluster, or set the named key to what the server offers", "%s", strings.Join(wrong, "; "))
	}
	if s.nameNode == nil && s.nnErr == nil {
		return Check{} // HDFS is unknown: other checks report why
	}
	line := s.line()
	switch left := s.until.Sub(s.now); {
	case s.nnErr != nil && stagingErr == nil && fail.KindOf(s.nnErr) == fail.Unexpected:
		return Doubtful(name, "check that the NameNode answers", "%s: %s", line, oneLine{s.nnErr})
	case s.open != 0:
		return Doubtful(name, "chmod 600 "+s.keytab, "%s: every user of this host can read the keytab (mode %04o), and act as its principal", line, s.open)
	case s.principal != "" && s.keytab == "" && left < shortTicket && s.renewTil.Before(s.now.Add(shortTicket)):
		return Doubtful(name, setting.Textf("run kinit again, or keep the ticket renewed while the job runs; with a keytab a job renews it by itself"), "%s: the ticket ends in %s and cannot be renewed", line, left.Round(time.Second))
	}
	return good(name, "%s", line)
}

// line describes the negotiated protection.
func (s *securityFacts) line() string {
	var parts []string
	if s.hdfs {
		rpc := ""
		if s.nameNode != nil {
			rpc = ", RPC " + s.nameNode.RPC.String()
		}
		parts = append(parts, "HDFS Kerberos"+rpc+", data "+s.dataLevel())
	} else {
		parts = append(parts, "HDFS simple authentication as "+s.user+", data "+s.dataLevel())
	}
	hbase := "HBase simple authentication"
	if s.hbase {
		hbase = "HBase Kerberos"
		if s.hbaseRPC != 0 {
			hbase += ", RPC " + s.hbaseRPC.String()
		}
	}
	if s.tls {
		hbase += ", TLS"
	}
	parts = append(parts, hbase)
	if s.principal != "" {
		by := "ticket cache"
		if s.keytab != "" {
			by = "keytab"
		}
		who := fmt.Sprintf("%s by %s, ticket until %s", s.principal, by, s.until.UTC().Format("2006-01-02 15:04 UTC"))
		if s.keytab == "" && s.renewTil.After(s.until) {
			who += ", renewable until " + s.renewTil.UTC().Format("2006-01-02 15:04 UTC")
		}
		parts = append(parts, who)
	}
	return strings.Join(parts, "; ")
}

// dataLevel describes the protection of connections to DataNodes.
func (s *securityFacts) dataLevel() string {
	switch {
	case s.nameNode != nil && s.nameNode.DataEncrypted:
		return "encrypted (dfs.encrypt.data.transfer)"
	case s.data != "":
		return s.data + " (dfs.data.transfer.protection)"
	}
	return "in the clear"
}

// soonEnds is the minimum remaining validity of a certificate.
const soonEnds = 14 * 24 * time.Hour

// checkCertificates reports the TLS store that expires first.
func checkCertificates(s securityFacts) Check {
	const name = "certificates"
	if len(s.stores) == 0 {
		return Check{}
	}
	first := slices.MinFunc(s.stores, func(a, b tlsconf.Validity) int { return a.End.Compare(b.End) })
	end := first.End.UTC().Format("2006-01-02 15:04 UTC")
	switch left := first.End.Sub(s.now); {
	case left <= 0:
		return bad(name, "have it renewed", "%s (%s) ended on %s", first.File, first.Key, end)
	case left < soonEnds:
		return Doubtful(name, "have it renewed before that", "%s (%s) ends on %s", first.File, first.Key, end)
	}
	return good(name, "%s of TLS, good until %s", setting.Count(len(s.stores), "store"), end)
}

// checkZones reports which directories are in encryption zones. HDFS cannot move files between zones, nor into or out of one.
func checkZones(s securityFacts, user string) Check {
	const name = "encryption zone"
	var in []string
	for _, p := range s.inputs {
		if zone := s.zones[p].Root; zone != "" {
			in = append(in, fmt.Sprintf("the input %s in %s", p, zone))
		}
	}
	from, to := s.zones[s.staging].Root, s.zones[s.root].Root
	switch {
	case s.staging == "" || s.root == "" || from == to:
	case to != "":
		dir := path.Join(to, staging.UserBase(user))
		return bad(name, setting.Textf("as an administrator: hdfs dfs -mkdir %s; hdfs dfs -chown %s %s; then %s %s", dir, user, dir, setting.Staging, dir),
			"%v", &staging.ZoneError{Root: s.root, RootZone: to})
	default:
		return bad(name, setting.Textf("name a directory outside of it with %s", setting.Staging), "%v", &staging.ZoneError{Root: s.root, Zone: from})
	}
	if from != "" {
		in = append(in, "staging and HBase's directory in "+from)
	}
	if len(in) == 0 {
		return Check{}
	}
	return good(name, "%s", strings.Join(in, "; "))
}
