package memsidecar

import (
	"context"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// DefaultResumeTimeout is how long a broken generation tries to go on. A sidecar that was
// killed is back within a few seconds, replay included; the model goes on writing
// meanwhile and loses nothing but memories.
const DefaultResumeTimeout = 30 * time.Second

// GenerationOption changes how a generation is followed.
type GenerationOption func(*generationRun)

// WithRemember makes Finish remember the prompt and what the model wrote, in the start's
// session and in long-term memory.
func WithRemember() GenerationOption {
	return func(g *generationRun) { g.remember = true }
}

// WithKnown tells of memories that are in the prompt already, such as a recall's: they
// are not brought, but taken back when they stop holding. By name alone they go into the
// start; in their present form a change is noticed even across a restart of the sidecar.
func WithKnown(memories ...*memsidecarv1.Memory) GenerationOption {
	return func(g *generationRun) {
		for _, memory := range memories {
			known := g.inbox.known[memory.GetName()]
			known.form = memory
			g.inbox.known[memory.GetName()] = known
		}
	}
}

// WithKnownHits is WithKnown of what a recall has brought: it is known, too, what of it
// no longer held, so that what was corrected since is taken back.
func WithKnownHits(hits ...*memsidecarv1.Hit) GenerationOption {
	return func(g *generationRun) {
		for _, hit := range hits {
			g.inbox.known[hit.GetMemory().GetName()] = knownHit(hit)
		}
	}
}

// WithManualCredit sends no credit until the application calls Generation.Credit. By
// default taking a memory allows another one, so that the server never runs ahead of what
// the application reads.
func WithManualCredit() GenerationOption {
	return func(g *generationRun) { g.inbox.allow = nil }
}

// WithResumeTimeout replaces DefaultResumeTimeout, 0 for not at all.
func WithResumeTimeout(timeout time.Duration) GenerationOption {
	return func(g *generationRun) { g.attempts.allowed = timeout }
}

// RecallDuring follows a model while it writes and brings memories as they become
// relevant. The start is as in the contract; nil takes the defaults. It returns when the
// server has taken the generation on, within the client's timeout; the context is for all
// of it and abandons it when it ends.
func (c *Client) RecallDuring(
	ctx context.Context, start *memsidecarv1.GenerationStart, options ...GenerationOption,
) (*Generation, error) {
	first := &memsidecarv1.GenerationStart{}
	if start != nil {
		first = proto.CloneOf(start)
	}
	if first.Scope == nil {
		first.Scope = c.Scope()
	}
	if first.GenerationId == "" {
		first.GenerationId = uuid.NewString()
	}
	run := newGenerationRun(ctx, c, first)
	for _, name := range first.GetKnownMemories() {
		run.inbox.known[name] = knownMemory{}
	}
	for _, known := range first.GetKnown() {
		run.inbox.known[known.GetMemory()] = knownMemory{superseded: known.GetSuperseded(), isSaid: true}
	}
	for _, option := range options {
		option(run)
	}
	first.KnownMemories, first.Known = sortedNames(run.inbox.known), run.inbox.toldNow()
	if err := run.open(); err != nil {
		run.cancel()
		return nil, err
	}
	return &Generation{run}, nil
}
