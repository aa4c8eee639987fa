package memsidecar_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
)

// The scenarios are one table for both clients; tests/clients/scenarios/README.md says
// how they are written.
const scenarioFolder = "../../../tests/clients/scenarios"

type scenario struct {
	Name   string            `yaml:"scenario"`
	Server map[string]string `yaml:"server"`
	Client struct {
		Timeout float64 `yaml:"timeout"`
		Token   string  `yaml:"token"`
	} `yaml:"client"`
	Steps []step `yaml:"steps"`
}

type step struct {
	Do     string            `yaml:"do"`
	With   map[string]any    `yaml:"with"`
	Expect map[string]any    `yaml:"expect"`
	Save   map[string]string `yaml:"save"`
	Error  *struct {
		Code, Reason, Field string
		Metadata            map[string]string
	} `yaml:"error"`
}

// played is one scenario on its way.
type played struct {
	client  *memsidecar.Client
	sidecar *sidecar
	saved   map[string]string
}

func TestScenarios(t *testing.T) {
	for _, each := range readScenarios(t) {
		t.Run(each.Name, func(t *testing.T) { play(t, each) })
	}
}

func play(t *testing.T, told scenario) {
	user := regexp.MustCompile(`\W+`).ReplaceAllString(told.Name, "-")
	server, err := shared.start()
	if err != nil {
		t.Fatal(err)
	}
	if told.Server != nil {
		server = startSidecar(t, told.Server)
	}
	options := []memsidecar.Option{memsidecar.WithUser(user)}
	if told.Client.Timeout > 0 {
		options = append(options, memsidecar.WithTimeout(seconds(told.Client.Timeout)))
	}
	if told.Client.Token != "" {
		options = append(options, memsidecar.WithToken(told.Client.Token))
	}
	run := &played{
		client: server.client(t, options...), sidecar: server,
		saved: map[string]string{"user": user, "mine": "namespaces/default/users/" + user},
	}
	// Without a deadline, so that the client's own timeouts hold.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer time.AfterFunc(2*time.Minute, cancel).Stop()
	for i, step := range told.Steps {
		result, err := run.do(ctx, step)
		where := fmt.Sprintf("step %d, %s", i+1, step.Do)
		switch {
		case step.Error != nil:
			checkError(t, where, step, err, run.saved)
		case err != nil:
			t.Fatalf("%s: %v", where, err)
		}
		for name, want := range step.Expect {
			checkField(t, where+": "+name, normal(run.filled(want)), result[name])
		}
		for name, field := range step.Save {
			run.saved[name] = fmt.Sprint(result[field])
		}
		if t.Failed() {
			t.Fatalf("%s gave %v", where, result)
		}
	}
}

func (p *played) do(ctx context.Context, step step) (map[string]any, error) {
	if act, ok := processActions[step.Do]; ok {
		return nil, act(p.sidecar)
	}
	operation, ok := operations[step.Do]
	if !ok {
		return nil, fmt.Errorf("no operation %q", step.Do)
	}
	given, _ := p.filled(step.With).(map[string]any)
	result, err := operation(ctx, p, given)
	normalized, _ := normal(result).(map[string]any)
	return normalized, err
}

var processActions = map[string]func(*sidecar) error{
	"kill":   func(s *sidecar) error { s.kill(); return nil },
	"stop":   func(s *sidecar) error { s.stop(); return nil },
	"exited": func(s *sidecar) error { <-s.exited; return nil },
	"start":  (*sidecar).start,
}

func checkError(t *testing.T, where string, step step, err error, saved map[string]string) {
	t.Helper()
	var failed *memsidecar.Error
	if !errors.As(err, &failed) {
		t.Fatalf("%s: want %+v, got %v", where, *step.Error, err)
	}
	if code := codeNames[failed.Code]; code != step.Error.Code || failed.Reason != step.Error.Reason {
		t.Errorf("%s: want %+v, got %s %v", where, *step.Error, code, err)
	}
	for key, want := range step.Error.Metadata {
		if want = fill(want, saved); failed.Metadata[key] != want {
			t.Errorf("%s: %s is %q, not %q", where, key, failed.Metadata[key], want)
		}
	}
	named := slices.ContainsFunc(failed.Violations, func(v memsidecar.Violation) bool { return v.Field == step.Error.Field })
	if step.Error.Field != "" && !named {
		t.Errorf("%s: no violation of %s in %v", where, step.Error.Field, failed.Violations)
	}
}

