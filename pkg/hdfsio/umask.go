package hdfsio

import (
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// usualUmask is the umask of Hadoop's clients and of most processes.
const usualUmask fs.FileMode = 0o022

// Masked returns a mode without the rights that other users do not get to a user's new files: those of the process's umask on a local disk, and
// on HDFS those of fs.permissions.umask-mode, as for Hadoop's clients. The owner keeps the given rights.
func Masked(fsys FS, perm fs.FileMode) fs.FileMode {
	mask := usualUmask
	switch f := fsys.(type) {
	case *HDFS:
		mask = f.options.Umask
	case Local:
		mask = processUmask()
	}
	return perm &^ (mask & 0o077)
}

// processUmask returns the process's umask where the system shows it: a call that returns it would change it for all goroutines.
func processUmask() fs.FileMode {
	status, err := os.ReadFile("/proc/self/status")
	if m := regexp.MustCompile(`(?m)^Umask:\s*([0-7]+)$`).FindSubmatch(status); err == nil && m != nil {
		return parseUmask(string(m[1]))
	}
	return usualUmask
}

// parseUmask interprets fs.permissions.umask-mode: octal, or the rights that remain, such as u=rwx,g=rx,o=. Other texts let nobody else in.
func parseUmask(text string) fs.FileMode {
	if text = strings.TrimSpace(text); text == "" {
		return usualUmask
	}
	if n, err := strconv.ParseUint(text, 8, 32); err == nil {
		return fs.FileMode(n) & 0o777
	}
	mask := fs.FileMode(0o777)
	for part := range strings.SplitSeq(text, ",") {
		who, rights, ok := strings.Cut(part, "=")
		if !ok || strings.Trim(who, "ugoa") != "" || strings.Trim(rights, "rwx") != "" {
			return 0o077
		}
		for _, right := range rights {
			bit := fs.FileMode(4) >> strings.IndexRune("rwx", right)
			for i, class := range "ugo" {
				if strings.ContainsRune(who, class) || strings.Contains(who, "a") {
					mask &^= bit << (6 - 3*i)
				}
			}
		}
	}
	return mask
}
