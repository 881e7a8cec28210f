package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/cli/schema"
	"bulkload/internal/cli/settings"
	"bulkload/internal/model/spec"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compileSchema compiles a schema with a third-party validator.
func compileSchema(t *testing.T, s *schema.Schema) *jsonschema.Schema {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("bulkload.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("bulkload.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

// TestJobSchema compares the schema with the program: both must accept the same files.
func TestJobSchema(t *testing.T) {
	root := newRootCmd(&globals{})
	s := compileSchema(t, schema.Job(root))
	examples, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(examples) < 2 {
		t.Fatalf("%d examples, %v", len(examples), err)
	}
	for _, name := range examples {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, string(b)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	known := settings.Known(root)
	own := slices.DeleteFunc(slices.Clone(known), settings.IsField)
	program := func(text string) error {
		spec, err := spec.ParseSpec("job.yaml", []byte(text))
		if err == nil {
			_, err = spec.Resolve()
		}
		if err == nil {
			err = settings.CheckNames("job.yaml", spec.Options, own, true)
		}
		return err
	}
	for _, c := range []struct {
		text string
		good bool
	}{
		{"key: id\n", true},
		{"key: id\ninputs: [a, b]\ntimestamp: 5\nbad_records: 10\nblock_size: 65536\nregions: 4\n", true},
		{"key: id\nsalt_buckets: 4\n", true}, {"key: id\nsalt_buckets: many\n", false},
		{"key: id\nbad_records: 1%\nblock_size: 64KiB\nheader: no\n", true},
		{"key: id\ncells:\n- {column: a, type: 'decimal(18,2)'}\n", true},
		{"key: id\ncells:\n- {column: a, type: 'decimal(18)'}\n", false},
		{"key: id\ncells:\n- {column: a, type: decimals}\n", false},
		{"key: id\ncells:\n- {column: a, type: decimal, encoding: phoenix}\n- {value: 2, qualifier: v}\n- {json: true, qualifier: 1, columns: [a]}\n- rest: true\nskip: [x]\n", true},
		{"key: id\ncell_timestamp: {column: a, layout: unix}\ncell_ttl: {column: b, unit: ms}\n", true},
		{"key: id\noptions:\n  memory: 2GiB\n  workers: 4\n  spill_dir: /x\n  keep_staging: true\n  max_files: 3\n  log_level: debug\n  time_zone: Asia/Shanghai\n", true},
		{"key: id\npartitions: off\n", true}, {"key: id\npartitions: auto\nwhere: dt=1\n", true}, {"key: id\npartitions: [dt]\nwhere: [dt=1, h=2]\n", true},
		{"key: id\nnull_value: ''\n", true}, {"key: id\nnull_value: ['NULL', '', 0]\n", true}, {"key: id\nnull_value: 0\n", true}, {"key: id\npositions: id=1-6\n", true},
		{"key: id\nquery: id\n", false}, {"key: id\ncolumns: id\n", false}, {"key: id\nskip: a\n", false}, {"key: id\nnull_value: {a: b}\n", false},
		{"key: id\ntable: 5\nfamily: 1\nempty:\ntimestamp: '5'\ncells:\n- {column: 5, qualifier: true}\n- {value: false, qualifier: 1.5}\noptions: {staging: 5, job_id: true}\n", true},
		{"keyy: id\n", false},
		{"key: id\nverify: ful\n", false},
		{"key: id\ninputs: [[a]]\n", false},
		{"key: id\ntimestamp: soon\n", false},
		{"key: id\nblock_size: big\n", false},
		{"key: id\ncells:\n- {colum: a}\n", false},
		{"key: id\ncells:\n- {column: a, type: integer}\n", false},
		{"key: id\ncell_ttl: {column: b, unit: h}\n", false},
		{"key: id\noptions: {memry: 2GiB}\n", false},
		{"key: id\noptions: {verify: full}\n", false},
		{"key: id\noptions: {restart: true}\n", false},
		{"key: id\noptions: {memory: {a: b}}\n", false},
		{"key: id\noptions: [memory]\n", false},
	} {
		if err := validate(t, s, c.text); (err == nil) != c.good {
			t.Errorf("the schema says of %q: %v", c.text, err)
		}
		if err := program(c.text); (err == nil) != c.good {
			t.Errorf("the program says of %q: %v", c.text, err)
		}
	}
}

// TestSchemaOfValues compares the schema of each field with the program: numbers and booleans without quotes, and null, are texts or absent. 5.0 and 0x10
// are left out: JSON has one number for them and the integer. So are fields with a list of values, which the program checks later.
func TestSchemaOfValues(t *testing.T) {
	s := compileSchema(t, schema.Job(newRootCmd(&globals{})))
	for _, f := range spec.SpecFields() {
		if len(f.Enum) > 0 {
			continue
		}
		for _, value := range []string{"x", "5", "'5'", "0", "1.5", "-1", "'-1'", "'1.5'", "007", "1e3", "true", "'true'", "no", "null", "", "2026-01-02", "!!str 5",
			"[]", "[x]", "[5]", "[1.5]", "[true]", "[null]", "[[x]]", "[{a: b}]", "{a: b}"} {
			text := "key: id\n"
			if f.Name == "key" {
				text = ""
			}
			text += f.Name + ": " + value + "\n"
			_, program := spec.ParseSpec("job.yaml", []byte(text))
			if f.Type == spec.FieldSettings && value == "{a: b}" || f.Type == spec.FieldObjects && value == "[null]" { // checked later
				continue
			}
			if err := validate(t, s, text); (err == nil) != (program == nil) {
				t.Errorf("%q: the schema says %v, the program %v", text, err, program)
			}
		}
	}
}

func TestConfigSchema(t *testing.T) {
	s := compileSchema(t, schema.Config(newRootCmd(&globals{})))
	for text, good := range map[string]bool{
		"memory: 2GiB\nverify: full\nzookeeper: a:2181\ninput: [a, b]\nget_format: csv\nquiet: true\nskew: 1.5\n": true,
		"stalled_after: 10m\n": true, "stalled_after: 1h30m\n": true, "stalled_after: 0\n": true, "stalled_after: 600\n": false, "stalled_after: soon\n": false, "older_than: 7d\n": true, "older_than: 5\n": false,
		"memry: 1\n": false, "workers: many\n": false, "quiet: 3\n": false, "yes: true\n": false, "cells: []\n": false,
	} {
		if err := validate(t, s, text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}
