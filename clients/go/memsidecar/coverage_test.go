package memsidecar_test

import (
	"fmt"
	"iter"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// reason is what the errors of one ErrorReason promise.
type reason struct {
	Code      string   `yaml:"code"`
	Metadata  []string `yaml:"metadata"`
	Retry     bool     `yaml:"retry"`
	Elsewhere string   `yaml:"elsewhere"`
}

func readReasons(t *testing.T) map[string]reason {
	t.Helper()
	reasons := map[string]reason{}
	readYAML(t, filepath.Join(scenarioFolder, "reasons.yaml"), &reasons)
	return reasons
}

func TestEveryRPCHasAScenario(t *testing.T) {
	calls := map[string]string{}
	readYAML(t, filepath.Join(scenarioFolder, "operations.yaml"), &calls)
	covered, used := map[string]bool{}, map[string]bool{}
	for _, step := range allSteps(t) {
		used[step.Do] = true
	}
	for operation, call := range calls {
		if operations[operation] == nil {
			t.Errorf("%s is not in the table of operations", operation)
		}
		covered[call] = used[operation]
	}
	for call := range rpcs() {
		if !covered[call] {
			t.Errorf("%s has no scenario", call)
		}
	}
}

func TestEveryReasonHasAScenarioOrIsTestedElsewhere(t *testing.T) {
	met := map[string]bool{}
	for _, step := range allSteps(t) {
		if step.Error != nil {
			met[step.Error.Reason] = true
		}
	}
	reasons := readReasons(t)
	for value := range memsidecarv1.ErrorReason_name {
		name := short(memsidecarv1.ErrorReason(value), memsidecarv1.ErrorReason(value).String())
		promised, ok := reasons[name]
		if delete(reasons, name); value == 0 {
			continue
		}
		if !ok || met[name] == (promised.Elsewhere != "") {
			t.Errorf("%s has a row: %v, a scenario: %v, a place elsewhere: %q", name, ok, met[name], promised.Elsewhere)
		}
	}
	for name := range reasons {
		t.Errorf("%s is no reason", name)
	}
}

func TestEveryEndingOfAStreamHasAScenarioOrIsTestedElsewhere(t *testing.T) {
	calls := map[string]string{}
	readYAML(t, filepath.Join(scenarioFolder, "operations.yaml"), &calls)
	var endings map[string]struct {
		Shown []string `yaml:"shown"`
	}
	readYAML(t, filepath.Join(scenarioFolder, "endings.yaml"), &endings)
	shown := map[[2]string]bool{}
	for _, step := range allSteps(t) {
		if step.Ends != "" {
			shown[[2]string{calls[step.Do], step.Ends}] = true
		}
	}
	for call, isStream := range rpcs() {
		if _, listed := endings[call]; listed != isStream {
			t.Errorf("%s is a stream: %v, and has a row: %v", call, isStream, listed)
		}
		for _, ending := range endings[call].Shown {
			if !shown[[2]string{call, ending}] {
				t.Errorf("no scenario has a %s that ends %s", call, ending)
			}
			delete(shown, [2]string{call, ending})
		}
	}
	for each := range shown {
		t.Errorf("%v is not in the table of endings", each)
	}
}

// allSteps are the steps of all scenarios, also those within others.
func allSteps(t *testing.T) []step {
	t.Helper()
	var all []step
	var add func([]step)
	add = func(steps []step) {
		for _, each := range steps {
			all = append(all, each)
			add(innerSteps(t, each.With["between"]))
			script, _ := each.With["script"].([]any)
			for _, word := range script {
				if name, value := scriptWord(word); name == "meanwhile" {
					add(innerSteps(t, []any{value}))
				}
			}
		}
	}
	for _, each := range readScenarios(t) {
		add(each.Steps)
	}
	return all
}

// rpcs are the calls of the protos, and whether they are streams.
func rpcs() iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		protoregistry.GlobalFiles.RangeFilesByPackage("memsidecar.v1", func(file protoreflect.FileDescriptor) bool {
			for i := range file.Services().Len() {
				service := file.Services().Get(i)
				for j := range service.Methods().Len() {
					method := service.Methods().Get(j)
					name := fmt.Sprintf("%s/%s", service.Name(), method.Name())
					if !yield(name, method.IsStreamingClient() || method.IsStreamingServer()) {
						return false
					}
				}
			}
			return true
		})
	}
}
