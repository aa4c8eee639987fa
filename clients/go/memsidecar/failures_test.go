package memsidecar_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

func TestAWriteIsRepeatedWithTheSameRequestID(t *testing.T) {
	f := startFake(t)
	var ids []string
	f.remember = func(ctx context.Context, r *memsidecarv1.RememberRequest) (*memsidecarv1.RememberResponse, error) {
		ids = append(ids, r.GetRequestId())
		given, _ := metadata.FromIncomingContext(ctx)
		if r.GetScope().GetUser() != "ana" || given.Get("authorization")[0] != "Bearer secret" {
			return nil, status.Error(codes.InvalidArgument, "not as the client was told")
		}
		if len(ids) < 4 {
			return nil, status.Error(codes.Unavailable, "not yet")
		}
		return &memsidecarv1.RememberResponse{}, nil
	}
	client := f.client(t, memsidecar.WithUser("ana"), memsidecar.WithToken("secret"))
	request := &memsidecarv1.RememberRequest{Item: memsidecar.Said("x", "")}
	if _, err := client.Remember(within(t, 10*time.Second), request); err != nil {
		t.Fatal(err)
	}
	if len(ids) != 4 || ids[0] == "" || ids[0] != ids[3] {
		t.Errorf("attempts with the ids %v", ids)
	}
	if request.RequestId != "" || request.Scope != nil {
		t.Error("the caller's message was changed")
	}
}

func TestAnErrorHasEverythingThatTheServerSaid(t *testing.T) {
	f := startFake(t)
	f.getMemory = func(ctx context.Context, _ *memsidecarv1.GetMemoryRequest) (*memsidecarv1.GetMemoryResponse, error) {
		_ = grpc.SetTrailer(ctx, metadata.Pairs("x-request-id", "r-1"))
		return nil, refusal(codes.ResourceExhausted, "OVERLOADED", retryIn(durationpb.New(50*time.Millisecond)),
			&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
				{Field: "name", Description: "is wrong"},
			}})
	}
	_, err := f.client(t).GetMemory(within(t, 10*time.Second), nil)
	var failed *memsidecar.Error
	if !errors.As(err, &failed) || !errors.Is(err, memsidecar.ErrResourceExhausted) || errors.Is(err, memsidecar.ErrNotFound) {
		t.Fatalf("%v", err)
	}
	if failed.Reason != "OVERLOADED" || failed.Metadata["limit"] != "5" || failed.RetryAfter != 50*time.Millisecond ||
		failed.RequestID != "r-1" || failed.Violations[0] != (memsidecar.Violation{Field: "name", Description: "is wrong"}) {
		t.Errorf("%+v", failed)
	}
	if status.Code(err) != codes.ResourceExhausted || len(status.Convert(err).Details()) != 3 {
		t.Error("it does not unwrap to the status")
	}
	if !memsidecar.HasReason(err, memsidecarv1.ErrorReason_ERROR_REASON_OVERLOADED) {
		t.Error("it has not its reason")
	}
}

