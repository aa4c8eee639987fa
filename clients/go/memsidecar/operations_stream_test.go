package memsidecar_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

var streamOperations = map[string]operation{
	"remember_stream": rememberStream,
	"generation":      generate,
	"watch":           watch,
}

func rememberStream(ctx context.Context, p *played, a arguments) (result, error) {
	ctx, cancel := a.limited(ctx)
	defer cancel()
	start := &memsidecarv1.StreamRememberStart{RequestId: a.text("request_id")}
	stream, err := p.client.StreamRemember(ctx, start)
	if err != nil {
		return nil, err
	}
	defer stream.Close() //nolint:errcheck // it gives no error
	for i, text := range a.texts("texts") {
		if i > 0 {
			time.Sleep(seconds(a.float("wait")))
			p.performAll(ctx, a["between"])
		}
		if err := stream.Send(memsidecar.Said(text, "")); err != nil {
			return nil, err
		}
	}
	if a.is("abandon") {
		return nil, nil
	}
	answer, err := stream.Finish()
	return result{
		"received": answer.GetReceived(), "failures": answer.GetFailureCount(),
		"created": answer.GetActionCounts()["REMEMBER_ACTION_CREATED"],
	}, err
}

func generate(ctx context.Context, p *played, a arguments) (result, error) {
	ctx, cancel := a.limited(ctx)
	defer cancel()
	options := []memsidecar.GenerationOption{}
	if a.is("remember") {
		options = append(options, memsidecar.WithRemember())
	}
	if limit := a.float("resume_seconds"); limit > 0 {
		options = append(options, memsidecar.WithResumeTimeout(seconds(limit)))
	}
	generation, err := p.client.RecallDuring(ctx, &memsidecarv1.GenerationStart{
		Prompt: a.text("prompt"), TimeZone: a.text("time_zone"), KnownMemories: a.texts("known"),
		MinConfidence: proto.Float64(0.05), Options: &memsidecarv1.RecallOptions{MaxHits: 1},
	}, options...)
	if err != nil {
		return nil, err
	}
	defer generation.Close() //nolint:errcheck // an error comes before
	told := result{"draining": false}
	var recalled []string
	fed := ""
	take := func(event memsidecar.GenerationEvent) {
		switch event := event.(type) {
		case *memsidecar.Recalled:
			recalled = append(recalled, hitText(event.Hit))
			if event.TriggerSeq > 0 && event.End <= len(fed) {
				// Panics when an offset in bytes is none.
				_ = []rune(fed[event.Start:event.End])
			}
		case *memsidecar.Draining:
			told["draining"] = true
		}
	}
	script, _ := a["script"].([]any)
	for _, each := range script {
		if err := p.generationStep(ctx, generation, each, &fed, told, take); err != nil {
			return nil, err
		}
	}
	told["recalled"] = append([]string{}, recalled...)
	told["text"] = fed
	return told, nil
}

func (p *played) generationStep(
	ctx context.Context, generation *memsidecar.Generation, each any, fed *string, told result,
	take func(memsidecar.GenerationEvent),
) error {
	name, value := scriptWord(each)
	if act, ok := processActions[name]; ok {
		return act(p.sidecar)
	}
	switch name {
	case "feed":
		*fed += fmt.Sprint(value)
		return generation.Feed(fmt.Sprint(value))
	case "flush":
		_, err := generation.Flush(ctx)
		return err
	case "rewind":
		err := generation.Rewind(value.(int)) //nolint:forcetypeassert // of our own table
		*fed = (*fed)[:generation.Len()]
		return err
	case "meanwhile":
		p.performAll(ctx, []any{value})
	case "wait":
		time.Sleep(seconds(arguments{"wait": value}.float("wait")))
	case "draining":
		for event, err := range generation.Events(ctx) {
			if err != nil {
				return err
			}
			if take(event); told["draining"] == true {
				return nil
			}
		}
	case "abandon":
		return generation.Close()
	case "finish":
		finish := func() (*memsidecar.GenerationSummary, error) { return generation.Finish(ctx) }
		if value != nil {
			outcome := memsidecarv1.GenerationOutcome_value["GENERATION_OUTCOME_"+fmt.Sprint(value)]
			finish = func() (*memsidecar.GenerationSummary, error) {
				return generation.FinishWith(ctx, memsidecarv1.GenerationOutcome(outcome), true)
			}
		}
		summary, err := finish()
		if err != nil {
			return err
		}
		for event, err := range generation.Events(ctx) {
			if err != nil {
				return err
			}
			take(event)
		}
		told["resumed"], told["remembered"] = summary.Resumed, len(summary.Remembered) > 0
	default:
		return fmt.Errorf("no step %q of a generation", name)
	}
	return nil
}

func watch(ctx context.Context, p *played, a arguments) (result, error) {
	request := &memsidecarv1.WatchMemoriesRequest{}
	if after := a.text("after"); after != "" {
		request.After = &memsidecarv1.Revision{Token: after}
	}
	changes, err := p.client.WatchMemories(ctx, request)
	if err != nil {
		return nil, err
	}
	defer changes.Close() //nolint:errcheck // it gives no error
	var said, kinds []string
	interrupted := false
	until := func(number int) error {
		for event, err := range changes.Events() {
			if err != nil {
				return err
			}
			switch event := event.(type) {
			case *memsidecar.WatchInterrupted:
				interrupted = true
			case *memsidecar.MemoryChanged:
				said = append(said, memsidecar.TextOf(event.Change.GetSnapshot()))
				kinds = append(kinds, short(event.Change.GetChange(), event.Change.GetChange().String()))
			}
			if len(said) >= number {
				return nil
			}
		}
		return errors.New("the watch has ended")
	}
	script, _ := a["script"].([]any)
	for _, each := range script {
		name, value := scriptWord(each)
		switch act, isProcess := processActions[name]; {
		case isProcess:
			err = act(p.sidecar)
		case name == "meanwhile":
			p.performAll(ctx, []any{value})
		case name == "write":
			_, err = memoryOperations["create_memory"](ctx, p, arguments{"statement": value})
		case name == "until":
			err = until(value.(int)) //nolint:forcetypeassert // of our own table
		}
		if err != nil {
			return nil, err
		}
	}
	return result{"texts": said, "changes": kinds, "interrupted": interrupted}, nil
}

// limited gives a step's deadline to its context.
func (a arguments) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if limit := a.float("deadline"); limit > 0 {
		return context.WithTimeout(ctx, seconds(limit))
	}
	return context.WithCancel(ctx)
}

// scriptWord is a step that is a word, or a word with a value.
func scriptWord(step any) (string, any) {
	if word, ok := step.(string); ok {
		return word, nil
	}
	for name, value := range step.(map[string]any) { //nolint:forcetypeassert // of our own table
		return name, value
	}
	return "", nil
}
