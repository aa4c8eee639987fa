package memsidecar

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// wire is one RecallDuring call; a generation has another one whenever the one before
// breaks. Written by one goroutine and read by one.
type wire struct {
	stream grpc.BidiStreamingClient[memsidecarv1.RecallDuringRequest, memsidecarv1.RecallDuringResponse]
	ctx    context.Context //nolint:containedctx // the call's own life
	cancel context.CancelFunc
}

func newWire(ctx context.Context) *wire {
	callCtx, cancel := context.WithCancel(ctx)
	return &wire{ctx: callCtx, cancel: cancel}
}

// open begins the call; it is over when it fails.
func (w *wire) open(
	c *Client, start *memsidecarv1.GenerationStart, within time.Duration,
) (*memsidecarv1.GenerationStarted, error) {
	late := make(chan struct{})
	timer := time.AfterFunc(within, func() { close(late); w.cancel() })
	defer timer.Stop()
	started, err := w.begin(c, start)
	if err == nil && timer.Stop() {
		return started, nil
	}
	w.cancel()
	select {
	case <-late:
		return nil, c.caller.notOpened(err)
	default:
		return nil, err
	}
}

func (w *wire) begin(c *Client, start *memsidecarv1.GenerationStart) (*memsidecarv1.GenerationStarted, error) {
	stream, err := c.GenerationServiceClient.RecallDuring(w.ctx)
	if err != nil {
		return nil, err
	}
	w.stream = stream
	message := &memsidecarv1.RecallDuringRequest{Event: &memsidecarv1.RecallDuringRequest_Start{Start: start}}
	// io.EOF: the call is over, and reading says why.
	if err := stream.Send(message); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	response, err := stream.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if started := response.GetStarted(); started != nil {
		return started, nil
	}
	return nil, failure(codes.Internal, "the server began the stream without saying so")
}
