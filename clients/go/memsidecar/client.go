package memsidecar

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// Client is a client of one sidecar. It serves any number of goroutines.
//
// The generated stubs are embedded: every unary RPC is a method that takes its request
// message, and has the client's scope when the request names none, a request_id when it
// takes one, a deadline when the context has none, and errors of type *Error. What a
// stream needs beyond its stub is in methods of the client's own.
//
// A scope that a request does name is sent as it is; begin with Scope to change a part
// of the client's.
type Client struct {
	memsidecarv1.InfoServiceClient
	memsidecarv1.SessionServiceClient
	memsidecarv1.MemoryServiceClient
	memsidecarv1.RecallServiceClient
	memsidecarv1.GenerationServiceClient
	memsidecarv1.KnowledgeServiceClient
	memsidecarv1.JobServiceClient

	caller *caller
	health grpc_health_v1.HealthClient
}

// New makes a client of the sidecar at target: unix:///path/to/socket or host:port;
// empty is DefaultTarget, the sidecar of this machine. It makes no call and opens
// nothing: that the sidecar is still starting is no error. A target or an option that no
// client can have is one.
func New(target string, options ...Option) (*Client, error) {
	if target == "" {
		target = DefaultTarget()
	}
	chosen := settle(options)
	if chosen.timeout < 0 {
		return nil, invalid("timeout", "is less than 0")
	}
	conn, err := grpc.NewClient(target, dialOptions(target, chosen)...)
	if err != nil {
		return nil, err
	}
	return newClient(&caller{conn, target, chosen, conn, chosen.scope}), nil
}

func newClient(calls *caller) *Client {
	return &Client{
		InfoServiceClient:       memsidecarv1.NewInfoServiceClient(calls),
		SessionServiceClient:    memsidecarv1.NewSessionServiceClient(calls),
		MemoryServiceClient:     memsidecarv1.NewMemoryServiceClient(calls),
		RecallServiceClient:     memsidecarv1.NewRecallServiceClient(calls),
		GenerationServiceClient: memsidecarv1.NewGenerationServiceClient(calls),
		KnowledgeServiceClient:  memsidecarv1.NewKnowledgeServiceClient(calls),
		JobServiceClient:        memsidecarv1.NewJobServiceClient(calls),
		caller:                  calls,
		health:                  grpc_health_v1.NewHealthClient(calls),
	}
}

// Scope is a copy of what calls use that name no scope.
func (c *Client) Scope() *memsidecarv1.Scope {
	return proto.CloneOf(c.caller.scope)
}

// For is a client of another scope over the same connection, for an agent that serves
// many users. It is closed with the client that it was made from.
func (c *Client) For(scope *memsidecarv1.Scope) *Client {
	other := *c.caller
	other.scope = proto.CloneOf(scope)
	return newClient(&other)
}

// Close cancels the calls that are under way and closes the connection.
func (c *Client) Close() error {
	return c.caller.conn.Close()
}

// Ready waits until the sidecar answers, also with WithFailFast, and says what it is.
// It fails with ErrDeadlineExceeded when that takes longer than the context allows, or
// without a deadline than the client's timeout.
func (c *Client) Ready(ctx context.Context) (*memsidecarv1.GetServerInfoResponse, error) {
	return c.GetServerInfo(ctx, &memsidecarv1.GetServerInfoRequest{}, grpc.WaitForReady(true))
}

// Healthy says whether a service is ready to be called: "readiness" or "" for the
// sidecar, or the full name of one of its services. A sidecar that does not answer is
// an error.
func (c *Client) Healthy(ctx context.Context, service string) (bool, error) {
	answer, err := c.health.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: service})
	return answer.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING, err
}
