package setting_test

import (
	"errors"
	"fmt"

	"bulkload/pkg/setting"
)

// The library names a setting; the caller determines how it is written.
func ExampleIn() {
	err := fmt.Errorf("job t: %w", setting.Errorf("%w (give more %s, or fewer %s)", errors.New("no room"), setting.Memory, setting.Workers))
	fmt.Println(err)
	fmt.Println(setting.In(err, func(n setting.Name) string { return "Options." + string(n) }))
	// Output:
	// job t: no room (give more `memory`, or fewer `workers`)
	// job t: no room (give more Options.memory, or fewer Options.workers)
}
