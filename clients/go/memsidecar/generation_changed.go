package memsidecar

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// For looking up one memory after a stream was resumed. What cannot be looked up is taken
// to hold.
const checkTimeout = 2 * time.Second

const (
	holds      = memsidecarv1.RetractionReason_RETRACTION_REASON_UNSPECIFIED
	updated    = memsidecarv1.RetractionReason_RETRACTION_REASON_UPDATED
	superseded = memsidecarv1.MemoryState_MEMORY_STATE_SUPERSEDED
)

var endings = map[memsidecarv1.MemoryState]memsidecarv1.RetractionReason{
	superseded: memsidecarv1.RetractionReason_RETRACTION_REASON_SUPERSEDED,
	memsidecarv1.MemoryState_MEMORY_STATE_DELETED: memsidecarv1.RetractionReason_RETRACTION_REASON_DELETED,
	memsidecarv1.MemoryState_MEMORY_STATE_EXPIRED: memsidecarv1.RetractionReason_RETRACTION_REASON_EXPIRED,
}

// takeBackChanged retracts what stopped being true since the server was heard last; what
// is superseded the server tells, with what holds instead, unless it is an older one.
func (g *generationRun) takeBackChanged(heard time.Time, toldOf []*memsidecarv1.KnownMemory) {
	isTold := map[string]bool{}
	for _, each := range toldOf {
		isTold[each.GetMemory()] = true
	}
	g.mu.Lock()
	names, told := g.inbox.told()
	g.mu.Unlock()
	for _, name := range names {
		ctx, cancel := context.WithTimeout(g.ctx, checkTimeout)
		answer, err := g.client.GetMemory(ctx, &memsidecarv1.GetMemoryRequest{Name: name})
		cancel()
		gone := &Retracted{Memory: name}
		switch now := answer.GetMemory(); {
		case errors.Is(err, ErrNotFound):
			gone.Reason = memsidecarv1.RetractionReason_RETRACTION_REASON_PURGED
		case err != nil:
			return
		case isTold[name] && now.GetState() == superseded && !told[name].says(name):
			continue
		default:
			gone.Reason = told[name].ended(now, heard, g.now())
			if gone.Reason == updated {
				gone.Successor = now
			}
		}
		if gone.Reason != holds {
			g.mu.Lock()
			g.inbox.takeBack(gone)
			g.mu.Unlock()
		}
	}
}

// ended is why a memory that is so now holds no longer.
func (k knownMemory) ended(memory *memsidecarv1.Memory, heard, now time.Time) memsidecarv1.RetractionReason {
	state := memory.GetState()
	wasSo := (k.form != nil && k.form.GetState() == state) || (state == superseded && k.says(memory.GetName()))
	reason, isOver := endings[state]
	switch end := memory.GetValidEndTime(); {
	case isOver && !wasSo:
		return reason
	case k.form.GetBody() != nil && saysOther(k.form, memory):
		return updated
	case end != nil && heard.Before(end.AsTime()) && !end.AsTime().After(now):
		return memsidecarv1.RetractionReason_RETRACTION_REASON_EXPIRED
	}
	return holds
}

// saysOther is about what a reader was told: who said what, and when it holds.
func saysOther(before, now *memsidecarv1.Memory) bool {
	return TextOf(before) != TextOf(now) ||
		!proto.Equal(before.GetFact(), now.GetFact()) ||
		before.GetEpisode().GetSpeaker() != now.GetEpisode().GetSpeaker() ||
		!proto.Equal(before.GetValidStartTime(), now.GetValidStartTime()) ||
		!proto.Equal(before.GetValidEndTime(), now.GetValidEndTime())
}
