package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/kerberos"
)

// TestTokens checks that there is no login if tokens are supplied. The token that names the file system is used, or the only one; otherwise
// it is an error.
func TestTokens(t *testing.T) {
	conf := &hdfsio.Conf{Env: func(name string) (string, bool) { return "tina", name == "HADOOP_USER_NAME" }}
	conf.Set(hdfsio.HadoopAuthentication, "kerberos", "the test")
	token := func(kind, service string) *kerberos.Token { return &kerberos.Token{Kind: kind, Service: service} }
	ha := hdfsio.Location{Scheme: "hdfs", Authority: "bulk", Addresses: []string{"a:8020", "b:8020"}, Logical: true}
	one := hdfsio.Location{Scheme: "hdfs", Authority: "127.0.0.1:8020", Addresses: []string{"127.0.0.1:8020"}}
	first, second, other := token(hdfsToken, "ha-hdfs:bulk"), token(hdfsToken, "127.0.0.1:8020"), token("mapreduce.job", "127.0.0.1:8020")
	for what, c := range map[string]struct {
		tokens []*kerberos.Token
		at     hdfsio.Location
		want   *kerberos.Token
	}{
		"a name service":         {[]*kerberos.Token{other, second, first}, ha, first},
		"an address":             {[]*kerberos.Token{other, first, second}, one, second},
		"the only one":           {[]*kerberos.Token{other, first}, one, first},
		"none of this kind":      {[]*kerberos.Token{other}, one, nil},
		"two, of other clusters": {[]*kerberos.Token{token(hdfsToken, "x:1"), token(hdfsToken, "y:1")}, one, nil},
	} {
		e := &Env{Conf: conf, Log: slog.New(slog.DiscardHandler), Tokens: c.tokens}
		o := hdfsio.HDFSOptions{User: "tina"}
		err := e.secureHDFS(c.at, &o)
		if c.want == nil {
			if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), c.at.Authority) {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if err != nil || o.Security.Token != c.want || o.Security.Kerberos != nil || o.User != "tina" {
			t.Errorf("%s: %+v, %v", what, o.Security, err)
		}
		if user, err := e.User(); err != nil || user != "tina" {
			t.Errorf("%s: user %s, %v", what, user, err)
		}
	}
}

// TestLentTokens checks that a token is lent for an hour, and that earlier ones, which calls may still use, are canceled only when the environment is
// closed.
func TestLentTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Env{Log: slog.New(slog.DiscardHandler)}
		var canceled []string
		got := 0
		get := func(context.Context, string) (*kerberos.Token, func(context.Context) error, error) {
			got++
			name := fmt.Sprint("token ", got)
			return &kerberos.Token{Identifier: []byte(name)}, func(context.Context) error {
				canceled = append(canceled, name)
				return nil
			}, nil
		}
		for _, want := range []string{"token 1", "token 1", "token 2", "token 2", "token 3"} {
			token, err := e.lend(t.Context(), "ha-hdfs:bulk", get)
			testcheck.Must(t, err)
			if string(token.Identifier) != want || token.Service != "ha-hdfs:bulk" || len(canceled) > 0 {
				t.Errorf("%s for %s, want %s; canceled %q", token.Identifier, token.Service, want, canceled)
			}
			<-time.After(tokenAge / 2)
		}
		<-time.After(tokenAge / 2)
		since := time.Now()
		if _, err := e.lend(t.Context(), "ha-hdfs:bulk", func(ctx context.Context, _ string) (*kerberos.Token, func(context.Context) error, error) {
			<-ctx.Done()
			return nil, nil, ctx.Err()
		}); err == nil || time.Since(since) != tokenWait {
			t.Errorf("no NameNode, with an earlier token: %v after %s", err, time.Since(since))
		}
		e.closeSecrets()
		if want := []string{"token 1", "token 2", "token 3"}; !slices.Equal(canceled, want) {
			t.Errorf("canceled %q, want %q", canceled, want)
		}
	})
}
