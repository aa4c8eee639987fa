package memsidecar

import (
	"os"
	"path/filepath"
)

const (
	targetVariable = "MEMSIDECAR_TARGET"

	// Where a deployment mounts the sidecar's socket into the agent's container.
	podSocket = "/run/memsidecar/memsidecar.sock"

	// Where a plain `memsidecar serve` listens, below the home directory.
	userSocket = ".local/share/memsidecar/memsidecar.sock"
)

// DefaultTarget is the gRPC target of the sidecar on this machine: that of the
// variable MEMSIDECAR_TARGET, else of the socket that is there, in a pod or of a
// plain `memsidecar serve`, else of the one that will be when the sidecar has
// started.
func DefaultTarget() string {
	if named := os.Getenv(targetVariable); named != "" {
		return named
	}
	user := ""
	if home, err := os.UserHomeDir(); err == nil {
		user = filepath.Join(home, userSocket)
	}
	return "unix://" + socketOf(podSocket, user)
}

func socketOf(pod, user string) string {
	inPod := exists(pod) || (exists(filepath.Dir(pod)) && !exists(user))
	if inPod || !filepath.IsAbs(user) {
		return pod
	}
	return user
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
