package memsidecar_test

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

type (
	arguments map[string]any
	result    map[string]any
	operation func(context.Context, *played, arguments) (result, error)
)

// operations is what a scenario's steps can do.
var operations = map[string]func(context.Context, *played, map[string]any) (result, error){}

func init() {
	for _, table := range []map[string]operation{
		memoryOperations, recallOperations, sessionOperations, knowledgeOperations, jobOperations, streamOperations,
	} {
		for name, run := range table {
			operations[name] = func(ctx context.Context, p *played, given map[string]any) (result, error) {
				return run(ctx, p, given)
			}
		}
	}
}

func (a arguments) text(name string) string {
	text, _ := a[name].(string)
	return text
}

func (a arguments) number(name string) int32 {
	number, _ := a[name].(int)
	return int32(number)
}

func (a arguments) float(name string) float64 {
	switch number := a[name].(type) {
	case int:
		return float64(number)
	case float64:
		return number
	}
	return 0
}

func (a arguments) is(name string) bool {
	is, _ := a[name].(bool)
	return is
}

func (a arguments) texts(name string) []string {
	list, _ := a[name].([]any)
	texts := make([]string, 0, len(list))
	for _, each := range list {
		texts = append(texts, each.(string)) //nolint:forcetypeassert // of our own table
	}
	return texts
}

func (a arguments) items(name string) []arguments {
	list, _ := a[name].([]any)
	items := make([]arguments, 0, len(list))
	for _, each := range list {
		items = append(items, arguments(each.(map[string]any))) //nolint:forcetypeassert // of our own table
	}
	return items
}

func (a arguments) labels(name string) map[string]string {
	given, _ := a[name].(map[string]any)
	labels := map[string]string{}
	for key, value := range given {
		labels[key] = value.(string) //nolint:forcetypeassert // of our own table
	}
	return labels
}

func (a arguments) policy() memsidecarv1.ConflictPolicy {
	name := "CONFLICT_POLICY_" + a.text("conflict_policy")
	return memsidecarv1.ConflictPolicy(memsidecarv1.ConflictPolicy_value[name])
}

// short is an enumeration's value without its prefix.
func short(value interface {
	Descriptor() protoreflect.EnumDescriptor
}, name string) string {
	prefix := ""
	for i, r := range string(value.Descriptor().Name()) {
		if i > 0 && r >= 'A' && r <= 'Z' {
			prefix += "_"
		}
		prefix += strings.ToUpper(string(r))
	}
	return strings.TrimPrefix(name, prefix+"_")
}

func texts[T any](items []T, of func(T) string) []string {
	out := []string{}
	for _, item := range items {
		out = append(out, of(item))
	}
	return out
}

func collected[T any](pages iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for item, err := range pages {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

func sortedKeys[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }

func stateOf(memory *memsidecarv1.Memory) string {
	return short(memory.GetState(), memory.GetState().String())
}

func hitText(hit *memsidecarv1.Hit) string { return memsidecar.TextOf(hit.GetMemory()) }

func outcomeText(outcome *memsidecarv1.RememberOutcome) string {
	return memsidecar.TextOf(outcome.GetMemory())
}
