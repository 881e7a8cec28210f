package listing

import (
	"syscall"
	"time"
)

// sysIdentity returns the device and inode of a local file, and the time of its last change.
func sysIdentity(sys any) (device, file uint64, changed time.Time) {
	if st, ok := sys.(*syscall.Stat_t); ok {
		return st.Dev, st.Ino, time.Unix(st.Ctim.Unix())
	}
	return 0, 0, time.Time{}
}
