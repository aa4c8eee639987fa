package memsidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"google.golang.org/grpc/codes"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// ErrGenerationFinished is returned for what comes after Finish or Close.
var ErrGenerationFinished = errors.New("memsidecar: the generation is finished")

// Generation follows a model while it writes. Feed it what the model writes; what becomes
// relevant comes as events. It serves several goroutines: one that feeds and one that
// takes events, for example. Finish it, and defer Close.
//
// When the connection breaks or the sidecar is restarted, the stream goes on by itself
// with all that was fed, and nothing is sent twice; Feed does not wait for it. What stopped
// being true meanwhile is taken back after Resumed. While there is anything that may have
// to be taken back, the stream is kept alive, however long nothing is fed. What cannot be
// mended is returned by whatever is called next.
type Generation struct{ run *generationRun }

// Feed is what the model has just written, a token or a page. Small texts are joined for
// up to 20 ms, or to a sentence's end. A character that a token cuts is put together from
// the next one. It fails for what is no UTF-8 or holds a NUL, which is not fed, and,
// ending the generation, when all text is more than 1 MiB.
func (g *Generation) Feed(text string) error {
	return g.FeedFrom(memsidecarv1.TextSource_TEXT_SOURCE_MODEL, text)
}

// FeedFrom is Feed for text of another source: reasoning, a tool's result, what the user
// types meanwhile.
func (g *Generation) FeedFrom(source memsidecarv1.TextSource, text string) error {
	return g.run.feed(text, source)
}

// Write is Feed as an io.Writer, for io.TeeReader and io.MultiWriter, where an error would
// end the model's stream. It has none: what comes after the generation has ended, however
// it has, is not fed, and whatever is called next says why. What is no UTF-8, and NUL, are
// fed as U+FFFD.
func (g *Generation) Write(text []byte) (int, error) {
	g.run.feedAny(string(text), memsidecarv1.TextSource_TEXT_SOURCE_MODEL)
	return len(text), nil
}

// Flush sends and evaluates all text that was fed, and waits until that is done and what
// was found has come. Without a deadline in the context the client's timeout holds.
func (g *Generation) Flush(ctx context.Context) (*Watermark, error) {
	wanted, err := g.run.flush()
	if err != nil {
		return nil, err
	}
	if err := g.run.wait(ctx, wanted.done, "the text was not considered in time"); err != nil {
		return nil, err
	}
	return wanted.mark, wanted.err
}

// Credit lets the server send this many more hits, 1 to 1000. Needed only with
// WithManualCredit.
func (g *Generation) Credit(hits int) error {
	if hits < 1 || hits > maxCredit {
		return invalid("hits", fmt.Sprintf("is 1 to %d, not %d", maxCredit, hits))
	}
	return g.run.change(func() error {
		g.run.inbox.credit += int32(hits)  //nolint:gosec // at most 1000
		g.run.script.credit += int32(hits) //nolint:gosec // at most 1000
		return nil
	})
}

// Rewind drops all text after the piece numbered seq, 0 for all: a retry, a rejected tool
// call. What it brought has been sent, or is on its way: Recalled.TriggerSeq is that of the
// text before.
func (g *Generation) Rewind(seq int) error {
	return g.run.change(func() error {
		if err := g.run.script.rewind(seq); err != nil {
			return err
		}
		g.run.rewound(seq)
		return nil
	})
}

// RewindTo drops all text after the first length bytes.
func (g *Generation) RewindTo(length int) error {
	return g.run.change(func() error {
		kept, err := g.run.script.rewindBytes(length, g.run.now())
		if err == nil {
			g.run.rewound(kept)
		}
		return err
	})
}

