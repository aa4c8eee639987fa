package memsidecar

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

const (
	// Between attempts to go on, doubling, each shortened by up to a half at random: the
	// streams of a sidecar that was restarted must not all come back at once.
	firstResumePause = 50 * time.Millisecond
	lastResumePause  = time.Second

	// How long a resumed stream must live for its next break to be a new one, with time
	// of its own.
	steadyAfter = 5 * time.Second

	// What the server takes in one start.
	maxKnownMemories = 1000
)

// idle: the server has ended a stream on which nothing was said for long. Where nothing
// may have to be taken back, it is not worth another before something is.
func idle(err *Error) bool {
	return err.Code == codes.Aborted && HasReason(err, memsidecarv1.ErrorReason_ERROR_REASON_STREAM_IDLE)
}

// resumable says whether another call may get further than the one that ended so.
func resumable(err *Error) bool {
	return err.Code == codes.Unavailable || idle(err) || (err.Code == codes.ResourceExhausted && err.RetryAfter > 0)
}

// attempts spaces the attempts and ends them some time after the stream broke. A stream
// that breaks again soon after it was resumed is the same trouble, whose time goes on
// running.
type attempts struct {
	allowed   time.Duration
	until     time.Time
	pause     time.Duration
	resumedAt time.Time
	err       *Error
}

func (a *attempts) begin(broken *Error, now time.Time) {
	a.err = broken
	if now.Sub(a.resumedAt) > steadyAfter {
		a.until, a.pause = now.Add(a.allowed), firstResumePause
	}
}

// next is how long to wait before the next attempt, or why there is to be none.
func (a *attempts) next(now time.Time) (time.Duration, error) {
	pause := max(time.Duration(float64(a.pause)*(0.5+rand.Float64()/2)), a.err.RetryAfter) //nolint:gosec // not secret
	a.pause = min(2*a.pause, lastResumePause)
	if !now.Add(pause).Before(a.until) {
		return 0, a.givenUp()
	}
	return pause, nil
}

// failed gives what is not worth another attempt.
func (a *attempts) failed(err *Error, now time.Time) error {
	if err.Code == codes.DeadlineExceeded && !now.Before(a.until) {
		a.err = err
		return a.givenUp()
	}
	if !resumable(err) {
		return err
	}
	a.err = err
	return nil
}

func (a *attempts) givenUp() *Error {
	message := fmt.Sprintf("the stream broke and could not go on within %v: %s", a.allowed, a.err.Message)
	given := failure(codes.Unavailable, message, a.err)
	given.Reason, given.Metadata = a.err.Reason, a.err.Metadata
	return given
}

// resume opens the call that replaces a broken one.
func (g *generationRun) resume(broken *Error) (*wire, []*memsidecarv1.RecallDuringRequest, error) {
	g.waitForWords(broken)
	began := g.now()
	g.mu.Lock()
	heard := g.heard
	g.mu.Unlock()
	g.attempts.begin(broken, began)
	for {
		if err := g.pause(); err != nil {
			return nil, nil, err
		}
		g.mu.Lock()
		first, replay := g.script.replay(len(g.flushes) > 0)
		start := g.startAgain(first)
		current := newWire(g.ctx)
		g.wire = current
		g.mu.Unlock()
		started, err := current.open(g.client, start, g.attempts.until.Sub(g.now()))
		g.mu.Lock()
		isReplaced := g.script.replaceCall
		if err == nil && !isReplaced {
			g.resumed++
			g.terms, g.inbox.credit = started, started.GetInitialCredit()
			g.attempts.resumedAt = g.now()
			g.inbox.tell(&Resumed{started, g.now().Sub(began)})
			g.inbox.knows(started.GetKnown())
			g.heard = g.now()
		}
		g.mu.Unlock()
		switch {
		case isReplaced:
			current.cancel()
		case err == nil:
			g.takeBackChanged(heard, started.GetKnown())
			return current, replay, nil
		default:
			if err := g.attempts.failed(asError(err), g.now()); err != nil {
				return nil, nil, err
			}
		}
	}
}

// waitForWords returns when there is something to say again on a stream that was idle, or
// to be watched.
func (g *generationRun) waitForWords(broken *Error) {
	if !idle(broken) {
		return
	}
	g.mu.Lock()
	g.script.bear(broken)
	g.mu.Unlock()
	for {
		g.mu.Lock()
		waits := g.script.waits() || g.inbox.watched()
		g.mu.Unlock()
		if waits {
			return
		}
		select {
		case <-g.wake:
		case <-g.ctx.Done():
			return
		}
	}
}

// pause waits for the next attempt. A rewind that only another call can express needs
// none.
func (g *generationRun) pause() error {
	g.mu.Lock()
	isReplaced := g.script.replaceCall
	g.mu.Unlock()
	if !isReplaced {
		pause, err := g.attempts.next(g.now())
		if err != nil {
			return err
		}
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-g.ctx.Done():
		}
	}
	if err := g.ctx.Err(); err != nil {
		return failure(codes.Canceled, "the generation was left", err)
	}
	return nil
}

// startAgain is the start of a call that replaces another: what the first one granted,
// less what was used of it.
func (g *generationRun) startAgain(first int) *memsidecarv1.GenerationStart {
	again := proto.CloneOf(g.start)
	again.KnownMemories = g.inbox.seen()
	if len(again.KnownMemories) > maxKnownMemories {
		again.KnownMemories = again.KnownMemories[:maxKnownMemories]
	}
	again.Known = g.inbox.toldNow()
	again.FirstSeq = int64(first)
	// 0 would be the default again; when all are used up no credit is left either.
	again.MaxTotalHits = max(1, g.limits.GetMaxTotalHits()-clamped(g.inbox.recalled))
	again.MaxTotalTokens = max(1, g.limits.GetMaxTotalTokens()-clamped(g.inbox.tokens))
	again.InitialCredit = proto.Int32(g.inbox.credit)
	return again
}

func clamped(count int) int32 {
	return int32(min(count, math.MaxInt32)) //nolint:gosec // it is now
}
