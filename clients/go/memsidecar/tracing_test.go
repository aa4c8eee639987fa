package memsidecar_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// tracing does what OpenTelemetry's stats handler does: it puts the trace of a call's
// context into what is sent, as each attempt begins.
type tracing struct {
	mu    sync.Mutex
	ended []string
}

type traceKey struct{}

func (*tracing) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	parent, _ := ctx.Value(traceKey{}).(string)
	return metadata.AppendToOutgoingContext(ctx, "traceparent", parent)
}

func (h *tracing) HandleRPC(ctx context.Context, event stats.RPCStats) {
	if _, ok := event.(*stats.End); ok {
		parent, _ := ctx.Value(traceKey{}).(string)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ended = append(h.ended, parent)
	}
}

func (*tracing) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (*tracing) HandleConn(context.Context, stats.ConnStats) {}

func traceparent(ctx context.Context) string {
	given, _ := metadata.FromIncomingContext(ctx)
	return strings.Join(given.Get("traceparent"), ",")
}

func TestAStatsHandlerSeesEachCallWithItsTrace(t *testing.T) {
	f := startFake(t)
	seen := make(chan string, 10)
	f.getMemory = func(ctx context.Context, _ *memsidecarv1.GetMemoryRequest) (*memsidecarv1.GetMemoryResponse, error) {
		seen <- traceparent(ctx)
		return &memsidecarv1.GetMemoryResponse{}, nil
	}
	f.recall = func(s grpc.ServerStreamingServer[memsidecarv1.RecallResponse]) error {
		seen <- traceparent(s.Context())
		return nil
	}
	begun := &memsidecarv1.WatchMemoriesResponse{
		Revision: &memsidecarv1.Revision{Token: "r1"},
		Event:    &memsidecarv1.WatchMemoriesResponse_Heartbeat{Heartbeat: &memsidecarv1.WatchHeartbeat{}},
	}
	for _, end := range []codes.Code{codes.Unavailable, codes.Internal} {
		f.watches = append(f.watches, func(
			_ *memsidecarv1.WatchMemoriesRequest, s grpc.ServerStreamingServer[memsidecarv1.WatchMemoriesResponse],
		) error {
			seen <- traceparent(s.Context())
			_ = s.Send(begun)
			return status.Error(end, "over")
		})
	}
	handler := &tracing{}
	client := f.client(t, memsidecar.WithDialOptions(grpc.WithStatsHandler(handler)))
	ctx := context.WithValue(within(t, 10*time.Second), traceKey{}, "00-trace-span-01")

	if _, err := client.GetMemory(ctx, &memsidecarv1.GetMemoryRequest{}); err != nil {
		t.Fatal(err)
	}
	for event, err := range client.Recall(ctx, &memsidecarv1.RecallRequest{}) {
		t.Errorf("%v, %v", event, err)
	}
	watch, err := client.WatchMemories(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close() //nolint:errcheck // it gives no error
	for _, err := range watch.Events() {
		if err != nil && !errors.Is(err, memsidecar.ErrInternal) {
			t.Error(err)
		}
	}
	for _, call := range []string{"GetMemory", "Recall", "WatchMemories", "WatchMemories after a break"} {
		if got := <-seen; got != "00-trace-span-01" {
			t.Errorf("%s: %q", call, got)
		}
	}
	handler.mu.Lock()
	defer handler.mu.Unlock()
	if ended := strings.Join(handler.ended, " "); strings.Count(ended, "00-trace-span-01") != 4 {
		t.Errorf("ended for the handler: %s", ended)
	}
}
