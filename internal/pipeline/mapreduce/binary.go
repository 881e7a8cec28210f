package mapreduce

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"

	"bulkload/internal/model/fail"
)

// ownBinary returns the path of the program that tasks run: this program, if it does not depend on the node's libraries.
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

// checkBinary returns an error for a program that nodes may be unable to run.
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

// processorOf returns the processor that a program is built for, as a GOARCH.
func processorOf(name string) (string, error) {
	f, err := elf.Open(name)
	if err != nil {
		return "", fmt.Errorf("%s cannot run on nodes, which run Linux: %w", name, err)
	}
	defer f.Close()
	for _, m := range machines {
		if m.elf == f.Machine {
			return m.goarch, nil
		}
	}
	return f.Machine.String(), nil
}
