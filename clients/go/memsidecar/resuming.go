package memsidecar

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

const (
	// Between attempts to go on with a watch, doubling: a sidecar that restarts is
	// back within a few seconds.
	watchFirstPause = 50 * time.Millisecond
	watchLastPause  = 2 * time.Second
)

// passing says whether a failure goes away by itself: a restart, a crowd after it. All
// else ends a watch.
func passing(err error) bool {
	for _, kind := range []error{ErrUnavailable, ErrCancelled, ErrResourceExhausted, ErrDeadlineExceeded} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// opened is one call of a stream of answers whose first answer has come: a watch has no
// deadline, but that it begins has one.
func opened[T any](
	ctx context.Context, calls *caller, again bool,
	open func(context.Context, ...grpc.CallOption) (grpc.ServerStreamingClient[T], error),
) (grpc.ServerStreamingClient[T], *T, context.CancelFunc, error) {
	callCtx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(calls.settings.timeout, cancel)
	// Beginning waits for a sidecar if the client does; going on always does.
	stream, err := open(callCtx, grpc.WaitForReady(again || !calls.settings.failFast))
	var first *T
	if err == nil {
		first, err = stream.Recv()
	}
	if !late.Stop() && ctx.Err() == nil {
		err = calls.notOpened(err)
	}
	if err != nil {
		cancel()
		return nil, nil, nil, err
	}
	return stream, first, cancel, nil
}

// pacing spaces the attempts to go on.
type pacing struct{ pause time.Duration }

func (p *pacing) reset() { p.pause = watchFirstPause }

// wait is shortened at random: the watches of a sidecar that was restarted must not all
// come back at once. False when the context has ended.
func (p *pacing) wait(ctx context.Context, failed *Error) bool {
	pause := max(time.Duration(float64(p.pause)*(0.5+rand.Float64()/2)), failed.RetryAfter) //nolint:gosec // not secret
	p.pause = min(2*p.pause, watchLastPause)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func endedByServer() *Error {
	return failure(codes.Unavailable, "the sidecar has ended the watch")
}
