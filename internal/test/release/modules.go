package release

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"strings"
)

// component is a part of a CycloneDX bill of materials, as far as a Go binary says.
type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl,omitempty"`
}

// Modules is the bill of materials of a Go program, in CycloneDX's JSON: what the
// compiler has recorded in it, which no other file can contradict.
func Modules(program []byte, version string) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, fmt.Errorf("modules of the program: %w", err)
	}
	of := func(path, version string) component {
		return component{Type: "library", Name: path, Version: version, PURL: "pkg:golang/" + path + "@" + version}
	}
	parts := []component{of("stdlib", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, of(m.Path, m.Version))
	}
	b, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata":   map[string]any{"component": component{Type: "application", Name: "bulkload", Version: version}},
		"components": parts,
	}, "", "  ")
	return append(b, '\n'), err
}
