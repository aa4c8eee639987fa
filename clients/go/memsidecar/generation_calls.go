package memsidecar

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// change runs under the lock, unless the generation is over, and wakes the writer.
func (g *generationRun) change(how func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		g.isReturned = true
		return g.err
	}
	if g.finishing || g.left {
		return ErrGenerationFinished
	}
	defer g.rouse()
	return how()
}

func (g *generationRun) feed(text string, source memsidecarv1.TextSource) error {
	return g.change(func() error {
		if err := g.script.feed(text, source, g.now()); err != nil {
			return err
		}
		if err := g.limitText(); err != nil {
			g.isReturned = true
			return err
		}
		return nil
	})
}

// feedAny takes what can be fed, and says nothing of what cannot.
func (g *generationRun) feedAny(text string, source memsidecarv1.TextSource) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil || g.finishing || g.left {
		return
	}
	g.script.feedAny(text, source, g.now())
	_ = g.limitText()
	g.rouse()
}

// limitText ends the generation when all text is too long: the server would refuse it, and
// waiting for a server must not fill the memory.
func (g *generationRun) limitText() error {
	if g.script.length <= generationTextBytes {
		return nil
	}
	g.err = tooLong()
	g.leaving()
	return g.err
}

func (g *generationRun) flush() (*pendingFlush, error) {
	wanted := &pendingFlush{done: make(chan struct{})}
	err := g.change(func() error {
		wanted.target, wanted.rewinds = int64(g.script.flush()), g.script.rewinds
		g.flushes = append(g.flushes, wanted)
		return nil
	})
	return wanted, err
}

// rewound lowers what is waited for, and replaces a call that cannot be told.
func (g *generationRun) rewound(seq int) {
	for _, wanted := range g.flushes {
		wanted.target = min(wanted.target, int64(seq))
	}
	g.inbox.rewound(int64(seq))
	if g.script.replaceCall {
		g.wire.cancel()
	}
}

// finish is harmless to repeat.
func (g *generationRun) finish(message *memsidecarv1.GenerationFinish) error {
	g.mu.Lock()
	isRepeated := g.finishing || g.result != nil
	g.mu.Unlock()
	if isRepeated {
		return nil
	}
	return g.change(func() error {
		g.finishing = true
		g.script.end(message)
		return nil
	})
}

func (g *generationRun) summary() (*GenerationSummary, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.result != nil:
		return g.result, nil
	case g.err != nil:
		g.isReturned = true
		return nil, g.err
	default:
		return nil, ErrGenerationFinished
	}
}

func (g *generationRun) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leaving()
}

func (g *generationRun) leaving() {
	g.left = true
	g.cancel()
}

// wait is for what the goroutines do, within the context or the client's timeout.
func (g *generationRun) wait(ctx context.Context, done <-chan struct{}, otherwise string) error {
	limited, cancel := g.client.limited(ctx)
	defer cancel()
	select {
	case <-done:
		return nil
	case <-limited.Done():
		if errors.Is(limited.Err(), context.DeadlineExceeded) {
			return failure(codes.DeadlineExceeded, otherwise, limited.Err())
		}
		return ended(ctx)
	}
}

// errorOnce is what ended the generation, if it was an error that was not returned
// before.
func (g *generationRun) errorOnce() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil || g.isReturned {
		return nil
	}
	g.isReturned = true
	return g.err
}

func (g *generationRun) take() (event GenerationEvent, arrived <-chan struct{}, over bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inbox.take(), g.inbox.arrived, g.inbox.over
}

func (g *generationRun) newEvents() []GenerationEvent {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.drained()
}

func (g *generationRun) drained() []GenerationEvent {
	var events []GenerationEvent
	for event := g.inbox.take(); event != nil; event = g.inbox.take() {
		events = append(events, event)
	}
	return events
}

func (g *generationRun) newMemories() []*Recalled {
	g.mu.Lock()
	defer g.mu.Unlock()
	var memories []*Recalled
	for _, event := range g.drained() {
		if found, ok := event.(*Recalled); ok && g.inbox.held[found.Hit.GetMemory().GetName()] != nil {
			memories = append(memories, found)
		}
	}
	return memories
}

func (g *generationRun) memories() []*memsidecarv1.Hit {
	g.mu.Lock()
	defer g.mu.Unlock()
	hits := make([]*memsidecarv1.Hit, 0, len(g.inbox.order))
	for _, name := range g.inbox.order {
		hits = append(hits, g.inbox.held[name])
	}
	return hits
}
