package mapreduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"bulkload/internal/base/abilities"
	"bulkload/internal/base/cleanup"
	"bulkload/internal/hadoop/streaming"
	"bulkload/internal/hadoop/yarn"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/objectstore"
	"bulkload/internal/pipeline/share"
	"bulkload/internal/pipeline/streams"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
)

// ShipSize is the number of bytes of text that a map reads at a time: the unit in which inputs are cut into maps.
const ShipSize = 16 << 20

// storesSecret is the name of the secret that holds the buckets of the inputs and their keys, in a task's token file.
const storesSecret = "bulkload.stores"

// programName is the program's name in a task's working directory.
const programName = "bulkload"

// Cut cuts a plan into the tasks of a job.
func (s Settings) Cut(p *share.Plan) *Work {
	m := Container{Memory: cmp.Or(s.MapMemory, DefaultMapMemory), Heap: mapHeap}
	r := Container{Memory: cmp.Or(s.ReduceMemory, DefaultReduceMemory), Heap: reduceHeap}
	return cutWork(p, s.Maps, s.Reduces, m, r, 1)
}

// Client finds Hadoop's client.
func (s Settings) Client(env *cluster.Env) (*streaming.Client, error) {
	c, err := streaming.Find(streaming.Lookup{Hadoop: s.Hadoop, Env: env.Conf.Env})
	if err != nil {
		return nil, fail.With(fail.Config, setting.Errorf("%w (or name it with %s)", err, setting.Hadoop))
	}
	return c, nil
}

// submit creates the job's directory and submits the job.
func (e *Engine) submit(ctx context.Context, makePlan func(context.Context) (*share.Plan, error), at hdfsio.Location) (*Submission, error) {
	client, err := e.Client(e.Env)
	if err != nil {
		return nil, err
	}
	program := e.program
	if program == "" {
		if program, err = ownBinary(); err != nil {
			return nil, err
		}
	}
	if err := e.checkNodes(ctx, program); err != nil {
		return nil, err
	}
	p, err := makePlan(ctx)
	if err != nil {
		return nil, err
	}
	w := e.Cut(p)
	if err := w.fits(); err != nil {
		return nil, err
	}
	w.Tag, w.Samples, w.Filtered = newTag(), e.Samples, e.Filtered != ""
	dir := at.Join(dirPrefix + w.Tag)
	w.Dir = dir.URI()
	s := &Submission{Tag: w.Tag, Dir: w.Dir, Maps: w.Maps, Reduces: len(w.Reduces), Weights: p.Weights}
	j := e.job(w, dir, program)
	if err := j.Validate(); err != nil {
		return nil, fail.With(fail.Config, fmt.Errorf("the job cannot be handed to Hadoop: %w", err))
	}
	environ, release, err := e.environ()
	if err != nil {
		return nil, err
	}
	defer release()
	stores, err := e.Env.ShipStores(ctx, w.Plan.Job.Inputs)
	if err != nil {
		return nil, err
	}
	if stores != nil {
		j.Secrets = map[string][]byte{storesSecret: stores}
	}
	if err := e.Journal.Submitting(*s); err != nil {
		return nil, err
	}
	if err := e.ship(ctx, w, dir); err != nil {
		return nil, err
	}
	e.Events.Note("submitting to YARN", "maps", s.Maps, "reduces", s.Reduces, "queue", cmp.Or(e.Queue, "default"), "client", strings.Join(client.Command, " "))
	id, err := client.Submit(ctx, j, environ)
	if ctx.Err() != nil {
		s.Application = id
		return nil, e.stopped(ctx, *s)
	}
	if s.Application = id; err != nil && id == "" {
		return s, e.submitted(ctx, s, err)
	}
	return s, e.Journal.Submitted(*s)
}

