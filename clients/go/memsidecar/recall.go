package memsidecar

import (
	"context"
	"errors"
	"io"
	"iter"

	"google.golang.org/protobuf/proto"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// RecallEvent is one of *RecallHit, *RecallMessage, *RecallTier and *RecallDone.
type RecallEvent interface{ recallEvent() }

// RecallHit is a memory, when the first tier finds it; its score is provisional.
type RecallHit struct{ Hit *memsidecarv1.Hit }

// RecallMessage is a message of the query's session.
type RecallMessage struct{ Message *memsidecarv1.MessageHit }

// RecallTier is a tier that has ended.
type RecallTier struct{ Report *memsidecarv1.TierReport }

// RecallDone is the last event: the whole result.
type RecallDone struct {
	Summary *memsidecarv1.RecallSummary
	// Hits are those that made the final order, best first, with their final scores.
	Hits     []*memsidecarv1.Hit
	Messages []*memsidecarv1.MessageHit
}

func (*RecallHit) recallEvent()     {}
func (*RecallMessage) recallEvent() {}
func (*RecallTier) recallEvent()    {}
func (*RecallDone) recallEvent()    {}

// Recall is RecallOnce as events: every hit as a tier finds it, every tier's end, then
// the whole result. Breaking out of the loop stops the server's work. Without a deadline
// in the context the client's timeout holds. Events of kinds that this client does not
// know are left out; an error is the last pair.
func (c *Client) Recall(ctx context.Context, request *memsidecarv1.RecallRequest) iter.Seq2[RecallEvent, error] {
	return func(yield func(RecallEvent, error) bool) {
		ctx, cancel := c.limited(ctx)
		defer cancel()
		stream, err := c.RecallServiceClient.Recall(ctx, request)
		if err != nil {
			yield(nil, err)
			return
		}
		done := &RecallDone{}
		sent := map[string]*memsidecarv1.Hit{}
		for {
			response, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			var event RecallEvent
			switch told := response.GetEvent().(type) {
			case *memsidecarv1.RecallResponse_Hit:
				sent[told.Hit.GetMemory().GetName()] = told.Hit
				event = &RecallHit{told.Hit}
			case *memsidecarv1.RecallResponse_Message:
				done.Messages = append(done.Messages, told.Message)
				event = &RecallMessage{told.Message}
			case *memsidecarv1.RecallResponse_TierReport:
				event = &RecallTier{told.TierReport}
			case *memsidecarv1.RecallResponse_Summary:
				done.Summary = told.Summary
				done.Hits = ranked(told.Summary, sent)
				event = done
			default:
				continue
			}
			if !yield(event, nil) {
				return
			}
		}
	}
}

func ranked(summary *memsidecarv1.RecallSummary, sent map[string]*memsidecarv1.Hit) []*memsidecarv1.Hit {
	var hits []*memsidecarv1.Hit
	for i, name := range summary.GetRankedMemories() {
		if hit := sent[name]; hit != nil && i < len(summary.GetRankedScores()) {
			final := proto.CloneOf(hit)
			final.Score = summary.GetRankedScores()[i]
			hits = append(hits, final)
		}
	}
	return hits
}

// limited gives a context without a deadline the client's.
func (c *Client) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.caller.settings.timeout)
}
