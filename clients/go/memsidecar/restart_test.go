package memsidecar_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

func prefer(t *testing.T, client *memsidecar.Client, id, statement string) *memsidecarv1.Memory {
	t.Helper()
	answer, err := client.CreateMemory(within(t, time.Minute), &memsidecarv1.CreateMemoryRequest{
		MemoryId: id, Memory: memsidecar.PreferenceOf(&memsidecarv1.Preference{Statement: statement}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetMemory()
}

func TestAGenerationOutlivesAKilledSidecarAndBringsNothingTwice(t *testing.T) {
	server := startSidecar(t, nil)
	client := server.client(t, memsidecar.WithUser("ana"))
	ctx := within(t, 2*time.Minute)
	cello := prefer(t, client, "cello", "Ana plays the cello every evening")
	tea := prefer(t, client, "tea", "Ana drinks green tea with ginger")
	before := prefer(t, client, "before", "Ana studies the moons of Jupiter")
	generation, err := client.RecallDuring(ctx,
		&memsidecarv1.GenerationStart{MinConfidence: proto.Float64(0.05), KnownMemories: []string{before.GetName()}},
		// A busy machine takes long to start a sidecar.
		memsidecar.WithResumeTimeout(time.Minute),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer generation.Close() //nolint:errcheck // finished below
	say := func(text string) {
		t.Helper()
		if err := generation.Feed(text); err != nil {
			t.Fatal(err)
		}
	}
	say("She plays the cello every evening, 每天晚上. ")
	if _, err := generation.Flush(ctx); err != nil {
		t.Fatal(err)
	}

	server.kill()
	say("Then she drinks green tea with ginger. ") // nobody is there to hear it
	if err := server.start(); err != nil {
		t.Fatal(err)
	}
	say("And the moons of Jupiter?")
	if _, err := generation.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	summary, err := generation.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	brought := map[string]int{}
	resumed := false
	for event, err := range generation.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		switch event := event.(type) {
		case *memsidecar.Recalled:
			brought[event.Hit.GetMemory().GetName()]++
		case *memsidecar.Resumed:
			resumed = true
		}
	}
	if brought[cello.GetName()] != 1 || brought[tea.GetName()] != 1 || brought[before.GetName()] != 0 {
		t.Errorf("brought %v", brought)
	}
	if !resumed || summary.Resumed != 1 || summary.Recalled != len(brought) {
		t.Errorf("resumed %v, summary %+v", resumed, summary)
	}
}

func TestAWatchOutlivesAKilledSidecarAndTellsEachChangeOnce(t *testing.T) {
	server := startSidecar(t, nil)
	client := server.client(t, memsidecar.WithUser("ana"))
	ctx := within(t, 2*time.Minute)
	watch, err := client.WatchMemories(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close() //nolint:errcheck // it gives no error
	created := map[string]int{}
	interrupted := 0
	until := func(id string) {
		t.Helper()
		for event, err := range watch.Events() {
			if err != nil {
				t.Fatal(err)
			}
			switch event := event.(type) {
			case *memsidecar.WatchInterrupted:
				interrupted++
			case *memsidecar.MemoryChanged:
				name := event.Change.GetSnapshot().GetName()
				created[name[strings.LastIndex(name, "/")+1:]]++
				if strings.HasSuffix(name, "/"+id) {
					return
				}
			}
		}
		t.Fatal("the watch has ended")
	}
	prefer(t, client, "one", "Ana plays the cello")
	until("one")
	prefer(t, client, "two", "Ana drinks green tea")
	server.kill()
	if err := server.start(); err != nil {
		t.Fatal(err)
	}
	prefer(t, client, "three", "Ana studies moons")
	until("three")
	if created["one"] != 1 || created["two"] != 1 || created["three"] != 1 {
		t.Errorf("created %v", created)
	}
	if interrupted == 0 {
		t.Error("the interruption was not told")
	}

	later := watch.Revision()
	prefer(t, client, "four", "Ana paints")
	again, err := client.WatchMemories(ctx, &memsidecarv1.WatchMemoriesRequest{After: later})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close() //nolint:errcheck // it gives no error
	watch = again
	until("four")
	if created["three"] != 1 || created["four"] != 1 {
		t.Errorf("from the revision on: %v", created)
	}
}

func TestASidecarThatDrainsSaysSoAndTheGenerationCanBeFinished(t *testing.T) {
	server := startSidecar(t, nil)
	client := server.client(t, memsidecar.WithUser("ana"))
	ctx := within(t, time.Minute)
	generation, err := client.RecallDuring(ctx, nil, memsidecar.WithRemember())
	if err != nil {
		t.Fatal(err)
	}
	defer generation.Close() //nolint:errcheck // finished below
	if err := generation.Feed("Green tea is best."); err != nil {
		t.Fatal(err)
	}
	server.stop()
	for event, err := range generation.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if _, draining := event.(*memsidecar.Draining); draining {
			break
		}
	}
	summary, err := generation.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(summary.Remembered) == 0 {
		t.Error("nothing was remembered")
	}
	<-server.exited
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err = client.RecallDuring(short, nil)
	if !errors.Is(err, memsidecar.ErrDeadlineExceeded) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a sidecar: %v", err)
	}
}

func TestACallWaitsForASidecarThatIsStillStarting(t *testing.T) {
	server := startSidecar(t, nil)
	server.kill()
	client := server.client(t, memsidecar.WithUser("ana"), memsidecar.WithTimeout(time.Minute))
	answered := make(chan error, 1)
	go func() {
		_, err := client.Remember(context.Background(), &memsidecarv1.RememberRequest{
			Item: memsidecar.Said("hello", "Ana"),
		})
		answered <- err
	}()
	if err := server.start(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
	impatient := clientOf(t, "unix:///tmp/nobody-listens-here", memsidecar.WithFailFast())
	if _, err := impatient.GetServerInfo(within(t, time.Second*5), nil); !errors.Is(err, memsidecar.ErrUnavailable) {
		t.Errorf("fail fast: %v", err)
	}
}
