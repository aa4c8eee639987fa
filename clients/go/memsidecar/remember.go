package memsidecar

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// RememberedMany is what came of many items.
type RememberedMany struct {
	// Results has one entry an item, in order; ItemFailure tells an item's error.
	Results []*memsidecarv1.ItemResult
	// Revision shows all of it.
	Revision *memsidecarv1.Revision
	// Stages has one entry a call.
	Stages []*memsidecarv1.WriteStages
}

// RememberMany is BatchRemember for any number of items: it sends as many calls as they
// need. When a call fails as a whole its error is returned with what went before, which
// stays stored; repeating everything with the same request_id stores nothing twice.
func (c *Client) RememberMany(
	ctx context.Context, request *memsidecarv1.BatchRememberRequest,
) (*RememberedMany, error) {
	first := uuid.New()
	if given := request.GetRequestId(); given != "" {
		parsed, err := uuid.Parse(given)
		if err != nil {
			return nil, invalid("request_id", "is not a UUID")
		}
		first = parsed
	}
	all := &RememberedMany{}
	for batch := range batches(request.GetItems()) {
		sent := len(all.Results)
		// Derived, so that a repeated RememberMany repeats the ids of all its calls.
		id := first
		if sent > 0 {
			id = uuid.NewSHA1(first, []byte(strconv.Itoa(sent)))
		}
		answer, err := c.BatchRemember(ctx, &memsidecarv1.BatchRememberRequest{
			Scope: request.GetScope(), Items: batch, Options: request.GetOptions(), RequestId: id.String(),
		})
		if err != nil {
			return all, err
		}
		for _, result := range answer.GetResults() {
			result.Index += int64(sent)
		}
		all.Results = append(all.Results, answer.GetResults()...)
		all.Stages = append(all.Stages, answer.GetStages())
		all.Revision = answer.GetRevision()
	}
	return all, nil
}

// RememberStream takes items from a source of any length. It is for one goroutine.
type RememberStream struct {
	stream grpc.ClientStreamingClient[memsidecarv1.StreamRememberRequest, memsidecarv1.StreamRememberResponse]
	cancel context.CancelFunc
	answer *memsidecarv1.StreamRememberResponse
}

// StreamRemember opens a stream of items. The context is for all of it; it has no
// deadline of the client's, because the source has no end that could be foreseen. Only
// opening has one.
func (c *Client) StreamRemember(
	ctx context.Context, start *memsidecarv1.StreamRememberStart,
) (*RememberStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	opening := time.AfterFunc(c.caller.settings.timeout, cancel)
	stream, err := c.MemoryServiceClient.StreamRemember(ctx)
	if err == nil {
		if start == nil {
			start = &memsidecarv1.StreamRememberStart{}
		}
		message := &memsidecarv1.StreamRememberRequest_Start{Start: start}
		err = stream.Send(&memsidecarv1.StreamRememberRequest{Message: message})
	}
	if late := !opening.Stop(); late {
		cancel()
		return nil, c.caller.notOpened(ctx.Err())
	}
	opened := &RememberStream{stream: stream, cancel: cancel}
	if err != nil {
		err = opened.ended(err)
		cancel()
		return nil, err
	}
	return opened, nil
}

// Send sends the items in chunks of at most 256 items and 3 MiB, each committed as a
// unit. It waits while the server is behind. Give many items at once: every chunk costs
// the server a commit.
func (s *RememberStream) Send(items ...*memsidecarv1.RememberItem) error {
	for batch := range batches(items) {
		message := &memsidecarv1.StreamRememberRequest_Items{Items: &memsidecarv1.StreamRememberItems{Items: batch}}
		if err := s.stream.Send(&memsidecarv1.StreamRememberRequest{Message: message}); err != nil {
			return s.ended(err)
		}
	}
	return nil
}

// Finish ends the stream on purpose and gives its summary. Harmless to repeat.
func (s *RememberStream) Finish() (*memsidecarv1.StreamRememberResponse, error) {
	if s.answer != nil {
		return s.answer, nil
	}
	defer s.cancel()
	message := &memsidecarv1.StreamRememberRequest_Finish{Finish: &memsidecarv1.StreamRememberFinish{}}
	err := s.stream.Send(&memsidecarv1.StreamRememberRequest{Message: message})
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	answer, err := s.stream.CloseAndRecv()
	if err != nil {
		return nil, err
	}
	s.answer = answer
	return answer, nil
}

// Close abandons a stream that is not finished: chunks that the server has committed by
// then stay, nothing further is stored. Harmless after Finish; defer it.
func (s *RememberStream) Close() error {
	s.cancel()
	return nil
}

// ended is why a message could not be sent.
func (s *RememberStream) ended(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	if err := s.stream.RecvMsg(&memsidecarv1.StreamRememberResponse{}); err != nil {
		return err
	}
	return failure(codes.Internal, "the server answered before the stream was finished")
}

func invalid(field, problem string) *Error {
	return &Error{
		Code: codes.InvalidArgument, Message: field + " " + problem, Violations: []Violation{{field, problem}},
	}
}
