package memsidecar

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// DefaultTimeout is for one call whose context has no deadline, retries and waiting
// for the sidecar to start included. A recall takes milliseconds; ten seconds outlast
// a sidecar that starts beside the agent, and still end before an agent's own request
// gives up.
const DefaultTimeout = 10 * time.Second

// Option changes how a client is made.
type Option func(*settings)

type settings struct {
	scope         *memsidecarv1.Scope
	token         string
	timeout       time.Duration
	failFast      bool
	correlationID func(context.Context) string
	keepalive     *keepalive.ClientParameters
	dial          []grpc.DialOption
}

func settle(options []Option) *settings {
	chosen := &settings{scope: &memsidecarv1.Scope{}, timeout: DefaultTimeout}
	for _, option := range options {
		option(chosen)
	}
	return chosen
}

// WithNamespace chooses the tenant of every call that names no scope. An agent serves
// one; without this it is the one that the sidecar was started for.
func WithNamespace(namespace string) Option {
	return func(s *settings) { s.scope.Namespace = namespace }
}

// WithUser chooses whose memory calls touch that name no scope. Without it that is the
// namespace's shared memory, which is rarely what a conversation should be stored in.
func WithUser(user string) Option {
	return func(s *settings) { s.scope.User = user }
}

// WithAgent names the agent that writes, and narrows reads to memories of this agent
// and of none: for several agents with one user's memory.
func WithAgent(agent string) Option {
	return func(s *settings) { s.scope.Agent = agent }
}

// WithToken sends a bearer token with each call. A sidecar that listens on TCP asks
// for one, because a port has no file permissions; it is sent in the clear unless
// WithDialOptions brings transport credentials.
func WithToken(token string) Option {
	return func(s *settings) { s.token = token }
}

// WithTimeout replaces DefaultTimeout, for agents that would rather answer without
// memory than late. A context with a deadline of its own is left alone.
func WithTimeout(timeout time.Duration) Option {
	return func(s *settings) { s.timeout = timeout }
}

// WithFailFast fails a call at once when there is no connection. By default a call
// waits, within its deadline, for a sidecar that is still starting beside the agent.
func WithFailFast() Option {
	return func(s *settings) { s.failFast = true }
}

// WithCorrelationID is asked before each call for the value of x-request-id, under
// which the server logs it: a trace id, so that the agent's log and the sidecar's can
// be read together.
func WithCorrelationID(of func(context.Context) string) Option {
	return func(s *settings) { s.correlationID = of }
}

// WithKeepalive replaces the pings: one a minute over TCP, none on a socket. The
// server cuts a client that pings more often than every ten seconds.
func WithKeepalive(parameters keepalive.ClientParameters) Option {
	return func(s *settings) { s.keepalive = &parameters }
}

// WithDialOptions adds options of gRPC's, which win over this client's: transport
// credentials, interceptors, a stats handler for OpenTelemetry.
func WithDialOptions(options ...grpc.DialOption) Option {
	return func(s *settings) { s.dial = append(s.dial, options...) }
}

type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity is false: on a socket or on loopback there is no transport
// to secure.
func (b bearer) RequireTransportSecurity() bool { return false }
