package memsidecar

import (
	"context"
	"errors"
	"io"
	"iter"

	"google.golang.org/grpc"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// WatchEvent is one of *MemoryChanged, *ConflictChanged, *WatchHeartbeat, *WatchBehind
// and *WatchInterrupted.
type WatchEvent interface{ watchEvent() }

// MemoryChanged is one change of one memory. Its snapshot is nil when the memory has
// been purged since.
type MemoryChanged struct {
	Change   *memsidecarv1.MemoryRevision
	Revision *memsidecarv1.Revision
}

// ConflictChanged is a conflict that was opened or changed, whatever of it, as it was
// then.
type ConflictChanged struct {
	Conflict *memsidecarv1.Conflict
	Revision *memsidecarv1.Revision
}

// WatchHeartbeat says that every change up to its revision has been looked at.
type WatchHeartbeat struct {
	// CaughtUp says that changes from here on are live.
	CaughtUp bool
	Revision *memsidecarv1.Revision
}

// WatchBehind says that this reader is slower than changes come.
type WatchBehind struct {
	// Pending counts changes of the whole partition that it has not been sent.
	Pending  int64
	Revision *memsidecarv1.Revision
}

// WatchInterrupted says that the sidecar has gone away. The watch goes on where it was
// as soon as it is back.
type WatchInterrupted struct {
	Err      *Error
	Revision *memsidecarv1.Revision
}

func (*MemoryChanged) watchEvent()    {}
func (*ConflictChanged) watchEvent()  {}
func (*WatchHeartbeat) watchEvent()   {}
func (*WatchBehind) watchEvent()      {}
func (*WatchInterrupted) watchEvent() {}

// Watch follows the changes of a scope, over restarts of the sidecar. It is for one
// goroutine; nothing is read ahead, so that a slow reader holds nothing at the server.
type Watch struct {
	client  *Client
	ctx     context.Context //nolint:containedctx // the watch's own life, ended by Close
	cancel  context.CancelFunc
	request *memsidecarv1.WatchMemoriesRequest

	stream    grpc.ServerStreamingClient[memsidecarv1.WatchMemoriesResponse]
	endCall   context.CancelFunc
	first     *memsidecarv1.WatchMemoriesResponse
	reached   *memsidecarv1.Revision
	isTold    bool
	wasClosed bool
	broken    *Error
	pacing    pacing
}

// WatchMemories begins to watch: once it returns, every later change is told, each once.
// It goes on after the request's revision, such as that of the last event. The context
// is for all of the watch, without a deadline of the client's; Close ends it, too.
func (c *Client) WatchMemories(ctx context.Context, request *memsidecarv1.WatchMemoriesRequest) (*Watch, error) {
	ctx, cancel := context.WithCancel(ctx)
	watch := &Watch{
		client: c, ctx: ctx, cancel: cancel, request: request,
		reached: request.GetAfter(), isTold: true,
	}
	watch.pacing.reset()
	if err := watch.open(false); err != nil {
		cancel()
		return nil, err
	}
	return watch, nil
}

// Revision is where a later watch goes on: that of the event that was given last.
func (w *Watch) Revision() *memsidecarv1.Revision { return w.reached }

// Close ends the watch.
func (w *Watch) Close() error {
	w.wasClosed = true
	w.cancel()
	return nil
}

// Events iterates over what happens, for as long as the watch lasts. It ends without an
// error once the watch is closed. What does not pass by itself is the last pair: the
// context's end, a revision that a restored store has not reached, damaged data. Breaking
// out of the loop leaves the watch as it is.
func (w *Watch) Events() iter.Seq2[WatchEvent, error] {
	return func(yield func(WatchEvent, error) bool) {
		for !w.wasClosed {
			event, err := w.next()
			if err != nil {
				if !w.wasClosed {
					w.wasClosed = true
					yield(nil, err)
				}
				return
			}
			if !yield(event, nil) {
				return
			}
		}
	}
}

func (w *Watch) next() (WatchEvent, error) {
	for {
		if w.stream == nil {
			if err := w.goOn(); err != nil {
				return nil, err
			}
		}
		response, err := w.first, error(nil)
		if w.first = nil; response == nil {
			response, err = w.stream.Recv()
		}
		if err == nil {
			if event := watchEventOf(response); event != nil {
				if response.GetRevision().GetToken() != w.reached.GetToken() {
					w.pacing.reset()
				}
				w.reached, w.isTold = response.GetRevision(), false
				return event, nil
			}
			continue
		}
		w.endCall()
		w.stream = nil
		w.broken = endedByServer()
		if !errors.Is(err, io.EOF) {
			w.broken = asError(err)
		}
		if w.ctx.Err() != nil || w.client.caller.closed() || !passing(w.broken) {
			return nil, w.broken
		}
		if !w.isTold {
			w.isTold = true
			return &WatchInterrupted{w.broken, w.reached}, nil
		}
	}
}

// goOn opens another call after what was told last, again and again.
func (w *Watch) goOn() error {
	for {
		if !w.pacing.wait(w.ctx, w.broken) {
			return ended(w.ctx)
		}
		err := w.open(true)
		if err == nil {
			return nil
		}
		w.broken = asError(err)
		if w.ctx.Err() != nil || w.client.caller.closed() || !passing(err) {
			return err
		}
	}
}

func (w *Watch) open(again bool) error {
	request := &memsidecarv1.WatchMemoriesRequest{
		Scope: w.request.GetScope(), After: w.reached, Filter: w.request.GetFilter(),
	}
	stream, first, cancel, err := opened(w.ctx, w.client.caller, again,
		func(ctx context.Context, options ...grpc.CallOption) (
			grpc.ServerStreamingClient[memsidecarv1.WatchMemoriesResponse], error,
		) {
			return w.client.MemoryServiceClient.WatchMemories(ctx, request, options...)
		})
	if errors.Is(err, io.EOF) {
		err = endedByServer()
	}
	w.stream, w.first, w.endCall = stream, first, cancel
	return err
}

// watchEventOf is nil for a kind that this client does not know.
func watchEventOf(response *memsidecarv1.WatchMemoriesResponse) WatchEvent {
	revision := response.GetRevision()
	switch told := response.GetEvent().(type) {
	case *memsidecarv1.WatchMemoriesResponse_Change:
		return &MemoryChanged{told.Change, revision}
	case *memsidecarv1.WatchMemoriesResponse_Conflict:
		return &ConflictChanged{told.Conflict, revision}
	case *memsidecarv1.WatchMemoriesResponse_Heartbeat:
		return &WatchHeartbeat{told.Heartbeat.GetCaughtUp(), revision}
	case *memsidecarv1.WatchMemoriesResponse_Behind:
		return &WatchBehind{told.Behind.GetPending(), revision}
	}
	return nil
}
