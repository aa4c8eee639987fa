package memsidecar

import (
	"context"
	"errors"
	"iter"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// Session is a handle on one conversation's working memory. It serves any number of
// goroutines. It is known by its id, its name, or, once created, by what the server
// chose; what it does is also there as calls of the Client's that take a name.
type Session struct {
	client *Client
	id     string

	mu   sync.Mutex
	name string
}

// Session is a handle on the session of that id in the client's scope. Without an id
// Create lets the server choose one.
func (c *Client) Session(id string) *Session {
	return &Session{client: c, id: id}
}

// SessionOf is a handle on a session by its resource name, such as one from a list.
func (c *Client) SessionOf(name string) *Session {
	return &Session{client: c, name: name}
}

// Name is the session's resource name. It may have to ask the server what an empty
// namespace means, once.
func (s *Session) Name(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.name != "" {
		return s.name, nil
	}
	if s.id == "" {
		return "", errors.New("memsidecar: this session has no id yet; create it first")
	}
	namespace, err := s.client.namespace(ctx)
	if err != nil {
		return "", err
	}
	s.name = resourceName(namespace, s.client.caller.scope.GetUser(), "sessions", s.id)
	return s.name, nil
}

// Create starts the conversation; settings are its labels and expiration, or nil. It
// fails with ErrAlreadyExists when the id is taken.
func (s *Session) Create(ctx context.Context, settings *memsidecarv1.Session) (*memsidecarv1.Session, error) {
	answer, err := s.client.CreateSession(ctx, &memsidecarv1.CreateSessionRequest{Session: settings, SessionId: s.id})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name = answer.GetSession().GetName()
	return answer.GetSession(), nil
}

// Get is the session's state, without its messages.
func (s *Session) Get(ctx context.Context) (*memsidecarv1.Session, error) {
	name, err := s.Name(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := s.client.GetSession(ctx, &memsidecarv1.GetSessionRequest{Name: name})
	return answer.GetSession(), err
}

// Update replaces what the paths name (labels, expire_time, ttl); without paths, what
// is set. It fails with ErrConflict when the changes carry an etag that is no longer the
// session's.
func (s *Session) Update(
	ctx context.Context, changes *memsidecarv1.Session, paths ...string,
) (*memsidecarv1.Session, error) {
	name, err := s.Name(ctx)
	if err != nil {
		return nil, err
	}
	changed := &memsidecarv1.Session{}
	if changes != nil {
		changed = proto.CloneOf(changes)
	}
	changed.Name = name
	request := &memsidecarv1.UpdateSessionRequest{Session: changed}
	if len(paths) > 0 {
		request.UpdateMask = &fieldmaskpb.FieldMask{Paths: paths}
	}
	answer, err := s.client.UpdateSession(ctx, request)
	return answer.GetSession(), err
}

// End closes the session: readable until it expires, no more writes.
func (s *Session) End(ctx context.Context) (*memsidecarv1.Session, error) {
	answer, err := s.end(ctx, false)
	return answer.GetSession(), err
}

// EndAndRemember closes the session and hands its messages to long-term memory: those
// of the user are read for facts and preferences, each once, however often this is
// called.
func (s *Session) EndAndRemember(ctx context.Context) (*memsidecarv1.EndSessionResponse, error) {
	return s.end(ctx, true)
}

func (s *Session) end(ctx context.Context, remember bool) (*memsidecarv1.EndSessionResponse, error) {
	name, err := s.Name(ctx)
	if err != nil {
		return nil, err
	}
	return s.client.EndSession(ctx, &memsidecarv1.EndSessionRequest{Name: name, Remember: remember})
}

// Delete drops the session and everything in it. One that is gone already is no error.
func (s *Session) Delete(ctx context.Context) error {
	name, err := s.Name(ctx)
	if err != nil {
		return err
	}
	_, err = s.client.DeleteSession(ctx, &memsidecarv1.DeleteSessionRequest{Name: name})
	return err
}

// Append adds 1 to 256 messages in order: all, or none. It fails with
// ErrFailedPrecondition when the session has ended.
func (s *Session) Append(
	ctx context.Context, messages ...*memsidecarv1.Message,
) (*memsidecarv1.AppendMessagesResponse, error) {
	return s.append(ctx, &memsidecarv1.AppendMessagesRequest{Messages: messages})
}

// AppendAfter is Append that fails with ErrConflict unless the newest message is the one
// numbered lastSeq, 0 in an empty session.
func (s *Session) AppendAfter(
	ctx context.Context, lastSeq int64, messages ...*memsidecarv1.Message,
) (*memsidecarv1.AppendMessagesResponse, error) {
	return s.append(ctx, &memsidecarv1.AppendMessagesRequest{Messages: messages, ExpectedLastSeq: &lastSeq})
}

func (s *Session) append(
	ctx context.Context, request *memsidecarv1.AppendMessagesRequest,
) (*memsidecarv1.AppendMessagesResponse, error) {
	name, err := s.Name(ctx)
	if err != nil {
		return nil, err
	}
	request.Session = name
	return s.client.AppendMessages(ctx, request)
}

// Messages iterates over the messages numbered minSeq and later, oldest first.
func (s *Session) Messages(ctx context.Context, minSeq int64) iter.Seq2[*memsidecarv1.Message, error] {
	return paged("", func(token string) ([]*memsidecarv1.Message, string, error) {
		name, err := s.Name(ctx)
		if err != nil {
			return nil, "", err
		}
		answer, err := s.client.ListMessages(ctx, &memsidecarv1.ListMessagesRequest{
			Session: name, MinSeq: minSeq, PageToken: token,
		})
		return answer.GetMessages(), answer.GetNextPageToken(), err
	})
}

// Window is the newest part of the conversation that fits the request's max_tokens less
// its reserved_tokens, and the pinned messages. The newest message is there, shortened when
// it does not fit; ErrInvalidArgument when not even that fits. The session is filled in; nil
// takes the server's defaults.
func (s *Session) Window(
	ctx context.Context, request *memsidecarv1.GetWindowRequest,
) (*memsidecarv1.GetWindowResponse, error) {
	name, err := s.Name(ctx)
	if err != nil {
		return nil, err
	}
	of := &memsidecarv1.GetWindowRequest{}
	if request != nil {
		of = proto.CloneOf(request)
	}
	of.Session = name
	return s.client.GetWindow(ctx, of)
}
