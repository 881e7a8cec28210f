package testcluster

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// Admin runs the commands of testdata/cluster/java/Adm.java, HBase's own client, in one JVM that stays running.
// Commands of several goroutines run in sequence.
type Admin struct {
	mu     sync.Mutex
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errors *tailBuffer
	broken error
}

// Admin starts the JVM on the first call, which takes about 2 s, and returns the same one later. It ends with the
// cluster. On a cluster with Kerberos it acts as HBaseAdmin.
func (c *Cluster) Admin(ctx context.Context) (*Admin, error) { return c.AdminAs(ctx, HBaseAdmin) }

// AdminAs is [Cluster.Admin] for one of the users or daemons of a cluster with Kerberos, logged in by the keytab.
// Each has its own JVM.
func (c *Cluster) AdminAs(ctx context.Context, user string) (*Admin, error) {
	return c.keptAdmin(ctx, user, c.javaCommandAs(user, "Adm", "serve"))
}

// AdminSimple is [Cluster.Admin] for a client without credentials.
func (c *Cluster) AdminSimple(ctx context.Context, user string) (*Admin, error) {
	return c.keptAdmin(ctx, "simple "+user, c.javaCommandSimple(user, "Adm", "serve"))
}

func (c *Cluster) keptAdmin(ctx context.Context, key string, argv []string) (*Admin, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil, errStopped
	}
	if a := c.admins[key]; a != nil {
		if a.usable() {
			return a, nil
		}
		a.close()
		delete(c.admins, key)
	}
	a, err := c.startAdmin(ctx, argv)
	if err != nil {
		return nil, err
	}
	c.admins[key] = a
	return a, nil
}

func (c *Cluster) startAdmin(ctx context.Context, argv []string) (*Admin, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = c.clientEnvironment()
	a := &Admin{cmd: cmd, errors: &tailBuffer{}}
	cmd.Stderr = a.errors
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	a.in, a.out = in, bufio.NewReader(out)
	if err := c.spawner.start(cmd); err != nil {
		return nil, fmt.Errorf("start the admin client: %w", err)
	}
	if _, err := a.read(ctx, "serve"); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// Run runs one command and returns its output, without a newline at the end. If ctx ends first, it kills the JVM,
// since there is no other way to cancel the command, and the next Cluster.Admin starts another.
func (a *Admin) Run(ctx context.Context, args ...string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken != nil {
		return "", a.broken
	}
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = escape.Replace(arg)
	}
	if _, err := io.WriteString(a.in, strings.Join(words, "\t")+"\n"); err != nil {
		return "", a.fail(err)
	}
	return a.read(ctx, strings.Join(args, " "))
}

var (
	escape   = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)
	unescape = strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\r`, "\r")
)

func (a *Admin) read(ctx context.Context, what string) (string, error) {
	stop := context.AfterFunc(ctx, func() { a.cmd.Process.Kill() })
	defer stop()
	line, err := a.out.ReadString('\n')
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", a.fail(fmt.Errorf("admin client, %q: %w", what, err))
	}
	verdict, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
	text = unescape.Replace(text)
	if verdict != "ok" {
		return "", fmt.Errorf("admin client, %q: %s", what, text)
	}
	return text, nil
}

func (a *Admin) fail(err error) error {
	a.broken = fmt.Errorf("%w\n%s", err, a.errors.tail())
	return a.broken
}

func (a *Admin) usable() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.broken == nil
}

// close kills the JVM, so its exit status means nothing.
func (a *Admin) close() {
	a.in.Close()
	a.cmd.Process.Kill()
	a.cmd.Wait()
}

// Digest returns rows, cells and SHA-256 of a full scan of table, in the format that bench/gen prints with -format
// digest for its rows.
func (a *Admin) Digest(ctx context.Context, table string) (string, error) {
	return a.Run(ctx, "digest", table)
}

// Java runs Adm with these arguments in a new JVM and returns its standard output.
func (c *Cluster) Java(ctx context.Context, args ...string) (string, error) {
	return c.JavaClassAs(ctx, HBaseAdmin, "Adm", args...)
}

// JavaClass runs any main class of the jars with the cluster's configuration: HBase's HFilePrettyPrinter, ImportTsv,
// Hadoop's FsShell. It returns the standard output, and with an error the end of standard error. On a cluster with
// Kerberos it acts as HBaseAdmin.
func (c *Cluster) JavaClass(ctx context.Context, class string, args ...string) (string, error) {
	return c.JavaClassAs(ctx, HBaseAdmin, class, args...)
}

// JavaClassAs is [Cluster.JavaClass] for one of the users or daemons of a cluster with Kerberos, logged in
// by the keytab.
func (c *Cluster) JavaClassAs(ctx context.Context, user, class string, args ...string) (string, error) {
	return c.runJava(ctx, c.javaCommandAs(user, class, args...), class, args)
}

func (c *Cluster) runJava(ctx context.Context, argv []string, class string, args []string) (string, error) {
	out, err := c.spawner.output(ctx, nil, argv, c.clientEnvironment())
	if err != nil {
		return out, fmt.Errorf("java %s %s: %w", class, strings.Join(args, " "), err)
	}
	return out, nil
}

const clientHeapMB = 512

// javaCommandAs logs a user in through the class As, if the cluster has Kerberos.
func (c *Cluster) javaCommandAs(user, class string, args ...string) []string {
	if !c.state.Security.Kerberos {
		return c.javaCommandWith(nil, class, args...)
	}
	return c.javaCommandWith(asUser(c.layout, user), "As", append([]string{class}, args...)...)
}

func (c *Cluster) javaCommandSimple(user, class string, args ...string) []string {
	return c.javaCommandWith([]string{"-Dbulkload.simple=" + user}, "As", append([]string{class}, args...)...)
}

func (c *Cluster) javaCommandWith(flags []string, class string, args ...string) []string {
	argv := slices.Concat([]string{c.java}, javaFlags(clientHeapMB), flags, classData(c.lib))
	argv = append(argv, "-Dbulkload.log=WARN", "-XX:TieredStopAtLevel=1",
		"-cp", classPath(jarPath(c.lib), c.layout.conf(), c.classes), class)
	return append(argv, args...)
}

// tailBuffer keeps the end of the text written to it.
type tailBuffer struct {
	mu   sync.Mutex
	data []byte
}

func (b *tailBuffer) Write(p []byte) (int, error) {
	const most = 16 << 10
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data = append(b.data, p...)
	if len(b.data) > most {
		b.data = append(b.data[:0], b.data[len(b.data)-most:]...)
	}
	return len(p), nil
}

func (b *tailBuffer) tail() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return lastLines(string(b.data), logTail)
}
