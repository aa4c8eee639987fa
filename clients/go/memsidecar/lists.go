package memsidecar

import (
	"context"
	"iter"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// paged gives a list's items, one call a page, made when the page is reached. An error
// is the last pair.
func paged[T any](token string, page func(token string) (items []T, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for next := token; ; {
			items, following, err := page(next)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if following == "" {
				return
			}
			next = following
		}
	}
}

// AllMemories iterates over ListMemories, from the request's page on.
func (c *Client) AllMemories(
	ctx context.Context, request *memsidecarv1.ListMemoriesRequest,
) iter.Seq2[*memsidecarv1.Memory, error] {
	return paged(request.GetPageToken(), func(token string) ([]*memsidecarv1.Memory, string, error) {
		answer, err := c.ListMemories(ctx, withToken(request, token))
		return answer.GetMemories(), answer.GetNextPageToken(), err
	})
}

// History iterates over a memory's revisions, newest first.
func (c *Client) History(ctx context.Context, memory string) iter.Seq2[*memsidecarv1.MemoryRevision, error] {
	return paged("", func(token string) ([]*memsidecarv1.MemoryRevision, string, error) {
		request := &memsidecarv1.ListMemoryRevisionsRequest{Parent: memory, PageToken: token}
		answer, err := c.ListMemoryRevisions(ctx, request)
		return answer.GetRevisions(), answer.GetNextPageToken(), err
	})
}

// AllSessions iterates over ListSessions: a user's live sessions, those of every agent.
func (c *Client) AllSessions(
	ctx context.Context, request *memsidecarv1.ListSessionsRequest,
) iter.Seq2[*memsidecarv1.Session, error] {
	return paged(request.GetPageToken(), func(token string) ([]*memsidecarv1.Session, string, error) {
		answer, err := c.ListSessions(ctx, withToken(request, token))
		return answer.GetSessions(), answer.GetNextPageToken(), err
	})
}

// AllConflicts iterates over ListConflicts, newest first.
func (c *Client) AllConflicts(
	ctx context.Context, request *memsidecarv1.ListConflictsRequest,
) iter.Seq2[*memsidecarv1.Conflict, error] {
	return paged(request.GetPageToken(), func(token string) ([]*memsidecarv1.Conflict, string, error) {
		answer, err := c.ListConflicts(ctx, withToken(request, token))
		return answer.GetConflicts(), answer.GetNextPageToken(), err
	})
}

// SlotHistory iterates over ListSlotHistory: what a slot held, oldest first.
func (c *Client) SlotHistory(
	ctx context.Context, request *memsidecarv1.ListSlotHistoryRequest,
) iter.Seq2[*memsidecarv1.SlotValue, error] {
	return paged(request.GetPageToken(), func(token string) ([]*memsidecarv1.SlotValue, string, error) {
		answer, err := c.ListSlotHistory(ctx, withToken(request, token))
		return answer.GetValues(), answer.GetNextPageToken(), err
	})
}

// Neighbors iterates over ListNeighbors: what the graph leads to, nearest first.
func (c *Client) Neighbors(
	ctx context.Context, request *memsidecarv1.ListNeighborsRequest,
) iter.Seq2[*memsidecarv1.Neighbor, error] {
	return paged(request.GetPageToken(), func(token string) ([]*memsidecarv1.Neighbor, string, error) {
		answer, err := c.ListNeighbors(ctx, withToken(request, token))
		return answer.GetNeighbors(), answer.GetNextPageToken(), err
	})
}

// AllJobs iterates over ListJobs, newest first.
func (c *Client) AllJobs(
	ctx context.Context, request *memsidecarv1.ListJobsRequest,
) iter.Seq2[*memsidecarv1.Job, error] {
	return paged(request.GetPageToken(), func(token string) ([]*memsidecarv1.Job, string, error) {
		answer, err := c.ListJobs(ctx, withToken(request, token))
		return answer.GetJobs(), answer.GetNextPageToken(), err
	})
}

// AllHits iterates over RecallOnce, page after page, best first. A write in between may
// move a hit from one page to the other.
func (c *Client) AllHits(
	ctx context.Context, request *memsidecarv1.RecallOnceRequest,
) iter.Seq2[*memsidecarv1.Hit, error] {
	return paged(request.GetOptions().GetPageToken(), func(token string) ([]*memsidecarv1.Hit, string, error) {
		options := withToken(request.GetOptions(), token)
		answer, err := c.RecallOnce(ctx, &memsidecarv1.RecallOnceRequest{
			Scope: request.GetScope(), Query: request.GetQuery(), Options: options,
		})
		return answer.GetHits(), answer.GetNextPageToken(), err
	})
}

// withToken is a list's request for another page.
func withToken[T proto.Message](request T, token string) T {
	message := request.ProtoReflect()
	next := shallow(message)
	next.Set(message.Descriptor().Fields().ByName("page_token"), protoreflect.ValueOfString(token))
	return next.Interface().(T) //nolint:forcetypeassert // a message's copy has its type
}