// Feedback says what a recalled memory was worth. It is a call of its own, answered, and
// repeated when the connection breaks.
func (g *Generation) Feedback(ctx context.Context, memory string, kind memsidecarv1.FeedbackKind) error {
	scope := g.run.start.GetScope()
	if !strings.Contains(memory, "/users/") {
		// Shared memory came with include_shared; it is judged under the empty user.
		scope = &memsidecarv1.Scope{
			Namespace: scope.GetNamespace(), Agent: scope.GetAgent(), Session: scope.GetSession(),
		}
	}
	_, err := g.run.client.Feedback(ctx, &memsidecarv1.FeedbackRequest{
		Scope: scope, Items: []*memsidecarv1.FeedbackItem{{Memory: memory, Kind: kind}},
	})
	return err
}

// Finish ends the generation and gives its summary; all text has been sent by then.
// Harmless to repeat. With WithRemember the prompt and what the model wrote go to the
// session, if there is one, and to long-term memory. Flush first to be sure of what the
// last text brings up. It fails with ErrUnavailable when the connection breaks before the
// answer and it is unknown whether it was remembered.
func (g *Generation) Finish(ctx context.Context) (*GenerationSummary, error) {
	return g.FinishWith(ctx, memsidecarv1.GenerationOutcome_GENERATION_OUTCOME_COMPLETED, g.run.remember)
}

// FinishWith is Finish of a generation that was stopped or has failed, and says whether
// it is remembered.
func (g *Generation) FinishWith(
	ctx context.Context, outcome memsidecarv1.GenerationOutcome, remember bool,
) (*GenerationSummary, error) {
	if err := g.run.finish(&memsidecarv1.GenerationFinish{Outcome: outcome, Remember: remember}); err != nil {
		return nil, err
	}
	if err := g.run.wait(ctx, g.run.over, "the generation was not finished in time"); err != nil {
		return nil, err
	}
	return g.run.summary()
}

// Close abandons what has not been finished: nothing of it is remembered. It gives the
// error that ended the generation if nothing else has. Harmless to repeat.
func (g *Generation) Close() error {
	g.run.leave()
	<-g.run.over
	return g.run.errorOnce()
}

// Next waits for the next event; io.EOF says that the generation is over.
func (g *Generation) Next(ctx context.Context) (GenerationEvent, error) {
	for {
		event, arrived, over := g.run.take()
		if event != nil {
			return event, nil
		}
		if over {
			if err := g.run.errorOnce(); err != nil {
				return nil, err
			}
			return nil, io.EOF
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return nil, ended(ctx)
		}
	}
}

// Events iterates over Next. Breaking out of the loop leaves the generation as it is.
func (g *Generation) Events(ctx context.Context) iter.Seq2[GenerationEvent, error] {
	return func(yield func(GenerationEvent, error) bool) {
		for {
			event, err := g.Next(ctx)
			if errors.Is(err, io.EOF) || !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// NewEvents are the events that nobody has taken yet, without waiting.
func (g *Generation) NewEvents() []GenerationEvent { return g.run.newEvents() }

// NewMemories are the memories that nobody has taken yet and that still hold, without
// waiting; other events are dropped, Memories knows of them.
func (g *Generation) NewMemories() []*Recalled { return g.run.newMemories() }

// Memories is all that was recalled so far and still holds, in the order of arrival.
func (g *Generation) Memories() []*memsidecarv1.Hit { return g.run.memories() }

// Terms is what the server settled on.
func (g *Generation) Terms() *memsidecarv1.GenerationStarted {
	g.run.mu.Lock()
	defer g.run.mu.Unlock()
	return g.run.terms
}

// Seq is the number of the last piece of text that was cut, 0 before the first.
func (g *Generation) Seq() int {
	g.run.mu.Lock()
	defer g.run.mu.Unlock()
	return g.run.script.seq()
}

// Len is all text fed so far in bytes, less what was rewound.
func (g *Generation) Len() int {
	g.run.mu.Lock()
	defer g.run.mu.Unlock()
	return g.run.script.length
}

func tooLong() *Error {
	problem := fmt.Sprintf("is longer than %d bytes of UTF-8 in all; open another generation", generationTextBytes)
	return &Error{
		Code: codes.InvalidArgument, Message: "the text " + problem, Violations: []Violation{{"text", problem}},
	}
}
