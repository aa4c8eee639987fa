package memsidecar_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

func TestOverTCPAClientIsTheSame(t *testing.T) {
	f := startFakeOn(t, "tcp")
	f.getMemory = nothingChanged
	t.Setenv("http_proxy", "http://127.0.0.1:1") // for the model provider, not for the sidecar
	answer, err := f.client(t).GetMemory(within(t, 10*time.Second), &memsidecarv1.GetMemoryRequest{Name: "x"})
	if err != nil || answer.GetMemory().GetName() != "x" {
		t.Errorf("%v, %v", answer, err)
	}
}

func TestTheApplicationsIDGoesWithACallAndIntoItsError(t *testing.T) {
	f := startFake(t)
	f.getMemory = func(ctx context.Context, _ *memsidecarv1.GetMemoryRequest) (*memsidecarv1.GetMemoryResponse, error) {
		given, _ := metadata.FromIncomingContext(ctx)
		return nil, status.Error(codes.NotFound, given.Get("x-request-id")[0])
	}
	client := f.client(t, memsidecar.WithCorrelationID(func(context.Context) string { return "trace-1" }))
	_, err := client.GetMemory(within(t, 10*time.Second), nil)
	var failed *memsidecar.Error
	if !errors.As(err, &failed) || failed.Message != "trace-1" || failed.RequestID != "trace-1" {
		t.Errorf("%+v", failed)
	}
	ctx := metadata.AppendToOutgoingContext(within(t, 10*time.Second), "x-request-id", "mine")
	if _, err := client.GetMemory(ctx, nil); !errors.As(err, &failed) || failed.RequestID != "mine" {
		t.Errorf("of the context: %+v", failed)
	}
}

func TestAClientForAnotherUserSharesTheConnection(t *testing.T) {
	f := startFake(t)
	var seen []*memsidecarv1.Scope
	f.remember = func(_ context.Context, r *memsidecarv1.RememberRequest) (*memsidecarv1.RememberResponse, error) {
		seen = append(seen, r.GetScope())
		return &memsidecarv1.RememberResponse{}, nil
	}
	client := f.client(t, memsidecar.WithNamespace("acme"), memsidecar.WithUser("ana"), memsidecar.WithAgent("planner"))
	scope := client.Scope()
	scope.User = "bob"
	for _, each := range []*memsidecar.Client{client, client.For(scope)} {
		if _, err := each.Remember(within(t, 10*time.Second), &memsidecarv1.RememberRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if seen[0].GetUser() != "ana" || seen[1].GetUser() != "bob" || seen[1].GetAgent() != "planner" {
		t.Errorf("%v", seen)
	}
}

func TestASidecarSaysWhetherItIsHealthy(t *testing.T) {
	server, err := shared.start()
	if err != nil {
		t.Fatal(err)
	}
	client := server.client(t)
	for _, service := range []string{"", "readiness", "memsidecar.v1.MemoryService"} {
		// Readiness is asked for once a second.
		until := time.Now().Add(10 * time.Second)
		for isHealthy := false; !isHealthy; time.Sleep(50 * time.Millisecond) {
			if isHealthy, err = client.Healthy(within(t, 10*time.Second), service); err != nil || time.Now().After(until) {
				t.Fatalf("%q is not healthy: %v", service, err)
			}
		}
	}
	if _, err := client.Healthy(within(t, 10*time.Second), "nonsense"); !errors.Is(err, memsidecar.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestManyItemsCanBeSentAgainWithOneID(t *testing.T) {
	server, err := shared.start()
	if err != nil {
		t.Fatal(err)
	}
	client := server.client(t, memsidecar.WithUser("many"))
	items := make([]*memsidecarv1.RememberItem, 300)
	for i := range items {
		items[i] = memsidecar.Said("note "+time.Duration(i).String(), "Ana")
	}
	request := &memsidecarv1.BatchRememberRequest{Items: items, RequestId: "7b3f2c52-6a3c-4c58-9a39-0d0e2f0f7a02"}
	for range 2 {
		many, err := client.RememberMany(within(t, time.Minute), request)
		if err != nil || len(many.Results) != 300 || many.Results[299].GetIndex() != 299 || len(many.Stages) != 2 {
			t.Fatalf("%v, %v", many, err)
		}
	}
	stored := 0
	for _, err := range client.AllMemories(within(t, time.Minute), &memsidecarv1.ListMemoriesRequest{PageSize: 100}) {
		if err != nil {
			t.Fatal(err)
		}
		stored++
	}
	if stored != 300 {
		t.Errorf("%d are stored", stored)
	}
	request.RequestId = "nonsense"
	if _, err := client.RememberMany(within(t, time.Minute), request); !errors.Is(err, memsidecar.ErrInvalidArgument) {
		t.Errorf("%v", err)
	}
}
