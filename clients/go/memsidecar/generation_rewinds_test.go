package memsidecar_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// markOf is a watermark of a server that counts rewinds; coalesced tells one from another.
func markOf(seq, coalesced, rewinds int64) *memsidecarv1.Watermark {
	return &memsidecarv1.Watermark{Seq: seq, Coalesced: coalesced, Rewinds: proto.Int64(rewinds)}
}

// said reads up to so many texts and tells that they have come, so that each is a piece of
// its own.
func (c *generationCall) said(texts int, heard chan<- bool) {
	for range texts {
		c.until(isText)
		heard <- true
	}
}

func write(t *testing.T, generation *memsidecar.Generation, heard <-chan bool, texts ...string) {
	t.Helper()
	for _, text := range texts {
		feed(t, generation, text)
		<-heard
	}
}

func rewind(t *testing.T, generation *memsidecar.Generation, seq int) {
	t.Helper()
	if err := generation.Rewind(seq); err != nil {
		t.Fatal(err)
	}
}

func flushed(t *testing.T, generation *memsidecar.Generation, want memsidecar.Watermark) {
	t.Helper()
	if mark := flush(t, generation); *mark != want {
		t.Errorf("%+v, not %+v", *mark, want)
	}
}

func marks(generation *memsidecar.Generation) []memsidecar.Watermark {
	var marks []memsidecar.Watermark
	for _, event := range generation.NewEvents() {
		if mark, ok := event.(*memsidecar.Watermark); ok {
			marks = append(marks, *mark)
		}
	}
	return marks
}

func TestAWatermarkThatCrossesARewindSaysNothingOfTheNewText(t *testing.T) {
	f, heard := startFake(t), make(chan bool)
	f.generations = []func(*generationCall) error{func(c *generationCall) error {
		c.started(16)
		c.said(2, heard)
		c.until(isFlush)
		c.mark(markOf(2, 7, 0))
		c.hit("new", 2, 0, 1)
		c.mark(markOf(2, 0, 1))
		c.until(isFinish)
		return c.finished()
	}}
	generation := open(t, f)
	write(t, generation, heard, "One.", "Old.")
	rewind(t, generation, 1)
	feed(t, generation, "New.")
	flushed(t, generation, memsidecar.Watermark{Seq: 2})
	if len(generation.Memories()) != 1 {
		t.Error("answered before what was found has come")
	}
	if told := marks(generation); len(told) != 1 || told[0].Coalesced != 0 {
		t.Errorf("told %+v", told)
	}
}

func TestAFlushBeforeARewindIsAnsweredByTheWatermarkThatCrossesIt(t *testing.T) {
	f, heard := startFake(t), make(chan bool)
	f.generations = []func(*generationCall) error{func(c *generationCall) error {
		c.started(16)
		c.said(2, heard)
		c.until(isFlush)
		heard <- true
		c.until(isRewind)
		c.mark(markOf(2, 7, 0))
		c.until(isFinish)
		return c.finished()
	}}
	generation := open(t, f)
	write(t, generation, heard, "One.", "Old.")
	before := make(chan *memsidecar.Watermark)
	go func() {
		mark, _ := generation.Flush(within(t, 10*time.Second))
		before <- mark
	}()
	<-heard
	rewind(t, generation, 1)
	if mark := <-before; mark == nil || *mark != (memsidecar.Watermark{Seq: 1, Coalesced: 7}) {
		t.Errorf("not of the text that is left: %+v", mark)
	}
	if told := marks(generation); len(told) != 0 {
		t.Errorf("told %+v", told)
	}
}

func TestAWatermarkThatNobodyHasTakenIsLoweredByARewind(t *testing.T) {
	f, heard := startFake(t), make(chan bool)
	f.generations = []func(*generationCall) error{func(c *generationCall) error {
		c.started(16)
		c.said(2, heard)
		c.until(isFlush)
		c.mark(markOf(2, 0, 0))
		c.until(isFinish)
		return c.finished()
	}}
	generation := open(t, f)
	write(t, generation, heard, "One.", "Old.")
	mark := flush(t, generation)
	rewind(t, generation, 1)
	feed(t, generation, "New.")
	if told := marks(generation); len(told) != 1 || told[0].Seq != 1 || mark.Seq != 2 {
		t.Errorf("told %+v after %+v", told, mark)
	}
}

func TestAnOlderServerIsBelievedAsFarAsThereIsText(t *testing.T) {
	f, heard := startFake(t), make(chan bool)
	f.generations = []func(*generationCall) error{func(c *generationCall) error {
		c.started(16)
		c.said(3, heard)
		c.until(isFlush)
		c.mark(&memsidecarv1.Watermark{Seq: 3, Coalesced: 7})
		c.watermark(2)
		c.until(isFinish)
		return c.finished()
	}}
	generation := open(t, f)
	write(t, generation, heard, "One.", "Two.", "Three.")
	rewind(t, generation, 1)
	feed(t, generation, "New.")
	flushed(t, generation, memsidecar.Watermark{Seq: 2})
}

func TestACallThatReplacesAnotherCountsFromItsOwnBeginning(t *testing.T) {
	f, heard := startFake(t), make(chan bool)
	f.getMemory = nothingChanged
	f.generations = []func(*generationCall) error{
		func(c *generationCall) error {
			c.started(16)
			c.said(2, heard)
			c.until(isFlush)
			return status.Error(codes.Unavailable, "restarting")
		},
		func(c *generationCall) error {
			c.started(16)
			c.until(isFlush)
			c.mark(markOf(2, 0, 0))
			c.said(1, heard)
			c.until(isFlush)
			c.mark(markOf(3, 7, 0))
			c.mark(markOf(3, 0, 1))
			c.until(isFinish)
			return c.finished()
		},
	}
	generation := open(t, f)
	write(t, generation, heard, "One.", "Old.")
	rewind(t, generation, 1)
	feed(t, generation, "Two.")
	// Asked of the call that broke, after its rewind.
	flushed(t, generation, memsidecar.Watermark{Seq: 2})
	write(t, generation, heard, "Old.")
	rewind(t, generation, 2)
	feed(t, generation, "Three.")
	flushed(t, generation, memsidecar.Watermark{Seq: 3})
}