// checkField compares; what is mentioned is somewhere in one of the result's texts.
func checkField(t *testing.T, where string, want, got any) {
	t.Helper()
	if strings.HasSuffix(where, ": mentions") {
		for _, each := range want.([]any) { //nolint:forcetypeassert // of our own table
			if !strings.Contains(fmt.Sprint(got), fmt.Sprint(each)) {
				t.Errorf("%s: %v is not in %v", where, each, got)
			}
		}
		return
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("%s: want %v, got %v", where, want, got)
	}
}

func readScenarios(t *testing.T) []scenario {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(scenarioFolder, "*.yaml"))
	var all []scenario
	for _, file := range files {
		if filepath.Base(file) == "operations.yaml" {
			continue
		}
		var some []scenario
		readYAML(t, file, &some)
		all = append(all, some...)
	}
	if len(all) == 0 {
		t.Fatal("no scenarios in " + scenarioFolder)
	}
	return all
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func TestEveryRPCHasAScenario(t *testing.T) {
	calls := map[string]string{}
	readYAML(t, filepath.Join(scenarioFolder, "operations.yaml"), &calls)
	covered, used := map[string]bool{}, map[string]bool{}
	for _, each := range readScenarios(t) {
		for _, step := range each.Steps {
			used[step.Do] = true
		}
	}
	for operation, call := range calls {
		if operations[operation] == nil {
			t.Errorf("%s is not in the table of operations", operation)
		}
		covered[call] = used[operation]
	}
	protoregistry.GlobalFiles.RangeFilesByPackage("memsidecar.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				call := fmt.Sprintf("%s/%s", service.Name(), service.Methods().Get(j).Name())
				if !covered[call] {
					t.Errorf("%s has no scenario", call)
				}
			}
		}
		return true
	})
}

// filled replaces ${name} by what an earlier step saved.
func (p *played) filled(value any) any {
	switch value := value.(type) {
	case string:
		return fill(value, p.saved)
	case []any:
		out := make([]any, len(value))
		for i, each := range value {
			out[i] = p.filled(each)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, each := range value {
			out[key] = p.filled(each)
		}
		return out
	}
	return value
}

func fill(text string, saved map[string]string) string {
	return regexp.MustCompile(`\$\{(\w+)\}`).ReplaceAllStringFunc(text, func(name string) string {
		return saved[name[2:len(name)-1]]
	})
}

// normal makes results comparable with YAML: lists of any, numbers as float64.
func normal(value any) any {
	switch value := reflect.ValueOf(value); value.Kind() {
	case reflect.Slice:
		out := []any{}
		for i := range value.Len() {
			out = append(out, normal(value.Index(i).Interface()))
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for _, key := range value.MapKeys() {
			out[key.String()] = normal(value.MapIndex(key).Interface())
		}
		return out
	case reflect.Int, reflect.Int32, reflect.Int64:
		return float64(value.Int())
	default:
		if !value.IsValid() {
			return nil
		}
		return value.Interface()
	}
}

func seconds(number float64) time.Duration { return time.Duration(number * float64(time.Second)) }

var codeNames = map[codes.Code]string{
	codes.InvalidArgument: "INVALID_ARGUMENT", codes.NotFound: "NOT_FOUND", codes.AlreadyExists: "ALREADY_EXISTS",
	codes.Aborted: "ABORTED", codes.FailedPrecondition: "FAILED_PRECONDITION", codes.Unavailable: "UNAVAILABLE",
	codes.DeadlineExceeded: "DEADLINE_EXCEEDED", codes.Unauthenticated: "UNAUTHENTICATED",
	codes.ResourceExhausted: "RESOURCE_EXHAUSTED", codes.Canceled: "CANCELLED", codes.Internal: "INTERNAL",
}
