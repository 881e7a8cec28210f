package hfile

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
)

// Name returns a name for the file that the arguments describe, as HBase names store files: 32 lower-case hexadecimal digits
// (StoreFileWriter.getUniqueFile, 2.6). HBase draws them at random; these follow from the description, so that an attempt that is repeated
// gives its files the names that they had.
func Name(format string, args ...any) string {
	sum := md5.Sum(fmt.Appendf(nil, format, args...))
	return hex.EncodeToString(sum[:])
}