// submitted determines whether a client that failed has submitted its job.
func (e *Engine) submitted(ctx context.Context, s *Submission, cause error) error {
	all, err := e.yarn.AllByTag(ctx, s.Tag)
	if err != nil {
		return errors.Join(fail.With(fail.Load, cause), e.unreachable(*s, err))
	}
	if len(all) > 0 {
		s.Application = all[len(all)-1].ID
		return e.Journal.Submitted(*s)
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	return errors.Join(fail.With(fail.Check, fmt.Errorf("the job was not submitted: %w", cause)), e.ended(ctx, *s, "it was not submitted"))
}

// job returns the job description for Hadoop Streaming.
func (e *Engine) job(w *Work, dir hdfsio.Location, program string) streaming.Job {
	m, r := cmp.Or(e.MapMemory, DefaultMapMemory), cmp.Or(e.ReduceMemory, DefaultReduceMemory)
	j := streaming.Job{
		Name: "bulkload " + w.Plan.Job.Table, Queue: e.Queue, Tags: []string{w.Tag},
		Input: dir.Join(itemsName).URI(), Output: dir.Join(outName).URI(), Reduces: len(w.Reduces),
		Files:  []streaming.File{{Path: program, Name: programName}, {Path: dir.Join(WorkName).URI(), Name: WorkName}},
		Mapper: []string{programName, "task", "map"}, Reducer: []string{programName, "task", "reduce"},
		MapMemoryMB: m, ReduceMemoryMB: r, MapHeapMB: mapHeap, ReduceHeapMB: reduceHeap, MapCores: 1, ReduceCores: 1,
		Properties: map[string]string{},
	}
	if len(w.Reduces) > 1 {
		j.Partitions = dir.Join(partitionsName).URI()
	}
	for _, input := range w.Plan.Job.Inputs {
		if l, err := placeOf(e.Env, input); err == nil && !l.Local() {
			if cluster.IsTable(input) {
				j.Properties[cluster.RootDirKey] = l.URI() // Hadoop's client does not have HBase's configuration
			}
			if base := l.Scheme + "://" + l.Authority; !slices.Contains(j.FileSystems, base) {
				j.FileSystems = append(j.FileSystems, base)
			}
		}
	}
	// Hadoop's client needs the cluster settings of the command line too.
	if p, ok := e.Env.Conf.Lookup("fs.defaultFS"); ok && strings.HasPrefix(p.File, "--") {
		j.Properties["fs.defaultFS"] = p.Value
	}
	return j
}

// ship writes the files that tasks need into the job's directory.
func (e *Engine) ship(ctx context.Context, w *Work, dir hdfsio.Location) error {
	b, err := share.Seal(w, &w.Checksum)
	if err != nil {
		return err
	}
	var parts strings.Builder
	if err := streaming.WritePartitions(&parts, w.partitionKeys()); err != nil {
		return err
	}
	for _, d := range []string{"", errorsName, mapsName} {
		if err := e.fs.MkdirAll(ctx, path.Join(dir.Path, d), 0o700); err != nil {
			return fail.With(fail.HDFS, err)
		}
	}
	for name, text := range map[string][]byte{WorkName: b, itemsName: w.items(), partitionsName: []byte(parts.String())} {
		if err := share.WriteOnce(ctx, e.fs, path.Join(dir.Path, name), text); err != nil {
			return fail.With(fail.HDFS, err)
		}
	}
	return nil
}

// environ returns the environment of Hadoop's client. release removes temporary files.
func (e *Engine) environ() (env []string, release func(), err error) {
	env = os.Environ()
	if !e.Env.Conf.Kerberos(hdfsio.HadoopAuthentication) {
		user, err := e.Env.Conf.User()
		if err != nil {
			return nil, nil, fail.With(fail.Config, err)
		}
		return append(env, "HADOOP_USER_NAME="+user), func() {}, nil
	}
	cache, release, err := clientCache(e.Env)
	if err != nil {
		return nil, nil, err
	}
	if cache != "" {
		env = append(env, "KRB5CCNAME="+cache)
	}
	return env, release, nil
}

// placeOf returns the location of an input. The location of a table is HBase's root directory.
func placeOf(env *cluster.Env, input string) (hdfsio.Location, error) {
	if !cluster.IsTable(input) {
		return env.Conf.Resolve(input)
	}
	root, err := env.RootDir("input " + input)
	if err != nil {
		return hdfsio.Location{}, err
	}
	return env.Conf.Resolve(root)
}

// RefuseInputs returns an error for inputs that nodes cannot read: local files, streams, and tables that region servers scan.
func RefuseInputs(env *cluster.Env, s spec.Job) error {
	places := streams.Places(s.Inputs)
	for i, input := range s.Inputs {
		if cluster.IsTable(input) && s.ReadBy == string(tablesource.ByScan) {
			return fail.Errorf(fail.Config, "input %s: %w", input, abilities.Refusal(abilities.Input, abilities.YARN))
		}
		if objectstore.CanShip(input) {
			continue
		}
		if objectstore.IsName(input) {
			return fail.With(fail.Config, fmt.Errorf("input %s: %w", input, abilities.Refusal(abilities.Run, abilities.YARN)))
		}
		l, err := placeOf(env, input)
		if err != nil && places[i] == "" {
			return fail.With(fail.Config, err)
		}
		if places[i] != "" || l.Local() {
			return fail.With(fail.Config, setting.Errorf("%s is local, and with %s yarn nodes read the input: put it on HDFS, or build with %s local", input, setting.Engine, setting.Engine))
		}
	}
	return nil
}

// connect returns a client of YARN's servers, located by the configuration of Hadoop's client.
func connect(env *cluster.Env) (*yarn.Client, error) {
	conf, err := yarnConf(env.Conf)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	o := yarn.Options{}
	if o.Addresses, err = yarn.FromConf(conf.Value); err != nil {
		return nil, fail.With(fail.Config, fmt.Errorf("YARN is not known: %w", err))
	}
	if slices.ContainsFunc(slices.Concat(o.ResourceManagers, []string{o.History}), func(a string) bool { return strings.HasPrefix(a, "https:") }) {
		if o.TLS, err = env.WebTLS(); err != nil {
			return nil, fail.With(fail.Config, fmt.Errorf("YARN has TLS: %w", err))
		}
	}
	if conf.Kerberos(hdfsio.HadoopAuthentication) {
		login, err := env.Login()
		if err != nil {
			return nil, err
		}
		if err := o.Secure(login, conf.Value); err != nil {
			return nil, fail.With(fail.Config, err)
		}
	} else if o.User, err = conf.User(); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	c, err := yarn.New(o)
	return c, fail.With(fail.Config, err)
}

// yarnConf reads the files of YARN and MapReduce in addition to the base configuration.
func yarnConf(base *hdfsio.Conf) (*hdfsio.Conf, error) {
	lookup := base.Env
	if lookup == nil {
		lookup = os.LookupEnv
	}
	conf := &hdfsio.Conf{Env: base.Env}
	seen := map[string]bool{}
	for _, name := range []string{"HADOOP_CONF_DIR", "YARN_CONF_DIR"} {
		dir, ok := lookup(name)
		if !ok || dir == "" || seen[filepath.Clean(dir)] {
			continue
		}
		seen[filepath.Clean(dir)] = true
		for _, file := range []string{"core-site.xml", "yarn-site.xml", "mapred-site.xml"} {
			if err := conf.ReadFile(filepath.Join(dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	if len(seen) == 0 {
		return nil, errors.New("set HADOOP_CONF_DIR to the directory with core-site.xml, yarn-site.xml and mapred-site.xml")
	}
	return conf, nil
}

// clientCache returns the name of the ticket cache for Hadoop's client, empty for its default. For a keytab, which is not passed on, it
// creates a cache that only the user can read, and that release removes.
func clientCache(env *cluster.Env) (name string, release func(), err error) {
	release = func() {}
	if env.Identity.Keytab == "" {
		if name = env.Identity.Cache; name != "" && !strings.Contains(name, ":") {
			name = "FILE:" + name
		}
		return name, release, nil
	}
	login, err := env.Login()
	if err != nil {
		return "", release, err
	}
	dir, err := os.MkdirTemp("", "bulkload-tickets-*") // mode 0700
	if err != nil {
		return "", release, fail.With(fail.HDFS, err)
	}
	release = func() { os.RemoveAll(dir) }
	file := filepath.Join(dir, "ccache")
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = errors.Join(login.WriteCache(f), f.Close())
	}
	if err != nil {
		release()
		return "", func() {}, fail.With(fail.HDFS, err)
	}
	return "FILE:" + file, release, nil
}
