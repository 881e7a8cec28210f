package lineage

import (
	"cmp"
	"fmt"
	"strings"

	"bulkload/internal/cli/deliver"
)

// endpoint is the path at which OpenLineage servers receive events.
const endpoint = "api/v1/lineage"

// Open returns the sink for a flag's value, which is a file name or a server's address. For "" it uses OpenLineage's own
// environment variables. The result is nil if no events are wanted.
func Open(to string, env func(string) string) (Sink, error) {
	if disabled := env("OPENLINEAGE_DISABLED"); to == "" && strings.EqualFold(disabled, "true") {
		return nil, nil
	}
	key := env("OPENLINEAGE_API_KEY")
	if to == "" {
		address := env("OPENLINEAGE_URL")
		if address == "" {
			return nil, nil
		}
		target, err := deliver.ParseTarget(address)
		if err != nil {
			return nil, fmt.Errorf("OPENLINEAGE_URL: %w", err)
		}
		return httpSink{target.Join(cmp.Or(env("OPENLINEAGE_ENDPOINT"), endpoint)), key}, nil
	}
	if deliver.IsAddress(to) {
		target, err := deliver.ParseTarget(to)
		if err != nil {
			return nil, err
		}
		if !target.HasPath() {
			target = target.Join(endpoint)
		}
		return httpSink{target, key}, nil
	}
	name := strings.TrimPrefix(to, "file://")
	if scheme, _, ok := strings.Cut(name, "://"); ok {
		return nil, fmt.Errorf("events go to a file or to http:// or https://, not to %s://", scheme)
	}
	return File(name), nil
}
