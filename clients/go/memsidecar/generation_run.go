package memsidecar

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// generationRun keeps a generation going: one goroutine reads, one writes, and a call
// that breaks is replaced. What is called here changes the script and the inbox at once;
// the goroutines catch up with it.
type generationRun struct {
	client   *Client
	start    *memsidecarv1.GenerationStart
	remember bool
	now      func() time.Time
	ctx      context.Context //nolint:containedctx // the generation's own life
	cancel   context.CancelFunc
	// Wakes the writer, or the reader while it waits to go on.
	wake chan struct{}
	// Closed when both goroutines are gone.
	over chan struct{}

	mu       sync.Mutex
	script   script
	inbox    *inbox
	attempts attempts
	terms    *memsidecarv1.GenerationStarted
	// Those of the first call: what every call together may use.
	limits  *memsidecarv1.GenerationStarted
	wire    *wire
	resumed int
	// When the server has said something last.
	heard     time.Time
	flushes   []*pendingFlush
	finishing bool
	left      bool
	// The finish that the server may have acted on.
	finishSent *memsidecarv1.GenerationFinish
	result     *GenerationSummary
	err        error
	isReturned bool
}

type pendingFlush struct {
	// The seq that has to be considered, of the text after so many rewinds or more.
	target, rewinds int64
	done            chan struct{}
	mark            *Watermark
	err             error
}

func newGenerationRun(ctx context.Context, c *Client, start *memsidecarv1.GenerationStart) *generationRun {
	g := &generationRun{
		client: c, start: start, now: time.Now,
		script: script{keepalive: keepaliveAfter}, attempts: attempts{allowed: DefaultResumeTimeout},
		wake: make(chan struct{}, 1), over: make(chan struct{}),
	}
	g.ctx, g.cancel = context.WithCancel(ctx)
	g.inbox = newInbox(map[string]knownMemory{}, func(hits int32) {
		g.script.credit += hits
		g.rouse()
	})
	return g
}

func (g *generationRun) open() error {
	g.wire = newWire(g.ctx)
	started, err := g.wire.open(g.client, g.start, g.client.caller.settings.timeout)
	if err != nil {
		return err
	}
	g.terms, g.limits = started, started
	g.inbox.settle(started.GetInitialCredit())
	g.inbox.knows(started.GetKnown())
	g.heard = g.now()
	go g.goOn(g.wire)
	return nil
}

// rouse never waits: a wake-up that is pending is as good as two.
func (g *generationRun) rouse() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

func (g *generationRun) goOn(current *wire) {
	defer close(g.over)
	var replay []*memsidecarv1.RecallDuringRequest
	for {
		broken, err := g.converse(current, replay)
		if broken != nil {
			current, replay, err = g.resume(broken)
		}
		if broken == nil || err != nil {
			g.end(err)
			return
		}
	}
}

// converse goes on until the generation is over, or says why it has to go on with
// another call.
func (g *generationRun) converse(current *wire, replay []*memsidecarv1.RecallDuringRequest) (broken *Error, err error) {
	written := make(chan struct{})
	go func() {
		defer close(written)
		g.write(current, replay)
	}()
	isOver := false
	for !isOver && broken == nil {
		response, err := current.stream.Recv()
		switch {
		case err == nil:
			isOver = g.receive(response)
		case errors.Is(err, io.EOF):
			broken = failure(codes.Unavailable, "the server ended the stream early")
		default:
			broken = asError(err)
		}
	}
	current.cancel()
	<-written
	if isOver {
		return nil, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left {
		return nil, nil
	}
	if g.ctx.Err() != nil || g.client.caller.closed() || (!g.script.replaceCall && !resumable(broken)) {
		return nil, broken
	}
	if g.finishSent != nil {
		if g.finishSent.GetRemember() {
			message := broken.Message + "; it is unknown whether the generation was remembered"
			return nil, failure(codes.Unavailable, message, broken)
		}
		g.script.end(g.finishSent)
		g.finishSent = nil
	}
	return broken, nil
}

func (g *generationRun) write(current *wire, replay []*memsidecarv1.RecallDuringRequest) {
	for _, message := range replay {
		if current.stream.Send(message) != nil {
			return // the reader is told why
		}
	}
	g.mu.Lock()
	g.script.saidAt = g.now()
	g.mu.Unlock()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		g.mu.Lock()
		message := g.script.nextOrSign(g.now(), g.inbox.watched())
		due, isPending := g.script.dueOrSign(g.inbox.watched())
		if finish := message.GetFinish(); finish != nil {
			g.finishSent = finish
		}
		g.mu.Unlock()
		if message != nil {
			if current.stream.Send(message) != nil {
				return
			}
			continue
		}
		var isDue <-chan time.Time
		if isPending {
			timer.Reset(due.Sub(g.now()))
			isDue = timer.C
		}
		select {
		case <-g.wake:
		case <-isDue:
		case <-current.ctx.Done():
			return
		}
	}
}

