package memsidecar

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// Kinds of failure, for errors.Is; each is a gRPC status.
var (
	// ErrInvalidArgument: the request is wrong; Violations names the fields.
	ErrInvalidArgument error = kind(codes.InvalidArgument)
	// ErrNotFound: no such resource in that partition.
	ErrNotFound error = kind(codes.NotFound)
	// ErrAlreadyExists: the id is taken.
	ErrAlreadyExists error = kind(codes.AlreadyExists)
	// ErrConflict (ABORTED): the resource or the session has changed since it was
	// read; read it again and retry.
	ErrConflict error = kind(codes.Aborted)
	// ErrFailedPrecondition: not in this state: an ended session, another embedding
	// model, an unknown revision.
	ErrFailedPrecondition error = kind(codes.FailedPrecondition)
	// ErrResourceExhausted: overloaded, or out of disk space; RetryAfter says when to
	// come back.
	ErrResourceExhausted error = kind(codes.ResourceExhausted)
	// ErrUnavailable: the sidecar, or a store or model behind it, does not answer;
	// retried before it is returned.
	ErrUnavailable error = kind(codes.Unavailable)
	// ErrDeadlineExceeded: no answer in time. A write may have happened: repeat it
	// with the same request_id.
	ErrDeadlineExceeded error = kind(codes.DeadlineExceeded)
	// ErrCancelled: by the context, by the server, or by closing the client.
	ErrCancelled error = kind(codes.Canceled)
	// ErrDataLoss: stored data fails its checksum.
	ErrDataLoss error = kind(codes.DataLoss)
	// ErrInternal: a defect of the server; its log has the cause under RequestID.
	ErrInternal error = kind(codes.Internal)
	// ErrUnauthenticated: the token is missing or wrong.
	ErrUnauthenticated error = kind(codes.Unauthenticated)
	// ErrPermissionDenied: the token does not allow this.
	ErrPermissionDenied error = kind(codes.PermissionDenied)
)

type kind codes.Code

func (k kind) Error() string { return "memsidecar: " + codes.Code(k).String() }

// Violation is one thing wrong with a request: the path of the field, and what is
// wrong with it.
type Violation struct {
	Field       string
	Description string
}

// Error is a failed call. It unwraps to the gRPC status and, when the context ended
// the call, to the context's error.
type Error struct {
	// Code is the gRPC status.
	Code codes.Code
	// Message is the server's.
	Message string
	// Reason is the name of the ErrorReason without its prefix, such as
	// ETAG_MISMATCH, or empty; a string, so that those of newer servers survive.
	Reason string
	// Metadata holds what the reason documents.
	Metadata map[string]string
	// Violations is what is wrong with the fields of a request.
	Violations []Violation
	// RetryAfter is when to come back; 0 when the server names no time.
	RetryAfter time.Duration
	// RequestID is what the server logged the call under, or empty.
	RequestID string

	causes []error
}

// Error is the message with its status and reason.
func (e *Error) Error() string {
	what := e.Code.String()
	if e.Reason != "" {
		what += " " + e.Reason
	}
	return "memsidecar: " + what + ": " + e.Message
}

// Is tells the kinds of failure apart: errors.Is(err, memsidecar.ErrNotFound).
func (e *Error) Is(target error) bool {
	k, ok := target.(kind)
	return ok && codes.Code(k) == e.Code
}

// Unwrap gives the gRPC status error, and the context's error if there is one.
func (e *Error) Unwrap() []error { return e.causes }

// GRPCStatus makes status.FromError and status.Code work.
func (e *Error) GRPCStatus() *status.Status {
	for _, cause := range e.causes {
		if found, ok := status.FromError(cause); ok {
			return found
		}
	}
	return status.New(e.Code, e.Message)
}

// HasReason says whether an error is a failed call with that reason.
func HasReason(err error, reason memsidecarv1.ErrorReason) bool {
	var failed *Error
	return errors.As(err, &failed) && failed.Reason != "" && failed.Reason == reasonName(reason)
}

// ItemFailure is the error of one item in a call that succeeded; nil without one.
func ItemFailure(result *memsidecarv1.ItemResult) error {
	failure := result.GetError()
	if failure == nil {
		return nil
	}
	code := codes.Code(failure.GetCode()) //nolint:gosec // a google.rpc.Code is no negative number
	return &Error{Code: code, Message: failure.GetMessage(), Reason: reasonName(failure.GetReason())}
}

func reasonName(reason memsidecarv1.ErrorReason) string {
	if reason == memsidecarv1.ErrorReason_ERROR_REASON_UNSPECIFIED {
		return ""
	}
	return strings.TrimPrefix(reason.String(), "ERROR_REASON_")
}

// typed is the error of a status, with what the server said beside it.
func typed(ctx context.Context, err error, requestID string) *Error {
	var already *Error
	if errors.As(err, &already) {
		return already
	}
	said := status.Convert(err)
	failed := &Error{Code: said.Code(), Message: said.Message(), RequestID: requestID, causes: []error{err}}
	for _, detail := range said.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			failed.Reason, failed.Metadata = detail.GetReason(), detail.GetMetadata()
		case *errdetails.BadRequest:
			for _, each := range detail.GetFieldViolations() {
				failed.Violations = append(failed.Violations, Violation{each.GetField(), each.GetDescription()})
			}
		case *errdetails.RetryInfo:
			failed.RetryAfter = detail.GetRetryDelay().AsDuration()
		}
	}
	if failed.RequestID == "" {
		failed.RequestID = failed.Metadata["request"]
	}
	if ended := ctx.Err(); ended != nil {
		failed.causes = append(failed.causes, ended)
	}
	return failed
}

func failure(code codes.Code, message string, causes ...error) *Error {
	return &Error{Code: code, Message: message, causes: causes}
}

// ended is the error of a context that has ended.
func ended(ctx context.Context) *Error {
	return typed(ctx, status.FromContextError(ctx.Err()).Err(), "")
}

func asError(err error) *Error {
	var failed *Error
	if errors.As(err, &failed) {
		return failed
	}
	return typed(context.Background(), err, "")
}
