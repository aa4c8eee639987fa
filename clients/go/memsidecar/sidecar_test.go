package memsidecar_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
)

const startTimeout = time.Minute

// sidecar is the real process on a data directory of its own.
type sidecar struct {
	data, socket string
	settings     map[string]string
	process      *exec.Cmd
	exited       chan struct{}
}

// fast starts a second sooner than with a model, and finds by words.
var fast = map[string]string{"embedding.provider": "use", "health.port": "0", "metrics.port": "0"}

func newSidecar(folder string, settings map[string]string) *sidecar {
	return &sidecar{
		data: filepath.Join(folder, "data"), socket: filepath.Join(folder, "s"), settings: settings,
	}
}

// startSidecar is a sidecar of the test's own, which it may kill.
func startSidecar(t *testing.T, settings map[string]string) *sidecar {
	t.Helper()
	// A socket's path is short, a test's folder is not.
	folder, err := os.MkdirTemp("", "ms-")
	if err != nil {
		t.Fatal(err)
	}
	s := newSidecar(folder, settings)
	t.Cleanup(func() {
		s.kill()
		_ = os.RemoveAll(folder)
	})
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *sidecar) target() string { return "unix://" + s.socket }

// start returns when the process answers.
func (s *sidecar) start() error {
	python := os.Getenv("MEMSIDECAR_PYTHON")
	root, err := filepath.Abs("../../..")
	if err != nil {
		return err
	}
	if python == "" {
		python = filepath.Join(root, ".venv/bin/python")
	}
	words := []string{"-m", "memsidecar", "serve", "--data-dir", s.data, "--listen.socket", s.socket}
	for _, settings := range []map[string]string{fast, s.settings} {
		for key, value := range settings {
			words = append(words, fmt.Sprintf("--%s=%s", strings.ReplaceAll(key, "_", "-"), value))
		}
	}
	log, err := os.OpenFile(s.data+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // of a test
	s.process = exec.Command(python, words...)
	s.process.Stdout, s.process.Stderr = log, log
	s.process.Dir = root
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "MEMSIDECAR_") {
			s.process.Env = append(s.process.Env, variable)
		}
	}
	s.process.Env = append(s.process.Env, "PYTHONPATH="+root)
	if err := s.process.Start(); err != nil {
		return fmt.Errorf("%w (MEMSIDECAR_PYTHON names the interpreter)", err)
	}
	process, exited := s.process, make(chan struct{})
	s.exited = exited
	go func() {
		_ = process.Wait()
		close(exited)
	}()
	client, err := memsidecar.New(s.target())
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // of a test
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	go func() {
		select {
		case <-exited: // there is nothing to wait for
			cancel()
		case <-ctx.Done():
		}
	}()
	if _, err := client.Ready(ctx); err != nil {
		s.kill()
		written, _ := os.ReadFile(s.data + ".log")
		return fmt.Errorf("%w\n%s", err, written)
	}
	return nil
}

// kill is SIGKILL, and waits until the process is gone.
func (s *sidecar) kill() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		<-s.exited
		s.process = nil
	}
}

// stop is SIGTERM: the sidecar drains; start or kill follows.
func (s *sidecar) stop() { _ = s.process.Process.Signal(syscall.SIGTERM) }

// damage alters what the ledger of a stopped sidecar says of what "gets damaged".
func (s *sidecar) damage() error {
	path := filepath.Join(s.data, "ledger.db")
	written, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	altered := bytes.ReplaceAll(written, []byte("gets damaged"), []byte("gets Damaged"))
	if bytes.Equal(altered, written) {
		return errors.New("the ledger has nothing that gets damaged")
	}
	return os.WriteFile(path, altered, 0o600)
}

func (s *sidecar) client(t *testing.T, options ...memsidecar.Option) *memsidecar.Client {
	t.Helper()
	return clientOf(t, s.target(), options...)
}

func clientOf(t *testing.T, target string, options ...memsidecar.Option) *memsidecar.Client {
	t.Helper()
	client, err := memsidecar.New(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// sharedSidecar serves all tests that kill nothing; each has a user of its own.
type sharedSidecar struct {
	once    sync.Once
	folder  string
	sidecar *sidecar
	err     error
}

var shared sharedSidecar

func (s *sharedSidecar) start() (*sidecar, error) {
	s.once.Do(func() {
		if s.folder, s.err = os.MkdirTemp("", "ms-"); s.err == nil {
			s.sidecar = newSidecar(s.folder, nil)
			s.err = s.sidecar.start()
		}
	})
	return s.sidecar, s.err
}

func (s *sharedSidecar) close() {
	if s.sidecar != nil {
		s.sidecar.kill()
		_ = os.RemoveAll(s.folder)
	}
}

// within is a context for one test.
func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}