// receive takes one message and says whether it was the last. Events that this client
// does not know are left out.
func (g *generationRun) receive(response *memsidecarv1.RecallDuringResponse) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.heard = g.now()
	switch told := response.GetEvent().(type) {
	case *memsidecarv1.RecallDuringResponse_Hit:
		if g.resumed == 0 || g.inbox.recalled < int(g.limits.GetMaxTotalHits()) {
			g.inbox.found(g.recalled(told.Hit))
			g.rouse()
		}
	case *memsidecarv1.RecallDuringResponse_Retracted:
		gone := told.Retracted
		g.inbox.takeBack(&Retracted{
			Memory: gone.GetMemory(), Reason: gone.GetReason(), Successor: gone.GetSuccessor(),
		})
	case *memsidecarv1.RecallDuringResponse_Watermark:
		g.considered(told.Watermark)
	case *memsidecarv1.RecallDuringResponse_Backoff:
		backoff := told.Backoff
		g.script.pause = backoff.GetMinInterval().AsDuration()
		g.inbox.tell(&Backoff{backoff.GetMinChars(), g.script.pause, backoff.GetReason()})
	case *memsidecarv1.RecallDuringResponse_Draining:
		g.inbox.tell(&Draining{told.Draining.GetGrace().AsDuration()})
	case *memsidecarv1.RecallDuringResponse_Finished:
		g.finished(told.Finished)
		return true
	}
	return false
}

func (g *generationRun) recalled(hit *memsidecarv1.HitFound) *Recalled {
	event := &Recalled{
		Hit: hit.GetHit(), TriggerSeq: g.script.ownSeq(hit.GetTriggerSeq()), RemainingCredit: hit.GetRemainingCredit(),
	}
	if event.TriggerSeq == 0 {
		event.Start = byteOffset(g.start.GetPrompt(), int(hit.GetSpanStart()))
		event.End = byteOffset(g.start.GetPrompt(), int(hit.GetSpanEnd()))
	} else {
		event.Start = g.script.byteOffset(hit.GetSpanStart())
		event.End = g.script.byteOffset(hit.GetSpanEnd())
	}
	return event
}

func (g *generationRun) considered(told *memsidecarv1.Watermark) {
	mark := &Watermark{
		g.script.ownSeq(told.GetSeq()), told.GetCoalesced(), told.GetWithheldHits(), told.GetDegraded(),
	}
	rewinds := g.script.rewinds
	if told.Rewinds != nil {
		rewinds = g.script.rewindsBefore + told.GetRewinds()
	} else if mark.Seq > int64(g.script.seq()) {
		// An older server's: all that shows that it was on its way when the text was rewound.
		return
	}
	hasCrossed := rewinds < g.script.rewinds
	if !hasCrossed {
		g.inbox.tell(mark)
	}
	var left []*pendingFlush
	for _, wanted := range g.flushes {
		if wanted.rewinds > rewinds || wanted.target > mark.Seq {
			left = append(left, wanted)
			continue
		}
		wanted.mark = mark
		if hasCrossed {
			// Text up to the target stands since the flush: it is the same before a rewind and after it.
			wanted.mark = mark.upTo(wanted.target)
		}
		close(wanted.done)
	}
	g.flushes = left
}

func (g *generationRun) finished(message *memsidecarv1.GenerationFinished) {
	g.result = &GenerationSummary{
		Recalled:     g.inbox.recalled,
		Retracted:    g.inbox.retracted,
		Resumed:      g.resumed,
		Evaluations:  message.GetEvaluations(),
		Coalesced:    message.GetCoalesced(),
		EvaluatedSeq: g.script.ownSeq(message.GetEvaluatedSeq()),
		Remembered:   message.GetRememberedMemories(),
		SessionError: reasonName(message.GetSessionError()),
		Revision:     message.GetRevision(),
	}
}

func (g *generationRun) end(err error) {
	g.cancel()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil && err != nil && !g.left {
		g.err = err
	}
	g.inbox.end()
	for _, wanted := range g.flushes {
		wanted.err = g.err
		if wanted.err == nil {
			wanted.err = ErrGenerationFinished
		}
		close(wanted.done)
	}
	g.flushes = nil
}
