package memsidecar_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// No test leaves a goroutine behind, whatever it broke.
func TestMain(m *testing.M) {
	code := m.Run()
	shared.close()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}
