package memsidecar_test

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

const isSuperseded = memsidecarv1.MemoryState_MEMORY_STATE_SUPERSEDED

// tells begins as a server does that says what it takes to be known, as of now: of what the
// start says, that.
func (c *generationCall) tells(supersededNow ...string) {
	known := map[string]*memsidecarv1.KnownMemory{}
	for _, name := range c.start.GetKnownMemories() {
		known[name] = &memsidecarv1.KnownMemory{Memory: name, Superseded: supersededNow}
	}
	for _, each := range c.start.GetKnown() {
		known[each.GetMemory()] = each
	}
	_ = c.stream.Send(&memsidecarv1.RecallDuringResponse{Event: &memsidecarv1.RecallDuringResponse_Started{
		Started: &memsidecarv1.GenerationStarted{
			InitialCredit: 16, MaxTotalHits: 64, MaxTotalTokens: 4096, Known: slices.Collect(maps.Values(known)),
		},
	}})
}

func (c *generationCall) found(hit *memsidecarv1.Hit) {
	_ = c.stream.Send(&memsidecarv1.RecallDuringResponse{Event: &memsidecarv1.RecallDuringResponse_Hit{
		Hit: &memsidecarv1.HitFound{Hit: hit},
	}})
}

func (c *generationCall) retracted(name string, successor *memsidecarv1.Memory) {
	_ = c.stream.Send(&memsidecarv1.RecallDuringResponse{Event: &memsidecarv1.RecallDuringResponse_Retracted{
		Retracted: &memsidecarv1.HitRetracted{
			Memory: name, Reason: memsidecarv1.RetractionReason_RETRACTION_REASON_SUPERSEDED, Successor: successor,
		},
	}})
}

// obliges answers a flush, and takes the end.
func (c *generationCall) obliges() error {
	if c.until(isFlush) != nil {
		c.watermark(0)
	}
	if c.until(isFinish) == nil {
		return nil
	}
	return c.finished()
}

func lost() error { return status.Error(codes.Unavailable, "restarting") }

