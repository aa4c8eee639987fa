package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// message is one of a chat, with a role of the chat completions API.
type message struct{ role, text string }

// model gives what it writes as it writes it; an error is the last pair. Leaving the loop
// or ending the context stops it.
type model func(ctx context.Context, messages []message) iter.Seq2[string, error]

const defaultModel = "gpt-5.4-mini"

// chosenModel is a model behind the chat completions API, or the scripted one, which
// writes a word in that time; and what it is.
func chosenModel(pace time.Duration) (model, string) {
	key := os.Getenv("OPENAI_API_KEY")
	if key == "" {
		return scripted(pace), "a scripted model answers: OPENAI_API_KEY is not set"
	}
	config := openai.DefaultConfig(key)
	config.BaseURL = cmp.Or(os.Getenv("OPENAI_BASE_URL"), config.BaseURL)
	name := cmp.Or(os.Getenv("OPENAI_MODEL"), defaultModel)
	return completions(openai.NewClientWithConfig(config), name), fmt.Sprintf("%s answers", name)
}

func completions(client *openai.Client, name string) model {
	return func(ctx context.Context, messages []message) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			asked := openai.ChatCompletionRequest{Model: name, Stream: true}
			for _, each := range messages {
				asked.Messages = append(asked.Messages, openai.ChatCompletionMessage{Role: each.role, Content: each.text})
			}
			stream, err := client.CreateChatCompletionStream(ctx, asked)
			if err != nil {
				yield("", err)
				return
			}
			defer stream.Close() //nolint:errcheck // whatever it says, nobody reads on
			for {
				chunk, err := stream.Recv()
				if errors.Is(err, io.EOF) {
					return
				}
				if err != nil {
					yield("", err)
					return
				}
				if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
					if !yield(chunk.Choices[0].Delta.Content, nil) {
						return
					}
				}
			}
		}
	}
}
