package memsidecar_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// These run against a real sidecar; MEMSIDECAR_TARGET says where, as in a pod.
func exampleClient(user string) *memsidecar.Client {
	sidecar, err := shared.start()
	if err != nil {
		log.Fatal(err)
	}
	if err := os.Setenv("MEMSIDECAR_TARGET", sidecar.target()); err != nil {
		log.Fatal(err)
	}
	client, err := memsidecar.New("", memsidecar.WithUser(user))
	if err != nil {
		log.Fatal(err)
	}
	return client
}

// Remember something, and find it again.
func Example() {
	client := exampleClient("ana") // memsidecar.New("", memsidecar.WithUser("ana"))
	defer client.Close()
	ctx := context.Background()

	written, err := client.Remember(ctx, &memsidecarv1.RememberRequest{
		Item: memsidecar.Said("I moved to Porto in May, near the river.", "Ana"),
	})
	if err != nil {
		log.Fatal(err)
	}
	found, err := client.RecallOnce(ctx, &memsidecarv1.RecallOnceRequest{
		Query:   &memsidecarv1.Query{Text: "Where near the river did Ana move?"},
		Options: &memsidecarv1.RecallOptions{MinRevision: written.GetRevision(), MaxHits: 1},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(memsidecar.TextOf(found.GetHits()[0].GetMemory()))
	// Output: I moved to Porto in May, near the river.
}

// Follow a model while it writes.
func ExampleClient_RecallDuring() {
	client := exampleClient("bea")
	defer client.Close()
	ctx := context.Background()
	_, err := client.CreateMemory(ctx, &memsidecarv1.CreateMemoryRequest{
		Memory: memsidecar.PreferenceOf(&memsidecarv1.Preference{Statement: "Bea never eats peanuts, they make her ill"}),
	})
	if err != nil {
		log.Fatal(err)
	}

	generation, err := client.RecallDuring(ctx, &memsidecarv1.GenerationStart{Prompt: "What shall I cook for Bea?"})
	if err != nil {
		log.Fatal(err)
	}
	defer generation.Close()
	for _, token := range []string{"Pea", "nuts ", "for ", "Bea", "."} {
		if err := generation.Feed(token); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := generation.Flush(ctx); err != nil {
		log.Fatal(err)
	}
	for _, found := range generation.NewMemories() {
		fmt.Println(memsidecar.TextOf(found.Hit.GetMemory()))
	}
	if _, err := generation.Finish(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: Bea never eats peanuts, they make her ill
}

// Hits arrive as the tiers find them; leaving the loop stops the rest.
func ExampleClient_Recall() {
	client := exampleClient("cleo")
	defer client.Close()
	ctx := context.Background()
	for _, text := range []string{"Cleo plays the cello", "Cleo tuned the cello in June"} {
		item := memsidecar.Said(text, "")
		if _, err := client.Remember(ctx, &memsidecarv1.RememberRequest{Item: item}); err != nil {
			log.Fatal(err)
		}
	}
	query := &memsidecarv1.Query{Text: "the cello"}
	for event, err := range client.Recall(ctx, &memsidecarv1.RecallRequest{Query: query}) {
		if err != nil {
			log.Fatal(err)
		}
		if done, ok := event.(*memsidecar.RecallDone); ok {
			fmt.Println(len(done.Hits), "memories")
		}
	}
	// Output: 2 memories
}

// Tell failures apart.
func ExampleError() {
	client := exampleClient("dan")
	defer client.Close()

	_, err := client.GetMemory(context.Background(), &memsidecarv1.GetMemoryRequest{
		Name: "namespaces/default/users/dan/memories/none",
	})
	var failed *memsidecar.Error
	if errors.Is(err, memsidecar.ErrNotFound) && errors.As(err, &failed) {
		fmt.Println(failed.Reason, failed.Metadata["resource"])
	}
	// Output: RESOURCE_NOT_FOUND namespaces/default/users/dan/memories/none
}

// A conversation's working memory.
func ExampleSession() {
	client := exampleClient("eve")
	defer client.Close()
	ctx := context.Background()
	session := client.Session("chat-1")
	if _, err := session.Create(ctx, nil); err != nil {
		log.Fatal(err)
	}
	if _, err := session.Append(ctx,
		&memsidecarv1.Message{Role: memsidecarv1.MessageRole_MESSAGE_ROLE_USER, Text: "Hello"},
		&memsidecarv1.Message{Role: memsidecarv1.MessageRole_MESSAGE_ROLE_ASSISTANT, Text: "Hi, Eve"},
	); err != nil {
		log.Fatal(err)
	}
	window, err := session.Window(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, message := range window.GetMessages() {
		fmt.Println(message.GetSeq(), message.GetText())
	}
	// Output:
	// 1 Hello
	// 2 Hi, Eve
}
