package settings

import (
	"cmp"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bulkload/internal/engine/status"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/spec"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/kerberos"
	"bulkload/pkg/source/dialect"
)

// A Setting is the value of one setting of a command, with its origin.
type Setting struct {
	Name   string `json:"name"`   // name in files: a field of the job file, or a flag with underscores
	Value  string `json:"value"`  // with dates filled in and secrets masked; "" without a value
	Origin string `json:"origin"` // default, or the file with its line, the variable or the flag
}

// List returns the settings of a command that runs: the fields of a job in their order, then the other flags by name.
func List(cmd *cobra.Command) []Setting {
	s := Of(cmd)
	var fields, flags []Setting
	done := map[string]bool{}
	if IsJobFile(cmd.Flags().Lookup("job")) {
		fields = s.fields(cmd, done)
		ofDialect(fields, JobSpec(cmd))
	}
	conf, user, keytab := hadoop(cmd), ValueOf(cmd, "user"), ValueOf(cmd, "keytab")
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, old := asOldName(f); old || f.Name == "help" || done[f.Name] {
			return
		}
		v := Setting{Name: Snake(Name(f)), Value: flagText(f), Origin: s.originOf(f.Name)}
		switch {
		case SecretName(f.Name):
			if v.Value != "" {
				v.Value = Masked
			}
		case f.Name == "date":
			v.Value = s.Day.Whole()
		case v.Origin == "default":
			v = s.fromDefault(v, f, conf, user, keytab)
		}
		v.Value = MaskURLs(v.Value)
		flags = append(flags, v)
	})
	slices.SortFunc(flags, func(a, b Setting) int { return cmp.Compare(a.Name, b.Name) })
	return append(fields, flags...)
}

func (s *Settled) fields(cmd *cobra.Command, done map[string]bool) []Setting {
	var list []Setting
	js := s.JobSpec()
	for _, field := range spec.SpecFields() {
		if field.Type == spec.FieldSettings {
			continue
		}
		v := Setting{Name: field.Name, Value: field.Default, Origin: "default"}
		if strings.Contains(v.Value, " ") {
			v.Value = "(" + v.Value + ")" // a description rather than a value
		}
		f := cmd.Flags().Lookup(field.Flag())
		if f != nil && FieldName(Name(f)) != field.Name {
			f = nil // a flag of the same name that means something else
		}
		if f != nil {
			done[f.Name] = true
		}
		line, inFile := s.lines[field.Name]
		switch {
		case f != nil && f.Changed:
			v.Value, v.Origin = flagText(f), s.originOf(f.Name)
		case inFile && s.spec != nil:
			v.Value, v.Origin = js.Text(field), "job file "+s.jobFile+":"+strconv.Itoa(line)
		}
		if f != nil && f.Name == s.Overridden() {
			v.Value, v.Origin = "", "default" // it is not read
		}
		v.Value = MaskURLs(v.Value)
		list = append(list, v)
	}
	return list
}

func flagText(f *pflag.Flag) string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return strings.Join(list.GetSlice(), ", ")
	}
	return f.Value.String()
}

// hadoop returns the configuration of the command's clusters, or nil if it cannot be read or the command works with
// no cluster.
func hadoop(cmd *cobra.Command) *hdfsio.Conf {
	if cmd.Flags().Lookup("zookeeper") == nil {
		return nil
	}
	conf, _ := hdfsio.LoadConf(os.LookupEnv)
	return conf
}

