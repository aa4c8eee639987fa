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

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// The scenarios are one table for both clients; tests/clients/scenarios/README.md says
// how they are written.
const scenarioFolder = "../../../tests/clients/scenarios"

// tables are the files that are no scenarios.
var tables = []string{"operations.yaml", "reasons.yaml", "endings.yaml"}

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
	Shared bool              `yaml:"shared"`
	Ends   string            `yaml:"ends"`
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
	t       *testing.T
	reasons map[string]reason
	client  *memsidecar.Client
	sidecar *sidecar
	saved   map[string]string
}

func TestScenarios(t *testing.T) {
	for _, each := range readScenarios(t) {
		t.Run(each.Name, func(t *testing.T) {
			// They wait more than they work: for a sidecar to start, to stop, to be missed.
			t.Parallel()
			play(t, each)
		})
	}
}

func play(t *testing.T, told scenario) {
	user := regexp.MustCompile(`\W+`).ReplaceAllString(told.Name, "-")
	common, err := shared.start()
	if err != nil {
		t.Fatal(err)
	}
	server := common
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
		t: t, reasons: readReasons(t),
		client: server.client(t, options...), sidecar: server,
		saved: map[string]string{"user": user, "mine": "namespaces/default/users/" + user},
	}
	// Without a deadline, so that the client's own timeouts hold.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer time.AfterFunc(2*time.Minute, cancel).Stop()
	there := *run
	there.client, there.sidecar = common.client(t, memsidecar.WithUser(user)), common
	for i, step := range told.Steps {
		on := run
		if step.Shared {
			on = &there
		}
		on.perform(ctx, fmt.Sprintf("step %d, %s", i+1, step.Do), step)
	}
}

// perform does a step and holds its result against what is expected.
func (p *played) perform(ctx context.Context, where string, step step) {
	p.t.Helper()
	result, err := p.do(ctx, step)
	switch {
	case step.Error != nil:
		p.checkError(where, step, err)
	case err != nil:
		p.t.Fatalf("%s: %v", where, err)
	}
	for name, want := range step.Expect {
		checkField(p.t, where+": "+name, normal(p.filled(want)), result[name])
	}
	for name, field := range step.Save {
		p.saved[name] = fmt.Sprint(result[field])
	}
	if p.t.Failed() {
		p.t.Fatalf("%s gave %v", where, result)
	}
}

// performAll does the steps within a step.
func (p *played) performAll(ctx context.Context, steps any) {
	p.t.Helper()
	for _, inner := range innerSteps(p.t, steps) {
		p.perform(ctx, "meanwhile, "+inner.Do, inner)
	}
}

func innerSteps(t *testing.T, told any) []step {
	t.Helper()
	text, err := yaml.Marshal(told)
	if err != nil {
		t.Fatal(err)
	}
	var steps []step
	if err := yaml.Unmarshal(text, &steps); err != nil {
		t.Fatal(err)
	}
	return steps
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
	"damage": (*sidecar).damage,
	"start":  (*sidecar).start,
}

func (p *played) checkError(where string, step step, err error) {
	t, saved := p.t, p.saved
	t.Helper()
	var failed *memsidecar.Error
	if !errors.As(err, &failed) {
		t.Fatalf("%s: want %+v, got %v", where, *step.Error, err)
	}
	if !errors.Is(err, kinds[step.Error.Code]) || failed.Reason != step.Error.Reason {
		t.Errorf("%s: want %+v, got %v", where, *step.Error, err)
	}
	if failed.Reason != "" {
		p.checkReason(where, failed)
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

// checkReason holds an error against what its reason promises.
func (p *played) checkReason(where string, failed *memsidecar.Error) {
	p.t.Helper()
	promised := p.reasons[failed.Reason]
	value := memsidecarv1.ErrorReason(memsidecarv1.ErrorReason_value["ERROR_REASON_"+failed.Reason])
	if !errors.Is(failed, kinds[promised.Code]) || !memsidecar.HasReason(failed, value) {
		p.t.Errorf("%s: want %s, got %v", where, promised.Code, failed)
	}
	for _, key := range promised.Metadata {
		if _, ok := failed.Metadata[key]; !ok {
			p.t.Errorf("%s: no %s in %v", where, key, failed.Metadata)
		}
	}
	if (failed.RetryAfter > 0) != promised.Retry {
		p.t.Errorf("%s: %s says to come back after %v", where, failed.Reason, failed.RetryAfter)
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
		if slices.Contains(tables, filepath.Base(file)) {
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

// kinds are the errors of the client by the status that they stand for.
var kinds = map[string]error{
	"INVALID_ARGUMENT": memsidecar.ErrInvalidArgument, "NOT_FOUND": memsidecar.ErrNotFound,
	"ALREADY_EXISTS": memsidecar.ErrAlreadyExists, "ABORTED": memsidecar.ErrConflict,
	"FAILED_PRECONDITION": memsidecar.ErrFailedPrecondition, "UNAVAILABLE": memsidecar.ErrUnavailable,
	"RESOURCE_EXHAUSTED": memsidecar.ErrResourceExhausted, "DATA_LOSS": memsidecar.ErrDataLoss,
	"DEADLINE_EXCEEDED": memsidecar.ErrDeadlineExceeded, "UNAUTHENTICATED": memsidecar.ErrUnauthenticated,
}
