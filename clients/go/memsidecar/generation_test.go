package memsidecar_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

func open(t *testing.T, f *fake, options ...memsidecar.GenerationOption) *memsidecar.Generation {
	t.Helper()
	start := &memsidecarv1.GenerationStart{Prompt: "北京?"}
	generation, err := f.client(t).RecallDuring(within(t, 20*time.Second), start, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = generation.Close() })
	return generation
}

func feed(t *testing.T, generation *memsidecar.Generation, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := generation.Feed(text); err != nil {
			t.Fatal(err)
		}
	}
}

func flush(t *testing.T, generation *memsidecar.Generation) *memsidecar.Watermark {
	t.Helper()
	mark, err := generation.Flush(within(t, 10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return mark
}

func TestTheSummarySaysWhyTheSessionHasNotGotWhatIsRemembered(t *testing.T) {
	f := startFake(t)
	f.generations = []func(*generationCall) error{func(c *generationCall) error {
		c.started(16)
		c.until(isFinish)
		return c.stream.Send(&memsidecarv1.RecallDuringResponse{Event: &memsidecarv1.RecallDuringResponse_Finished{
			Finished: &memsidecarv1.GenerationFinished{
				SessionError: memsidecarv1.ErrorReason_ERROR_REASON_SESSION_ENDED,
			},
		}})
	}}
	summary, err := open(t, f).Finish(t.Context())
	if err != nil || summary.SessionError != "SESSION_ENDED" {
		t.Errorf("%+v, %v", summary, err)
	}
}

func TestSpansAreInBytesOfWhatWasFed(t *testing.T) {
	f := startFake(t)
	f.generations = []func(*generationCall) error{func(c *generationCall) error {
		c.started(16)
		c.until(isFlush)
		c.hit("prompt", 0, 0, 2)
		c.hit("text", 1, 2, 4)
		c.watermark(1)
		c.until(isFinish)
		return c.finished()
	}}
	generation := open(t, f)
	text := "é 🌊北 end"
	feed(t, generation, text)
	flush(t, generation)
	var found []*memsidecar.Recalled
	events := generation.NewEvents()
	for _, event := range events {
		if recalled, ok := event.(*memsidecar.Recalled); ok {
			found = append(found, recalled)
		}
	}
	if len(events) != 3 || len(generation.NewEvents()) != 0 {
		t.Errorf("events: %v", events)
	}
	if len(found) != 2 || found[0].Start != 0 || found[0].End != len("北京") {
		t.Fatalf("of the prompt: %+v", found)
	}
	if got := text[found[1].Start:found[1].End]; got != "🌊北" {
		t.Errorf("of the text: %q", got)
	}
	if _, err := generation.Finish(within(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := generation.Feed("late"); !errors.Is(err, memsidecar.ErrGenerationFinished) {
		t.Errorf("after the end: %v", err)
	}
}

func TestADroppedStreamGoesOnWithWhatWasSaidAndBringsNothingTwice(t *testing.T) {
	f := startFake(t)
	var second *memsidecarv1.GenerationStart
	var replayed string
	f.generations = []func(*generationCall) error{
		func(c *generationCall) error {
			c.started(4)
			c.until(isFlush)
			c.hit("a", 1, 0, 1)
			c.watermark(2)
			c.until(isText)
			return status.Error(codes.Unavailable, "restarting")
		},
		func(c *generationCall) error {
			second = c.start
			c.started(3)
			replayed = c.until(isText).GetText().GetText()
			c.hit("a", 1, 0, 1)
			c.hit("b", c.start.GetFirstSeq(), 0, 1)
			c.until(isFlush)
			c.watermark(c.start.GetFirstSeq())
			c.until(isFinish)
			return c.finished()
		},
	}
	f.getMemory = nothingChanged
	generation := open(t, f, memsidecar.WithKnown(&memsidecarv1.Memory{Name: "k"}))
	feed(t, generation, "One. ")
	if mark := flushAfter(t, generation, "Two. "); mark.Seq != 2 {
		t.Errorf("considered up to %d", mark.Seq)
	}
	feed(t, generation, "Three. ")
	flush(t, generation)
	summary, err := generation.Finish(within(t, 10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if summary.Resumed != 1 || summary.Recalled != 2 {
		t.Errorf("%+v", summary)
	}
	if !slices.Equal(second.GetKnownMemories(), []string{"a", "k"}) || second.GetMaxTotalHits() != 63 {
		t.Errorf("began again with %v", second)
	}
	if replayed != "One. Two. Three. " {
		t.Errorf("said again: %q", replayed)
	}
}

func flushAfter(t *testing.T, generation *memsidecar.Generation, text string) *memsidecar.Watermark {
	t.Helper()
	// Until the first text is a piece of its own.
	for generation.Seq() < 1 {
		time.Sleep(time.Millisecond)
	}
	feed(t, generation, text)
	return flush(t, generation)
}

func TestWhatStoppedBeingTrueMeanwhileIsTakenBack(t *testing.T) {
	f := startFake(t)
	f.generations = []func(*generationCall) error{
		func(c *generationCall) error {
			c.started(16)
			c.hit("a", 0, 0, 1)
			c.until(isFlush)
			return status.Error(codes.Unavailable, "restarting")
		},
		func(c *generationCall) error {
			c.started(16)
			c.until(isFlush)
			c.watermark(1)
			c.until(isFinish)
			return c.finished()
		},
	}
	f.getMemory = gone
	generation := open(t, f)
	feed(t, generation, "One.")
	flush(t, generation)
	summary, err := generation.Finish(within(t, 10*time.Second))
	if err != nil || summary.Retracted != 1 || len(generation.Memories()) != 0 || len(generation.NewMemories()) != 0 {
		t.Errorf("%v, %+v, holds %v", err, summary, generation.Memories())
	}
}

func TestTakingMemoriesAllowsMore(t *testing.T) {
	f := startFake(t)
	allowed := make(chan int32, 1)
	f.generations = []func(*generationCall) error{func(c *generationCall) error {
		c.started(4)
		c.hit("a", 0, 0, 1)
		c.hit("b", 0, 0, 1)
		allowed <- c.until(isCredit).GetCredit().GetHits()
		c.until(isFinish)
		return c.finished()
	}}
	generation := open(t, f)
	for range 2 {
		if _, err := generation.Next(within(t, 10*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if hits := <-allowed; hits != 2 {
		t.Errorf("allowed %d", hits)
	}
}

func TestARewindIsToldToTheServer(t *testing.T) {
	f := startFake(t)
	said := make(chan string, 1)
	f.generations = []func(*generationCall) error{func(c *generationCall) error {
		c.started(16)
		c.until(isFlush)
		c.watermark(1)
		rewind := c.until(isRewind).GetRewind()
		text := c.until(isText).GetText()
		said <- strings.Repeat("x", int(rewind.GetSeq())) + text.GetText()
		c.until(isFinish)
		return c.finished()
	}}
	generation := open(t, f)
	feed(t, generation, "Wrong.")
	flush(t, generation)
	if err := generation.RewindTo(0); err != nil {
		t.Fatal(err)
	}
	if generation.Len() != 0 {
		t.Errorf("%d bytes are left", generation.Len())
	}
	feed(t, generation, "Right.")
	if got := <-said; got != "Right." {
		t.Errorf("the server heard %q", got)
	}
}

func TestABadStatusEndsTheGeneration(t *testing.T) {
	f := startFake(t)
	f.generations = []func(*generationCall) error{func(c *generationCall) error {
		c.started(16)
		c.until(isText)
		return refusal(codes.InvalidArgument, "PROTOCOL_VIOLATION")
	}}
	generation := open(t, f)
	feed(t, generation, "x.")
	if _, err := generation.Flush(within(t, 10*time.Second)); !errors.Is(err, memsidecar.ErrInvalidArgument) {
		t.Errorf("flush: %v", err)
	}
	if err := generation.Feed("y"); !errors.Is(err, memsidecar.ErrInvalidArgument) {
		t.Errorf("feed: %v", err)
	}
}

func TestAFinishThatMayHaveBeenRememberedIsNotRepeated(t *testing.T) {
	f := startFake(t)
	drop := func(c *generationCall) error {
		c.started(16)
		c.until(isFinish)
		return status.Error(codes.Unavailable, "gone")
	}
	finish := func(c *generationCall) error {
		c.started(16)
		c.until(isFinish)
		return c.finished()
	}
	f.getMemory = nothingChanged
	f.generations = []func(*generationCall) error{drop, drop, finish}
	remembered := open(t, f, memsidecar.WithRemember())
	_, err := remembered.Finish(within(t, 10*time.Second))
	if !errors.Is(err, memsidecar.ErrUnavailable) || !strings.Contains(err.Error(), "unknown whether") {
		t.Errorf("%v", err)
	}
	if _, err := open(t, f).Finish(within(t, 10*time.Second)); err != nil {
		t.Errorf("nothing was to be remembered: %v", err)
	}
}

func TestTooMuchTextEndsTheGeneration(t *testing.T) {
	f := startFake(t)
	f.generations = []func(*generationCall) error{func(c *generationCall) error {
		c.started(16)
		c.until(isFinish)
		return nil
	}}
	generation := open(t, f)
	if err := generation.Feed(strings.Repeat("x", 1<<20+1)); !errors.Is(err, memsidecar.ErrInvalidArgument) {
		t.Errorf("%v", err)
	}
	if _, err := generation.Finish(within(t, 10*time.Second)); !errors.Is(err, memsidecar.ErrInvalidArgument) {
		t.Errorf("then: %v", err)
	}
}

func TestAServerThatDoesNotBeginIsGivenUp(t *testing.T) {
	f := startFake(t)
	f.generations = []func(*generationCall) error{func(c *generationCall) error {
		c.until(isFinish)
		return nil
	}}
	client := f.client(t, memsidecar.WithTimeout(100*time.Millisecond))
	_, err := client.RecallDuring(within(t, 10*time.Second), nil)
	if !errors.Is(err, memsidecar.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "not opened in time") {
		t.Errorf("%v", err)
	}
}
