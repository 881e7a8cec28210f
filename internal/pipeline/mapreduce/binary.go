package mapreduce

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"

	"bulkload/internal/model/fail"
)

// ownBinary returns the program that tasks run: this one, if it is linked statically.
func ownBinary() (string, error) {
	name, err := os.Executable()
	if err == nil {
		name, err = filepath.EvalSymlinks(name)
	}
	if err != nil {
		return "", fail.With(fail.Config, fmt.Errorf("find this program, which nodes run: %w", err))
	}
	return name, fail.With(fail.Config, checkBinary(name))
}

// checkBinary refuses a program that nodes may not be able to run.
func checkBinary(name string) error {
	f, err := elf.Open(name)
	if err != nil {
		return fmt.Errorf("%s cannot run on nodes, which run Linux: %w", name, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is linked dynamically, and nodes may lack its libraries: build it with CGO_ENABLED=0", name)
		}
	}
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return fmt.Errorf("%s is not a program", name)
	}
	return nil
}

// processorOf returns the processor architecture of a program, as Go names it.
func processorOf(name string) (string, error) {
	f, err := elf.Open(name)
	if err != nil {
		return "", fmt.Errorf("%s cannot run on nodes, which run Linux: %w", name, err)
	}
	defer f.Close()
	for _, m := range machines {
		if m.elf == f.Machine {
			return m.goes, nil
		}
	}
	return f.Machine.String(), nil
}
