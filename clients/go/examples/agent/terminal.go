package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

const (
	promptMark = "❯ "
	noteWidth  = 100
)

// screen shows the model's text as it comes, and notes on lines of their own: the same in
// a terminal and in a transcript.
type screen struct {
	out    io.Writer
	dims   bool
	inLine bool
}

func newScreen(out *os.File) *screen {
	return &screen{out: out, dims: isTerminal(out) && os.Getenv("NO_COLOR") == ""}
}

func (s *screen) write(text string) {
	if !s.inLine {
		text = strings.TrimLeft(text, " ")
	}
	if text != "" {
		s.inLine = !strings.HasSuffix(text, "\n")
		s.say(printable(text))
	}
}

// note is one line, cut where it would be too long.
func (s *screen) note(format string, arguments ...any) {
	s.endLine()
	line := []rune(strings.Join(strings.Fields(printable(fmt.Sprintf(format, arguments...))), " "))
	if len(line) > noteWidth {
		line = append(line[:noteWidth-1], '…')
	}
	if s.dims {
		s.say(fmt.Sprintf("  \x1b[2m%s\x1b[0m\n", string(line)))
	} else {
		s.say(fmt.Sprintf("  %s\n", string(line)))
	}
}

// printable is what may be shown of a text that anybody wrote: a memory, a model, a server.
// What a terminal would obey and not show is escaped: control characters, and those that
// turn the direction of writing.
func printable(text string) string {
	var shown strings.Builder
	for _, each := range text {
		switch {
		case each == '\r':
		case each < 0x20 && each != '\n' && each != '\t', each >= 0x7f && each < 0xa0:
			fmt.Fprintf(&shown, `\x%02x`, each)
		case each >= 0x202a && each <= 0x202e, each >= 0x2066 && each <= 0x2069:
			fmt.Fprintf(&shown, `\u%04x`, each)
		default:
			shown.WriteRune(each)
		}
	}
	return shown.String()
}

func (s *screen) endLine() {
	if s.inLine {
		s.say("\n")
	}
	s.inLine = false
}

func (s *screen) say(text string) { _, _ = io.WriteString(s.out, text) }

// lines are the user's, of a file or of standard input. typed: somebody sits there.
type lines struct {
	screen *screen
	typed  bool
	read   chan string
}

func newLines(source *os.File, screen *screen) *lines {
	made := &lines{screen: screen, typed: isTerminal(source), read: make(chan string)}
	go func() {
		defer close(made.read)
		reader := bufio.NewReader(source)
		for {
			line, err := reader.ReadString('\n')
			if line != "" {
				made.read <- strings.TrimSpace(line)
			}
			if err != nil {
				return
			}
		}
	}()
	return made
}

// next is the next line without white space around it; ok is false after the last one,
// and when the context ends.
func (l *lines) next(ctx context.Context) (line string, ok bool) {
	if l.typed && ctx.Err() == nil {
		l.screen.say(promptMark)
	}
	select {
	case line, ok = <-l.read:
	case <-ctx.Done():
	}
	ok = ok && ctx.Err() == nil
	switch {
	case l.typed && !ok:
		l.screen.say("\n")
	case !l.typed && ok && line != "":
		l.screen.say(promptMark + printable(line) + "\n")
	}
	return line, ok
}

func isTerminal(file *os.File) bool { return term.IsTerminal(int(file.Fd())) }