// ValueOf returns the value of a flag, or "" if the command does not have it.
func ValueOf(cmd *cobra.Command, name string) string {
	if f := cmd.Flags().Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// ofTicketCache describes the user that logs in, or the ticket cache, if neither is given.
func ofTicketCache(v Setting, name, keytab string) Setting {
	switch {
	case keytab != "" && name == "ticket-cache":
		v.Value = "(none: the keytab is used)"
	case keytab != "":
	case name == "principal":
		v.Value = "(that of the ticket cache, where the cluster requires Kerberos)"
	default:
		v.Value = kerberos.DefaultCache()
		if os.Getenv(kerberos.EnvCache) != "" {
			v.Origin = "environment variable " + kerberos.EnvCache
		}
	}
	return v
}

// fromDefault returns the effective value of a setting that is not given. user and keytab are the values of --user
// and --keytab.
func (s *Settled) fromDefault(v Setting, f *pflag.Flag, conf *hdfsio.Conf, user, keytab string) Setting {
	hadoopValue := func(key, value string) {
		if p, ok := conf.Lookup(key); ok {
			v.Value, v.Origin = value, p.File+" ("+key+")"
		}
	}
	switch f.Name {
	case "config":
		v.Value = s.configFile
	case "time-zone":
		name, _ := time.Now().Zone()
		v.Value = "(the machine's, now " + name + ")"
	case "workers":
		if f.Value.String() == "0" {
			v.Value = strconv.Itoa(runtime.GOMAXPROCS(0))
		}
	case "spill-dir":
		v.Value = os.TempDir()
	case "reject-file":
		v.Value = "(" + job.RejectsName + " in the job's state directory; of build, next to --out)"
	case "state":
		v.Value, _ = status.DefaultState()
	case "principal", "ticket-cache":
		return ofTicketCache(v, f.Name, keytab)
	}
	if conf == nil {
		return v
	}
	switch f.Name {
	case "hdfs":
		hadoopValue("fs.defaultFS", conf.Value("fs.defaultFS"))
	case "zookeeper":
		hadoopValue("hbase.zookeeper.quorum", conf.Quorum())
	case "znode":
		v.Value = conf.Znode()
		hadoopValue("zookeeper.znode.parent", v.Value)
	case "max-files":
		v.Value = "32"
		const key = "hbase.mapreduce.bulkload.max.hfiles.perRegion.perFamily"
		hadoopValue(key, conf.Value(key))
	case "user", "staging":
		name, err := conf.User()
		if err != nil {
			return v
		}
		switch {
		case f.Name == "staging":
			v.Value = "/tmp/bulkload-" + cmp.Or(user, name)
		case os.Getenv("HADOOP_USER_NAME") != "":
			v.Value, v.Origin = name, "environment variable HADOOP_USER_NAME"
		default:
			v.Value = name
		}
	}
	return v
}

// ofDialect fills in the values that a dialect determines for settings that are not given.
func ofDialect(list []Setting, s spec.Spec) {
	s = spec.Spec{Format: s.Format, Header: s.Header, FieldSep: s.FieldSep, RecordSep: s.RecordSep, Empty: s.Empty, Reading: s.Reading}
	j, err := s.ResolveTable()
	if err != nil || j.Text() == nil {
		return // errors are reported when the job runs
	}
	d := j.Text()
	yes := map[bool]string{true: "yes", false: "no"}
	quotes := "strict"
	if d.Lenient {
		quotes = "lenient"
	}
	var nulls []string
	for _, null := range d.Null {
		nulls = append(nulls, "'"+null+"'")
	}
	empty := "skip"
	if j.StoresEmpty(len(d.Null) > 0) {
		empty = "store"
	}
	effective := map[string]string{"field_sep": dialect.Text(d.FieldSep), "record_sep": cmp.Or(dialect.Text(d.RecordSep), `\n or \r\n`), "quote": cmp.Or(dialect.Text(d.Quote), "none"), "quotes": quotes,
		"escape": cmp.Or(dialect.Text(d.Escape), "none"), "escape_map": string(d.Map), "null_value": cmp.Or(strings.Join(nulls, ", "), "none"), "null_quoted": yes[d.NullQuoted],
		"header": string(d.Header), "trim": string(d.Trim), "last_column": cmp.Or(string(d.Last), "plain"), "empty": empty}
	for i := range list {
		if v, ok := effective[list[i].Name]; ok && list[i].Origin == "default" {
			list[i].Value, list[i].Origin = v, "dialect "+d.Name
		}
	}
}

// Masked replaces secret text.
const Masked = "***"

// SecretName reports whether the name of a flag or a column implies that its values are secret.
func SecretName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"password", "passwd", "secret", "token", "credential"}, func(word string) bool { return strings.Contains(name, word) })
}

// Secrets in a URL: a password, also one with a character that a URL does not allow there (what is no port is a password), a user name without a password before a web server's host, which is a token, and keys
// and tokens in the query.
var (
	urlPassword = regexp.MustCompile(`://([^/\s:@?#]*):[^/\s?#]*@`)
	urlOddly    = regexp.MustCompile(`://([^/\s:@?#\[]*):[0-9]*[^/\s@?#0-9][^/\s@?#]*[/?#]\S*@`)
	urlToken    = regexp.MustCompile(`(https?://)[^/\s:@?#]+@`)
	urlQuery    = regexp.MustCompile(`(?i)([?&#;][^=&\s]*(?:token|password|passwd|pwd|secret|signature|credential|key|auth|sig)[^=&\s]*=)[^&#;\s]+`)
)

// MaskURLs masks the secrets in the URLs of a text.
func MaskURLs(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	text = urlPassword.ReplaceAllString(text, "://$1:"+Masked+"@")
	text = urlOddly.ReplaceAllString(text, "://$1:"+Masked+"@")
	text = urlToken.ReplaceAllString(text, "${1}"+Masked+"@")
	return urlQuery.ReplaceAllString(text, "${1}"+Masked)
}