func TestACallHasADeadlineAndSaysWhichContextEndedIt(t *testing.T) {
	f := startFake(t)
	f.getMemory = func(ctx context.Context, _ *memsidecarv1.GetMemoryRequest) (*memsidecarv1.GetMemoryResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	client := f.client(t, memsidecar.WithTimeout(100*time.Millisecond))
	if _, err := client.GetMemory(context.Background(), nil); !errors.Is(err, memsidecar.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err := client.GetMemory(ctx, nil)
	if !errors.Is(err, memsidecar.ErrCancelled) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestATextThatIsNoUnicodeIsNamedAndNotSent(t *testing.T) {
	const bad = "bad \xff"
	f := startFake(t) // whose functions are nil: a call that comes ends the test
	client := f.client(t)
	ctx := within(t, 10*time.Second)
	labelled := &memsidecarv1.RememberOptions{Labels: map[string]string{"k": bad}}
	keyed := &memsidecarv1.RememberOptions{Labels: map[string]string{bad: "v"}}
	named := memsidecar.Said("x", "")
	named.Entities = []string{"good", bad}
	for path, call := range map[string]func() error{
		"item.text": func() error {
			_, err := client.Remember(ctx, &memsidecarv1.RememberRequest{Item: memsidecar.Said(bad, "")})
			return err
		},
		"item.entities[1]": func() error {
			_, err := client.Remember(ctx, &memsidecarv1.RememberRequest{Item: named})
			return err
		},
		`options.labels["k"]`: func() error {
			_, err := client.Remember(ctx, &memsidecarv1.RememberRequest{Options: labelled})
			return err
		},
		`options.labels["bad \xff"]`: func() error {
			_, err := client.Remember(ctx, &memsidecarv1.RememberRequest{Options: keyed})
			return err
		},
		"query.text": func() error {
			query := &memsidecarv1.Query{Text: bad}
			for _, err := range client.Recall(ctx, &memsidecarv1.RecallRequest{Query: query}) {
				return err
			}
			return nil
		},
		"scope.user": func() error {
			_, err := f.client(t, memsidecar.WithUser(bad)).Remember(ctx, &memsidecarv1.RememberRequest{})
			return err
		},
	} {
		err := call()
		var failed *memsidecar.Error
		if !errors.As(err, &failed) || !errors.Is(err, memsidecar.ErrInvalidArgument) {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if len(failed.Violations) != 1 || failed.Violations[0].Field != path || status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %+v", path, failed)
		}
	}
}

func TestASidecarThatIsNotThereIsSaidInOneSentence(t *testing.T) {
	target := "unix:///nowhere/s.sock"
	sentence := "no connection to " + target + ", is the sidecar running there?"
	client := clientOf(t, target, memsidecar.WithTimeout(300*time.Millisecond))
	_, err := client.GetMemory(context.Background(), nil)
	var failed *memsidecar.Error
	if !errors.As(err, &failed) || failed.Message != "no answer in time; "+sentence {
		t.Errorf("%v", err)
	}
	if status.Code(failed.Unwrap()[0]) != codes.DeadlineExceeded {
		t.Error("it does not unwrap to the status")
	}
	_, err = clientOf(t, target, memsidecar.WithFailFast()).GetMemory(within(t, 10*time.Second), nil)
	if !errors.As(err, &failed) || failed.Message != sentence || !errors.Is(err, memsidecar.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

func TestATimeBeforeNowIsNoTimeout(t *testing.T) {
	_, err := memsidecar.New("unix:///nowhere/s.sock", memsidecar.WithTimeout(-time.Second))
	var failed *memsidecar.Error
	if !errors.As(err, &failed) || !errors.Is(err, memsidecar.ErrInvalidArgument) || failed.Violations[0].Field != "timeout" {
		t.Errorf("%v", err)
	}
}

func TestLeavingARecallStopsTheServersWork(t *testing.T) {
	f := startFake(t)
	stopped := make(chan struct{})
	f.recall = func(s grpc.ServerStreamingServer[memsidecarv1.RecallResponse]) error {
		defer close(stopped)
		hit := &memsidecarv1.Hit{Memory: &memsidecarv1.Memory{Name: "a"}}
		_ = s.Send(&memsidecarv1.RecallResponse{Event: &memsidecarv1.RecallResponse_Hit{Hit: hit}})
		<-s.Context().Done()
		return s.Context().Err()
	}
	for event, err := range f.client(t).Recall(context.Background(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := event.(*memsidecar.RecallHit); ok {
			break
		}
	}
	select {
	case <-stopped:
	case <-time.After(10 * time.Second):
		t.Error("the server goes on")
	}
}

func TestSendingIntoAStreamThatNobodyReadsWaitsUntilItIsLeft(t *testing.T) {
	f := startFake(t)
	f.stream = func(s grpc.ClientStreamingServer[memsidecarv1.StreamRememberRequest, memsidecarv1.StreamRememberResponse]) error {
		<-s.Context().Done()
		return s.Context().Err()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	stream, err := f.client(t).StreamRemember(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close() //nolint:errcheck // it gives no error
	page := memsidecar.Said(strings.Repeat("x", 1<<20), "")
	for range 64 {
		if err = stream.Send(page); err != nil {
			break
		}
	}
	if !errors.Is(err, memsidecar.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestARefusedStreamSaysWhy(t *testing.T) {
	f := startFake(t)
	f.stream = func(s grpc.ClientStreamingServer[memsidecarv1.StreamRememberRequest, memsidecarv1.StreamRememberResponse]) error {
		_, _ = s.Recv()
		return refusal(codes.ResourceExhausted, "STORE_FULL")
	}
	stream, err := f.client(t).StreamRemember(within(t, 10*time.Second), nil)
	for err == nil {
		err = stream.Send(memsidecar.Said("x", ""))
	}
	if !memsidecar.HasReason(err, memsidecarv1.ErrorReason_ERROR_REASON_STORE_FULL) {
		t.Errorf("%v", err)
	}
}

func TestAWatchEndsWithWhatDoesNotPass(t *testing.T) {
	f := startFake(t)
	type response = memsidecarv1.WatchMemoriesResponse
	beat := &response{
		Event:    &memsidecarv1.WatchMemoriesResponse_Heartbeat{Heartbeat: &memsidecarv1.WatchHeartbeat{CaughtUp: true}},
		Revision: &memsidecarv1.Revision{Token: "r1"},
	}
	var after []string
	f.watches = []func(*memsidecarv1.WatchMemoriesRequest, grpc.ServerStreamingServer[response]) error{
		func(_ *memsidecarv1.WatchMemoriesRequest, s grpc.ServerStreamingServer[response]) error {
			_ = s.Send(beat)
			return status.Error(codes.Unavailable, "gone")
		},
		func(r *memsidecarv1.WatchMemoriesRequest, _ grpc.ServerStreamingServer[response]) error {
			after = append(after, r.GetAfter().GetToken())
			return refusal(codes.FailedPrecondition, "REVISION_UNKNOWN")
		},
	}
	watch, err := f.client(t).WatchMemories(within(t, 10*time.Second), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close() //nolint:errcheck // it gives no error
	var seen []string
	for event, err := range watch.Events() {
		switch event := event.(type) {
		case *memsidecar.WatchHeartbeat:
			seen = append(seen, "heartbeat")
		case *memsidecar.WatchInterrupted:
			seen = append(seen, "interrupted after "+event.Revision.GetToken())
		}
		if err != nil {
			seen = append(seen, err.(*memsidecar.Error).Reason) //nolint:errorlint,forcetypeassert // as documented
		}
	}
	if got := strings.Join(seen, ", "); got != "heartbeat, interrupted after r1, REVISION_UNKNOWN" || after[0] != "r1" {
		t.Errorf("%s, after %v", got, after)
	}
}

func TestClosingTheClientEndsWhatIsUnderWay(t *testing.T) {
	f := startFake(t)
	f.generations = []func(*generationCall) error{func(c *generationCall) error {
		c.started(16)
		c.until(func(*memsidecarv1.RecallDuringRequest) bool { return false })
		return nil
	}}
	client := f.client(t)
	generation, err := client.RecallDuring(within(t, 10*time.Second), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	for _, err := range generation.Events(context.Background()) {
		if !errors.Is(err, memsidecar.ErrCancelled) {
			t.Errorf("%v", err)
		}
	}
	if _, err := client.GetServerInfo(context.Background(), nil); !errors.Is(err, memsidecar.ErrCancelled) {
		t.Errorf("after the end: %v", err)
	}
}
