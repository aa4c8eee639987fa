// Agent is a chat in the terminal that remembers: memsidecar keeps the conversation, and
// recalls while the model writes.
//
//	go run ./agent [--script FILE] [--user NAME] [--target unix:///path/to/memsidecar.sock]
//
// OPENAI_API_KEY makes the model a real one, as the openai package reads it
// (OPENAI_BASE_URL and OPENAI_MODEL, too; any key will do for a local server). Without a
// key a scripted model answers. Ctrl-C stops an answer; /quit, the end of the input or
// Ctrl-C at the prompt ends the session. Exits with 0, with 1 when an answer failed or
// could not be remembered, and with 130 after Ctrl-C at the prompt.
// clients/python/examples/agent.py is the same in Python.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
)

const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	script := flag.String("script", "", "what the user says, a line each, in a `file` instead of the terminal")
	user := flag.String("user", "me", "whose memory it is")
	target := flag.String("target", "", "of the sidecar; default: the one of this machine")
	wait := flag.Float64("wait", 30, "`seconds` to wait for the sidecar")
	pace := flag.Float64("pace", 0.05, "`seconds` a word of the scripted model")
	flag.Parse()
	source := os.Stdin
	if *script != "" {
		file, err := os.Open(*script)
		if err != nil {
			fmt.Fprintln(os.Stderr, "agent:", err)
			os.Exit(exitUsage)
		}
		source = file
	}
	model, described := chosenModel(seconds(*pace))
	screen := newScreen(os.Stdout)
	screen.note("◦ %s", described)
	memory, err := memsidecar.New(*target, memsidecar.WithUser(*user), memsidecar.WithAgent("chat"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(exitUsage)
	}
	code := talk(newChat(memory, model, screen), newLines(source, screen), seconds(*wait))
	_ = memory.Close()
	os.Exit(code)
}

// talk is everything that is said, and the exit code.
func talk(chat *chat, lines *lines, wait time.Duration) int {
	ended, end := context.WithCancel(context.Background())
	defer end()
	var interrupted atomic.Bool
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for received := range signals {
			wasWriting := chat.stop()
			if received == os.Interrupt && wasWriting && lines.typed {
				continue
			}
			interrupted.Store(received == os.Interrupt)
			end()
		}
	}()
	code := converse(ended, chat, lines, wait)
	if interrupted.Load() {
		return exitInterrupted
	}
	return code
}

func converse(ended context.Context, chat *chat, lines *lines, wait time.Duration) int {
	beginning, cancel := context.WithTimeout(ended, wait)
	defer cancel()
	if err := chat.begin(beginning); err != nil {
		if errors.Is(ended.Err(), context.Canceled) {
			return 0
		}
		fmt.Fprintf(os.Stderr, "agent: no memory: %s (is `memsidecar serve` running?)\n", printable(err.Error()))
		return exitFailed
	}
	// What was begun is finished after the end, too: only what is new depends on it.
	ctx := context.WithoutCancel(ended)
	code := 0
	for {
		line, ok := lines.next(ended)
		if !ok || line == "/quit" {
			break
		}
		if line != "" && !chat.turn(ctx, line) {
			code = exitFailed
		}
	}
	chat.end(ctx)
	return code
}

func seconds(of float64) time.Duration { return time.Duration(of * float64(time.Second)) }