func idle(t *testing.T) error {
	t.Helper()
	said, err := status.New(codes.Aborted, "idle").WithDetails(&errdetails.ErrorInfo{
		Reason: "STREAM_IDLE", Domain: "memsidecar", Metadata: map[string]string{"idle_seconds": "0.4"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return said.Err()
}

func memory(name string) *memsidecarv1.Memory { return &memsidecarv1.Memory{Name: name} }

// following answers GetMemory with these, and with the name alone for others.
func (f *fake) following(memories ...*memsidecarv1.Memory) {
	f.getMemory = func(
		_ context.Context, request *memsidecarv1.GetMemoryRequest,
	) (*memsidecarv1.GetMemoryResponse, error) {
		for _, each := range memories {
			if each.GetName() == request.GetName() {
				return &memsidecarv1.GetMemoryResponse{Memory: each}, nil
			}
		}
		return &memsidecarv1.GetMemoryResponse{Memory: memory(request.GetName())}, nil
	}
}

func eventOf[E memsidecar.GenerationEvent](t *testing.T, generation *memsidecar.Generation) E {
	t.Helper()
	for event, err := range generation.Events(within(t, 10*time.Second)) {
		if err != nil {
			t.Fatal(err)
		}
		if wanted, ok := event.(E); ok {
			return wanted
		}
	}
	t.Fatal("no such event")
	panic("unreachable")
}

func finish(t *testing.T, generation *memsidecar.Generation) *memsidecar.GenerationSummary {
	t.Helper()
	summary, err := generation.Finish(within(t, 10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return summary
}

func saidOf(start *memsidecarv1.GenerationStart) map[string]string {
	said := map[string]string{}
	for _, each := range start.GetKnown() {
		said[each.GetMemory()] = strings.Join(each.GetSuperseded(), " ")
	}
	return said
}

func TestTheNextStreamIsToldWhatIsKnownToBeSupersededAndNamesWhatHoldsInstead(t *testing.T) {
	f := startFake(t)
	var starts []*memsidecarv1.GenerationStart
	f.generations = []func(*generationCall) error{
		func(c *generationCall) error {
			starts = append(starts, c.start)
			c.tells("f")
			c.found(&memsidecarv1.Hit{Memory: memory("a"), Standings: []*memsidecarv1.HitStanding{
				{Memory: "f1", State: isSuperseded},
				{Memory: "f2", State: memsidecarv1.MemoryState_MEMORY_STATE_DISPUTED},
			}})
			c.found(&memsidecarv1.Hit{Memory: memory("b")})
			c.until(isFlush)
			return lost()
		},
		func(c *generationCall) error {
			starts = append(starts, c.start)
			c.tells()
			c.retracted("b", memory("c"))
			return c.obliges()
		},
	}
	// What the next stream tells of by itself, the client leaves to it.
	f.following(&memsidecarv1.Memory{Name: "b", State: isSuperseded})
	hit := &memsidecarv1.Hit{
		Memory: memory("h"), Standings: []*memsidecarv1.HitStanding{{Memory: "h1", State: isSuperseded}},
	}
	generation := open(t, f, memsidecar.WithKnown(memory("n")), memsidecar.WithKnownHits(hit))
	flush(t, generation)
	gone := eventOf[*memsidecar.Retracted](t, generation)
	if gone.Memory != "b" || gone.Successor.GetName() != "c" {
		t.Errorf("took back %v", gone)
	}
	if summary := finish(t, generation); summary.Retracted != 1 || len(generation.Memories()) != 1 {
		t.Errorf("%+v, holds %v", summary, generation.Memories())
	}
	if said := saidOf(starts[0]); !maps.Equal(said, map[string]string{"h": "h1"}) {
		t.Errorf("said at first %v", said)
	}
	if said := saidOf(starts[1]); !maps.Equal(said, map[string]string{"a": "f1", "b": "", "n": "f", "h": "h1"}) {
		t.Errorf("said again %v", said)
	}
}

func TestWhatWasSupersededWhenItCameIsNotTakenBackForIt(t *testing.T) {
	f := startFake(t)
	old := &memsidecarv1.Memory{Name: "old", State: isSuperseded}
	f.generations = []func(*generationCall) error{
		func(c *generationCall) error {
			c.tells("named")
			c.found(&memsidecarv1.Hit{Memory: old})
			c.until(isFlush)
			return lost()
		},
		func(c *generationCall) error {
			c.started(16)
			return c.obliges()
		},
	}
	f.following(old, &memsidecarv1.Memory{Name: "named", State: isSuperseded})
	generation := open(t, f, memsidecar.WithKnown(memory("named")))
	flush(t, generation)
	if summary := finish(t, generation); summary.Resumed != 1 || summary.Retracted != 0 {
		t.Errorf("%+v", summary)
	}
}

func TestAMemoryWhoseValidityEndedWhileNobodyListenedIsTakenBack(t *testing.T) {
	f := startFake(t)
	ends := func(name string, in time.Duration) *memsidecarv1.Memory {
		return &memsidecarv1.Memory{Name: name, ValidEndTime: timestamppb.New(time.Now().Add(in))}
	}
	memories := []*memsidecarv1.Memory{
		ends("past", -time.Minute), ends("over", time.Second/2), ends("later", time.Minute),
	}
	f.generations = []func(*generationCall) error{
		func(c *generationCall) error {
			c.started(16)
			for _, each := range memories {
				c.found(&memsidecarv1.Hit{Memory: each})
			}
			c.until(isFlush)
			time.Sleep(600 * time.Millisecond)
			return lost()
		},
		func(c *generationCall) error {
			c.started(16)
			return c.obliges()
		},
	}
	f.following(memories...)
	generation := open(t, f)
	flush(t, generation)
	gone := eventOf[*memsidecar.Retracted](t, generation)
	if gone.Memory != "over" || gone.Reason != memsidecarv1.RetractionReason_RETRACTION_REASON_EXPIRED {
		t.Errorf("took back %v", gone)
	}
	if summary := finish(t, generation); summary.Retracted != 1 {
		t.Errorf("%+v", summary)
	}
}

func TestAnIdleStreamIsOpenedAgainAtOnceWhileAMemoryHoldsAndThenKept(t *testing.T) {
	f := startFake(t)
	over := make(chan struct{})
	f.generations = []func(*generationCall) error{
		func(c *generationCall) error {
			c.started(16)
			c.hit("a", 0, 0, 1)
			return idle(t)
		},
		func(c *generationCall) error {
			defer close(over)
			c.started(16)
			for range 3 {
				c.until(isFlush)
			}
			c.retracted("a", nil)
			return idle(t)
		},
		func(*generationCall) error {
			t.Error("a stream was opened again although nothing is left to be watched")
			return lost()
		},
	}
	f.getMemory = nothingChanged
	generation := open(t, f)
	if gone := eventOf[*memsidecar.Retracted](t, generation); gone.Memory != "a" {
		t.Errorf("took back %v", gone)
	}
	<-over
	time.Sleep(200 * time.Millisecond)
	if err := generation.Close(); err != nil {
		t.Error(err)
	}
}

func TestWritingNeverEndsTheModelsStream(t *testing.T) {
	f := startFake(t)
	f.generations = []func(*generationCall) error{func(c *generationCall) error {
		c.started(16)
		c.until(isText)
		return status.Error(codes.Internal, "broken")
	}}
	generation := open(t, f)
	answer := "a\x00b" + strings.Repeat(" word.", 10)
	model := io.TeeReader(&slowly{text: answer}, generation)
	read, err := io.ReadAll(model)
	if err != nil || string(read) != answer {
		t.Errorf("%q, %v", read, err)
	}
	if err := generation.Close(); status.Code(err) != codes.Internal {
		t.Errorf("closed with %v", err)
	}
	if _, err := generation.Write([]byte("late")); err != nil {
		t.Error(err)
	}
}

// slowly gives a few bytes at a time.
type slowly struct{ text string }

func (s *slowly) Read(into []byte) (int, error) {
	if s.text == "" {
		return 0, io.EOF
	}
	time.Sleep(10 * time.Millisecond)
	read := copy(into[:min(6, len(into))], s.text)
	s.text = s.text[read:]
	return read, nil
}
