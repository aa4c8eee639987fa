package memsidecar_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// fake is a server in this process that fails as a test writes it down.
type fake struct {
	memsidecarv1.UnimplementedMemoryServiceServer
	memsidecarv1.UnimplementedRecallServiceServer
	memsidecarv1.UnimplementedGenerationServiceServer
	memsidecarv1.UnimplementedInfoServiceServer

	target string
	server *grpc.Server

	mu        sync.Mutex
	getMemory func(context.Context, *memsidecarv1.GetMemoryRequest) (*memsidecarv1.GetMemoryResponse, error)
	remember  func(context.Context, *memsidecarv1.RememberRequest) (*memsidecarv1.RememberResponse, error)
	recall    func(grpc.ServerStreamingServer[memsidecarv1.RecallResponse]) error
	stream    func(grpc.ClientStreamingServer[memsidecarv1.StreamRememberRequest, memsidecarv1.StreamRememberResponse]) error
	// One for each call that comes in.
	generations []func(*generationCall) error
	watches     []func(*memsidecarv1.WatchMemoriesRequest, grpc.ServerStreamingServer[memsidecarv1.WatchMemoriesResponse]) error
}

func startFake(t *testing.T) *fake {
	t.Helper()
	return startFakeOn(t, "unix")
}

// startFakeOn listens on a socket, or on a TCP port of loopback.
func startFakeOn(t *testing.T, network string) *fake {
	t.Helper()
	folder, err := os.MkdirTemp("", "ms-")
	if err != nil {
		t.Fatal(err)
	}
	address := filepath.Join(folder, "s")
	if network == "tcp" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{target: "unix://" + address}
	if network == "tcp" {
		f.target = listener.Addr().String()
	}
	f.server = grpc.NewServer()
	memsidecarv1.RegisterMemoryServiceServer(f.server, f)
	memsidecarv1.RegisterRecallServiceServer(f.server, f)
	memsidecarv1.RegisterGenerationServiceServer(f.server, f)
	memsidecarv1.RegisterInfoServiceServer(f.server, f)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = f.server.Serve(listener)
	}()
	t.Cleanup(func() {
		f.server.Stop()
		<-done
		_ = os.RemoveAll(folder)
	})
	return f
}

func (f *fake) client(t *testing.T, options ...memsidecar.Option) *memsidecar.Client {
	t.Helper()
	return clientOf(t, f.target, options...)
}

func (f *fake) GetMemory(
	ctx context.Context, request *memsidecarv1.GetMemoryRequest,
) (*memsidecarv1.GetMemoryResponse, error) {
	return f.getMemory(ctx, request)
}

func (f *fake) Remember(
	ctx context.Context, request *memsidecarv1.RememberRequest,
) (*memsidecarv1.RememberResponse, error) {
	return f.remember(ctx, request)
}

func (f *fake) Recall(_ *memsidecarv1.RecallRequest, s grpc.ServerStreamingServer[memsidecarv1.RecallResponse]) error {
	return f.recall(s)
}

func (f *fake) StreamRemember(
	s grpc.ClientStreamingServer[memsidecarv1.StreamRememberRequest, memsidecarv1.StreamRememberResponse],
) error {
	return f.stream(s)
}

func (f *fake) WatchMemories(
	request *memsidecarv1.WatchMemoriesRequest, s grpc.ServerStreamingServer[memsidecarv1.WatchMemoriesResponse],
) error {
	f.mu.Lock()
	script := f.watches[0]
	f.watches = f.watches[1:]
	f.mu.Unlock()
	return script(request, s)
}

func (f *fake) RecallDuring(
	s grpc.BidiStreamingServer[memsidecarv1.RecallDuringRequest, memsidecarv1.RecallDuringResponse],
) error {
	f.mu.Lock()
	if len(f.generations) == 0 {
		f.mu.Unlock()
		return status.Error(codes.Unavailable, "no script")
	}
	script := f.generations[0]
	f.generations = f.generations[1:]
	f.mu.Unlock()
	call := &generationCall{stream: s}
	first, err := s.Recv()
	if err != nil {
		return err
	}
	call.start = first.GetStart()
	return script(call)
}

