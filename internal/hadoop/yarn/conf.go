package yarn

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"bulkload/pkg/setting"
)

// Addresses are the servers of a cluster, web servers as scheme://host:port.
type Addresses struct {
	// ResourceManagers has one address, or several with high availability, where one of them is active.
	ResourceManagers []string
	// Calls has the addresses of the ResourceManagers' RPC, host:port.
	Calls []string
	// History is MapReduce's history server, empty if it is not configured.
	History string
}

// maxManagers limits the number of yarn.resourcemanager.ha.rm-ids.
const maxManagers = 16

// FromConf reads the addresses from yarn-site.xml and mapred-site.xml as Hadoop does. value returns a key's value,
// "" if it is not set.
func FromConf(value func(key string) string) (Addresses, error) {
	var a Addresses
	const rm = "yarn.resourcemanager."
	ids := []string{""}
	if strings.EqualFold(strings.TrimSpace(value(rm+"ha.enabled")), "true") {
		ids = ids[:0]
		for _, id := range setting.List(value(rm + "ha.rm-ids")) {
			ids = append(ids, "."+id)
		}
		if len(ids) == 0 || len(ids) > maxManagers {
			return a, fmt.Errorf("%sha.rm-ids names %d ResourceManagers: 1 to %d are expected where %[1]sha.enabled is true", rm, len(ids), maxManagers)
		}
	}
	secure := onlyTLS(value("yarn.http.policy"))
	for _, id := range ids {
		key, port := rm+"webapp.address", "8088"
		if secure {
			key, port = rm+"webapp.https.address", "8090"
		}
		host := value(rm + "hostname" + id)
		if host == "" && id != "" {
			host = value(rm + "hostname")
		}
		end, err := endpoint(secure, value(key+id), host, port)
		if err != nil {
			return a, fmt.Errorf("%s%s or %shostname%s: %w", key, id, rm, id, err)
		}
		a.ResourceManagers = append(a.ResourceManagers, end)
		call := strings.TrimSpace(cmp.Or(value(rm+"address"+id), host, "0.0.0.0"))
		if _, _, err := net.SplitHostPort(call); err != nil {
			call = net.JoinHostPort(call, "8032")
		}
		a.Calls = append(a.Calls, call)
	}
	secure = onlyTLS(value("mapreduce.jobhistory.http.policy"))
	key, port := "mapreduce.jobhistory.webapp.address", "19888"
	if secure {
		key, port = "mapreduce.jobhistory.webapp.https.address", "19890"
	}
	if value(key) == "" {
		return a, nil
	}
	end, err := endpoint(secure, value(key), "", port)
	if err != nil {
		return a, fmt.Errorf("%s: %w", key, err)
	}
	a.History = end
	return a, nil
}

func onlyTLS(policy string) bool { return strings.EqualFold(strings.TrimSpace(policy), "HTTPS_ONLY") }

// endpoint returns the base address of an authority host:port, or of a host with its default port.
func endpoint(secure bool, authority, host, port string) (string, error) {
	authority = strings.TrimSpace(authority)
	authority = cmp.Or(authority, strings.TrimSpace(host))
	if authority == "" {
		return "", errors.New("is not set: is this the configuration of a client of YARN (yarn-site.xml)?")
	}
	h, p, err := net.SplitHostPort(authority)
	if err != nil {
		h, p = authority, port
	}
	if ip := net.ParseIP(h); h == "" || ip != nil && ip.IsUnspecified() {
		return "", fmt.Errorf("%q is where a server listens, not where a client finds it: name the host", authority)
	}
	scheme := "http"
	if secure {
		scheme = "https"
	}
	u, err := url.Parse(scheme + "://" + net.JoinHostPort(h, p))
	if err != nil || u.Hostname() != h || u.Port() != p || u.Path != "" {
		return "", fmt.Errorf("%q is not an address", authority)
	}
	return u.String(), nil
}
