package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"bulkload/internal/formats/spool"
	"bulkload/internal/formats/yamlfile"
	"bulkload/internal/model/spec"

	"github.com/spf13/cobra"
)

// readConfig reads the configuration file that a command is given, else the first existing file of the default
// locations.
func (s *Settled) readConfig(cmd *cobra.Command, env map[string]string, known []string) (spec.Options, error) {
	name, from := "", ""
	f := cmd.Flags().Lookup("config")
	switch {
	case f != nil && f.Changed:
		name, from = f.Value.String(), "flag --config"
		if name == "" {
			return nil, nil // no file at all
		}
	case env["BULKLOAD_CONFIG"] != "":
		name, from = env["BULKLOAD_CONFIG"], "environment variable BULKLOAD_CONFIG"
	}
	places := []string{name}
	if name == "" {
		places = configPlaces(env)
	}
	for _, place := range places {
		// Without an explicit file, a home directory that is missing or inaccessible has no file.
		if _, err := os.Stat(place); err != nil && name == "" {
			continue
		}
		b, err := spool.ReadAtMost(cmd.Context(), place, yamlfile.MaxSize)
		if err != nil {
			if from != "" {
				return nil, fmt.Errorf("configuration file of %s: %w", from, err)
			}
			return nil, fmt.Errorf("configuration file: %w (--config '' reads none)", err)
		}
		s.configFile = place
		options, err := spec.ParseOptions(place, b)
		if err != nil {
			return nil, err
		}
		if options, err = s.renameOptions("config file "+place, options); err != nil {
			return nil, err
		}
		return options, CheckNames("config file "+place, options, known, false)
	}
	return nil, nil
}

// configPlaces returns the default paths of the configuration file.
func configPlaces(env map[string]string) []string {
	var places []string
	if dir := env["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
		places = append(places, filepath.Join(dir, "bulkload", "config.yaml"))
	} else if home := env["HOME"]; home != "" {
		places = append(places, filepath.Join(home, ".config", "bulkload", "config.yaml"))
	}
	return append(places, "/etc/bulkload.yaml")
}

// JobSpec returns the job file, or an empty spec if there is none; the caller may change it.
func (s *Settled) JobSpec() spec.Spec {
	if s.spec == nil {
		return spec.Spec{}
	}
	return *s.spec
}

func (s *Settled) readJob(cmd *cobra.Command, env map[string]string, known []string) error {
	f := cmd.Flags().Lookup("job")
	if !IsJobFile(f) {
		return nil
	}
	s.jobFile = f.Value.String()
	from := ""
	if !f.Changed {
		s.jobFile, from = env[Variable("job")], " of environment variable "+Variable("job")
	}
	if s.jobFile == "" {
		return nil
	}
	b, err := spool.ReadAtMost(cmd.Context(), s.jobFile, yamlfile.MaxSize)
	if err != nil {
		return fmt.Errorf("job file%s: %w", from, err)
	}
	if s.spec, err = spec.ParseSpec(s.jobFile, b); err != nil {
		return err
	}
	s.lines = spec.FieldLines(b)
	s.renameFields()
	if s.spec.Options, err = s.renameOptions("job file "+s.jobFile, s.spec.Options); err != nil {
		return err
	}
	own := slices.DeleteFunc(slices.Clone(known), IsField)
	return CheckNames("job file "+s.jobFile, s.spec.Options, own, true)
}