// generationCall is one call as its script sees it.
type generationCall struct {
	stream grpc.BidiStreamingServer[memsidecarv1.RecallDuringRequest, memsidecarv1.RecallDuringResponse]
	start  *memsidecarv1.GenerationStart
}

func (c *generationCall) started(credit int32) {
	_ = c.stream.Send(&memsidecarv1.RecallDuringResponse{Event: &memsidecarv1.RecallDuringResponse_Started{
		Started: &memsidecarv1.GenerationStarted{
			InitialCredit: credit, MaxTotalHits: 64, MaxTotalTokens: 4096,
		},
	}})
}

func (c *generationCall) hit(name string, seq, start, end int64) {
	_ = c.stream.Send(&memsidecarv1.RecallDuringResponse{Event: &memsidecarv1.RecallDuringResponse_Hit{
		Hit: &memsidecarv1.HitFound{
			Hit: &memsidecarv1.Hit{Memory: &memsidecarv1.Memory{Name: name}, Text: name}, TriggerSeq: seq,
			SpanStart: start, SpanEnd: end,
		},
	}})
}

// watermark is one of an older server, which counts no rewinds.
func (c *generationCall) watermark(seq int64) { c.mark(&memsidecarv1.Watermark{Seq: seq}) }

func (c *generationCall) mark(mark *memsidecarv1.Watermark) {
	_ = c.stream.Send(&memsidecarv1.RecallDuringResponse{Event: &memsidecarv1.RecallDuringResponse_Watermark{
		Watermark: mark,
	}})
}

func (c *generationCall) finished() error {
	return c.stream.Send(&memsidecarv1.RecallDuringResponse{Event: &memsidecarv1.RecallDuringResponse_Finished{
		Finished: &memsidecarv1.GenerationFinished{},
	}})
}

// until reads up to the first message that is wanted; nil when the client has left.
func (c *generationCall) until(wanted func(*memsidecarv1.RecallDuringRequest) bool) *memsidecarv1.RecallDuringRequest {
	for {
		message, err := c.stream.Recv()
		if err != nil {
			return nil
		}
		if wanted(message) {
			return message
		}
	}
}

func isText(m *memsidecarv1.RecallDuringRequest) bool   { return m.GetText() != nil }
func isFlush(m *memsidecarv1.RecallDuringRequest) bool  { return m.GetFlush() != nil }
func isFinish(m *memsidecarv1.RecallDuringRequest) bool { return m.GetFinish() != nil }
func isCredit(m *memsidecarv1.RecallDuringRequest) bool { return m.GetCredit() != nil }
func isRewind(m *memsidecarv1.RecallDuringRequest) bool { return m.GetRewind() != nil }

// refusal is a status with everything that the server can say.
func refusal(code codes.Code, reason string, details ...protoadapt.MessageV1) error {
	info := &errdetails.ErrorInfo{Reason: reason, Domain: "memsidecar", Metadata: map[string]string{"limit": "5"}}
	refused, err := status.New(code, "refused").WithDetails(append(details, info)...)
	if err != nil {
		return err
	}
	return refused.Err()
}

func retryIn(delay *durationpb.Duration) protoadapt.MessageV1 {
	return &errdetails.RetryInfo{RetryDelay: delay}
}

func nothingChanged(
	_ context.Context, request *memsidecarv1.GetMemoryRequest,
) (*memsidecarv1.GetMemoryResponse, error) {
	return &memsidecarv1.GetMemoryResponse{Memory: &memsidecarv1.Memory{Name: request.GetName()}}, nil
}

func gone(context.Context, *memsidecarv1.GetMemoryRequest) (*memsidecarv1.GetMemoryResponse, error) {
	return nil, refusal(codes.NotFound, "RESOURCE_NOT_FOUND")
}
