package hfile

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
)

// Name returns a name for the file that the arguments describe, in the form of HBase's store file names: 32 lower-case hexadecimal digits
// (StoreFileWriter.getUniqueFile, 2.6). HBase draws names at random; Name derives them from the description, so that a repeated attempt
// gives its files the same names.
func Name(format string, args ...any) string {
	sum := md5.Sum(fmt.Appendf(nil, format, args...))
	return hex.EncodeToString(sum[:])
}
