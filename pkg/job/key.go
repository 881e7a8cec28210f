package job

import (
	"fmt"

	"bulkload/pkg/partition"
)

// Key is a row key that prints as text: printable ASCII as it is, other bytes
// as \xNN, backslash and comma behind a backslash.
type Key []byte

// MarshalText prints the key.
func (k Key) MarshalText() ([]byte, error) { return []byte(partition.FormatKey(k)), nil }

// UnmarshalText reads what MarshalText printed.
func (k *Key) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*k = Key{}
		return nil
	}
	keys, err := partition.ParseSplits(string(text))
	if err != nil || len(keys) != 1 {
		return fmt.Errorf("row key %q is not one key: %w", text, err)
	}
	*k = keys[0]
	return nil
}
