package memsidecar

import (
	"context"
	"errors"
	"io"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// JobEnded says whether a job's state is a final one.
func JobEnded(job *memsidecarv1.Job) bool {
	switch job.GetState() {
	case memsidecarv1.JobState_JOB_STATE_SUCCEEDED,
		memsidecarv1.JobState_JOB_STATE_FAILED,
		memsidecarv1.JobState_JOB_STATE_CANCELLED:
		return true
	default:
		return false
	}
}

// WatchJob gives a job as it is now and whenever it changes, the last time in a final
// state. While the sidecar is away it waits, and goes on as soon as it is back. What
// does not pass by itself is the last pair. Breaking out of the loop ends it.
func (c *Client) WatchJob(ctx context.Context, name string) iter.Seq2[*memsidecarv1.Job, error] {
	request := &memsidecarv1.WatchJobRequest{Name: name}
	open := func(ctx context.Context, options ...grpc.CallOption) (
		grpc.ServerStreamingClient[memsidecarv1.WatchJobResponse], error,
	) {
		return c.JobServiceClient.WatchJob(ctx, request, options...)
	}
	return func(yield func(*memsidecarv1.Job, error) bool) {
		var told *memsidecarv1.Job
		pace := pacing{}
		pace.reset()
		for {
			stream, response, cancel, err := opened(ctx, c.caller, told != nil, open)
			for err == nil {
				// After a break the first message tells again how it stands.
				if !proto.Equal(response.GetJob(), told) {
					told = response.GetJob()
					if !yield(told, nil) {
						cancel()
						return
					}
				}
				pace.reset()
				response, err = stream.Recv()
			}
			if cancel != nil {
				cancel()
			}
			if told != nil && JobEnded(told) {
				return
			}
			broken := endedByServer()
			if !errors.Is(err, io.EOF) {
				broken = asError(err)
			}
			if told == nil || ctx.Err() != nil || c.caller.closed() || !passing(broken) || !pace.wait(ctx, broken) {
				yield(nil, broken)
				return
			}
		}
	}
}
