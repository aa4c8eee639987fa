package memsidecar

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

const requestIDKey = "x-request-id"

// caller stands between the generated stubs and the connection, so that whatever is
// called, today's RPCs and tomorrow's, has the client's scope, a request_id, a
// deadline and typed errors.
type caller struct {
	grpc.ClientConnInterface

	target   string
	settings *settings
	conn     *grpc.ClientConn
	// Of another user or agent, over the same connection.
	scope *memsidecarv1.Scope
}

// Invoke makes a unary call.
func (c *caller) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	if _, ok := ctx.Deadline(); !ok {
		limited, cancel := context.WithTimeout(ctx, c.settings.timeout)
		defer cancel()
		ctx = limited
	}
	ctx, sent := c.correlated(ctx)
	var header, trailer metadata.MD
	options = append(options, grpc.Header(&header), grpc.Trailer(&trailer))
	request := c.prepared(args)
	if err := c.conn.Invoke(ctx, method, request, reply, options...); err != nil {
		if wrong := unsendable(request, err); wrong != nil {
			return wrong
		}
		return c.typed(ctx, err, requestID(trailer, header, sent))
	}
	return nil
}

// NewStream opens a stream.
func (c *caller) NewStream(
	ctx context.Context, desc *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	ctx, sent := c.correlated(ctx)
	stream, err := c.conn.NewStream(ctx, desc, method, options...)
	if err != nil {
		return nil, c.typed(ctx, err, sent)
	}
	return &typedStream{stream, c, sent}, nil
}

// correlated adds the application's id of the call, unless the context brings one.
func (c *caller) correlated(ctx context.Context) (context.Context, string) {
	if outgoing, ok := metadata.FromOutgoingContext(ctx); ok {
		if ids := outgoing.Get(requestIDKey); len(ids) > 0 {
			return ctx, ids[0]
		}
	}
	if c.settings.correlationID == nil {
		return ctx, ""
	}
	id := c.settings.correlationID(ctx)
	return metadata.AppendToOutgoingContext(ctx, requestIDKey, id), id
}

func (c *caller) typed(ctx context.Context, err error, requestID string) *Error {
	failed := typed(ctx, err, requestID)
	// What gRPC says of it is about its own parts; it stays in the causes.
	switch {
	case c.connected() || c.closed() || failed.Reason != "":
	case failed.Code == codes.DeadlineExceeded:
		failed.Message = "no answer in time; " + c.noConnection()
	case failed.Code == codes.Unavailable && strings.Contains(failed.Message, "connection error: "):
		failed.Message = c.noConnection()
	}
	return failed
}

func (c *caller) connected() bool { return c.conn.GetState() == connectivity.Ready }

func (c *caller) closed() bool { return c.conn.GetState() == connectivity.Shutdown }

func (c *caller) noConnection() string {
	return "no connection to " + c.target + ", is the sidecar running there?"
}

// notOpened is the error of a stream that could not be opened in time.
func (c *caller) notOpened(cause error) *Error {
	why := "the sidecar does not answer"
	if !c.connected() {
		why = c.noConnection()
	}
	return failure(codes.DeadlineExceeded, "the stream was not opened in time; "+why, cause)
}

func requestID(trailer, header metadata.MD, sent string) string {
	for _, received := range []metadata.MD{trailer, header} {
		if ids := received.Get(requestIDKey); len(ids) > 0 {
			return ids[0]
		}
	}
	return sent
}

type typedStream struct {
	grpc.ClientStream

	caller *caller
	sent   string
}

// SendMsg gives what the stubs send the client's scope. io.EOF says that the call has
// ended; RecvMsg says why.
func (s *typedStream) SendMsg(message any) error {
	request := s.caller.prepared(message)
	err := s.ClientStream.SendMsg(request)
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if wrong := unsendable(request, err); wrong != nil {
		return wrong
	}
	return s.typed(err)
}

// RecvMsg gives errors their type.
func (s *typedStream) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return s.typed(err)
}

func (s *typedStream) typed(err error) *Error {
	header := metadata.MD{}
	if s.Context().Err() == nil {
		// The call is over: this does not wait.
		header, _ = s.Header()
	}
	return s.caller.typed(s.Context(), err, requestID(s.Trailer(), header, s.sent))
}

// prepared is the request with what it leaves out: the scope, and the request_id that
// makes it harmless to repeat. The caller's message is not touched: it may be shared.
func (c *caller) prepared(message any) any {
	request, ok := message.(proto.Message)
	if !ok {
		return message
	}
	return c.filled(request.ProtoReflect()).Interface()
}

func (c *caller) filled(request protoreflect.Message) protoreflect.Message {
	fields := request.Descriptor().Fields()
	changed := request
	set := func(field protoreflect.FieldDescriptor, value protoreflect.Value) {
		if changed == request {
			changed = shallow(request)
		}
		changed.Set(field, value)
	}
	scopeName := (*memsidecarv1.Scope)(nil).ProtoReflect().Descriptor().FullName()
	if field := fields.ByName("scope"); field != nil && field.Message() != nil && !request.Has(field) {
		if field.Message().FullName() == scopeName {
			set(field, protoreflect.ValueOfMessage(c.scopeFor(request).ProtoReflect()))
		}
	}
	if field := fields.ByName("request_id"); field != nil && request.Get(field).String() == "" {
		set(field, protoreflect.ValueOfString(uuid.NewString()))
	}
	// The first message of a stream.
	if field := fields.ByName("start"); field != nil && field.Message() != nil && request.Has(field) {
		start := request.Get(field).Message()
		if filled := c.filled(start); filled != start {
			set(field, protoreflect.ValueOfMessage(filled))
		}
	}
	return changed
}

// scopeFor is the client's scope: a list of sessions takes those of every agent.
func (c *caller) scopeFor(request protoreflect.Message) *memsidecarv1.Scope {
	if _, ok := request.Interface().(*memsidecarv1.ListSessionsRequest); ok {
		return &memsidecarv1.Scope{Namespace: c.scope.GetNamespace(), User: c.scope.GetUser()}
	}
	return c.scope
}

func shallow(message protoreflect.Message) protoreflect.Message {
	copied := message.New()
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		copied.Set(field, value)
		return true
	})
	copied.SetUnknown(message.GetUnknown())
	return copied
}
