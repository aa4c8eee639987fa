package memsidecar

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

const (
	// How long a piece of text waits for more before it is sent, unless it ends a
	// sentence. A message costs the server a wake-up; a token is rarely worth one, and
	// nobody notices a fiftieth of a second.
	pieceDelay = 20 * time.Millisecond

	// Of one piece of text in UTF-8: the server takes 64 KiB.
	pieceBytes = 60_000

	// Of all text of a generation in UTF-8: what the server takes in one stream.
	generationTextBytes = 1 << 20

	maxCredit = 1000
)

// Only about when to send: a mark that turns out to end no sentence costs a message, no
// more.
var sentenceEnd = regexp.MustCompile(`[。！？…!?؟।.\n]["'”’»」』）)\]]*\s*\z`)

// Of no text.
const noSource = memsidecarv1.TextSource(-1)

type looseText struct {
	text   string
	source memsidecarv1.TextSource
}

// script is what has been written during a generation, and what of it the server has
// still to be told. Small texts are joined to pieces, numbered from 1; a piece is cut
// when it is due, and only when it can be sent. What waits is therefore bounded by the
// text itself, however slowly it is sent: credit, rewinds and flushes that have not been
// sent yet become one. No clock, no I/O.
type script struct {
	pieces []textPiece
	// Not cut yet: texts of one source, or of several.
	loose      []looseText
	looseSince time.Time
	// The begin of a character, and who has written it.
	partial looseText

	length int // in bytes
	sent   int
	sentAt time.Time
	pause  time.Duration
	// When the last message of any kind was sent, and the silence that the server bears.
	saidAt    time.Time
	keepalive time.Duration

	rewindTo *int64
	// Rewind messages of all calls, with the one that waits; and of the calls before.
	rewinds, rewindsBefore int64

	credit     int32
	flushing   bool
	finish     *memsidecarv1.GenerationFinish
	finishSent bool

	// Pieces up to here were sent again to a call that replaces another, joined, each
	// with the seq it ends at.
	joined []int
	// Only another call can express the last rewind.
	replaceCall bool
}

func (s *script) seq() int { return len(s.pieces) }

// waits says whether the server has still to be told of anything.
func (s *script) waits() bool {
	return s.sent != s.seq() || len(s.loose) > 0 || s.finish != nil || s.flushing || s.rewindTo != nil
}

// feed adds text; it fails, and adds nothing, for what is no UTF-8 or holds a NUL.
func (s *script) feed(text string, source memsidecarv1.TextSource, now time.Time) error {
	begun := ""
	if s.partial.source == source {
		begun = s.partial.text
	}
	whole, rest, ok := wholePoints(begun + text)
	if !ok {
		if begun != "" {
			// What was begun is not to spoil what comes after.
			s.partial = looseText{}
		}
		return invalid("text", "is not UTF-8")
	}
	if strings.Contains(whole, "\x00") {
		return invalid("text", "holds a NUL character")
	}
	s.begin(rest, source, now)
	s.add(whole, source, now)
	return nil
}

// feedAny is feed of what is made such that it can be sent: U+FFFD stands for NUL, and for
// what is no UTF-8.
func (s *script) feedAny(text string, source memsidecarv1.TextSource, now time.Time) {
	if s.partial.source == source {
		text = s.partial.text + text
	}
	whole, rest := splitPartial(text)
	s.begin(rest, source, now)
	s.add(sendable(whole), source, now)
}

// begin keeps the begin of a character. U+FFFD stands for one of another source, that
// nothing completes.
func (s *script) begin(rest string, source memsidecarv1.TextSource, now time.Time) {
	if s.partial.text != "" && s.partial.source != source {
		s.add(sendable(s.partial.text), s.partial.source, now)
	}
	s.partial = looseText{rest, source}
}

func (s *script) add(whole string, source memsidecarv1.TextSource, now time.Time) {
	if whole == "" {
		return
	}
	if len(s.loose) == 0 {
		s.looseSince = now
	}
	s.loose = append(s.loose, looseText{whole, source})
	s.length += len(whole)
}

// flush wants everything considered; the seq that a watermark then has to reach.
func (s *script) flush() int {
	s.cut()
	s.flushing = true
	return s.seq()
}

func (s *script) end(message *memsidecarv1.GenerationFinish) {
	s.begin("", noSource, s.looseSince)
	s.cut()
	s.finish, s.finishSent = message, false
}

// rewind drops all text after that piece.
func (s *script) rewind(seq int) error {
	if seq < 0 || seq > s.seq() {
		return invalid("seq", fmt.Sprintf("cannot rewind to %d: the last piece of text is %d", seq, s.seq()))
	}
	s.loose, s.partial = nil, looseText{}
	s.pieces = s.pieces[:seq]
	s.length, _ = s.ends(seq)
	if seq < s.sent {
		s.replaceCall = s.replaceCall || seq < s.lastJoined()
		if s.rewindTo == nil {
			s.rewinds++
		}
		to := int64(seq)
		s.rewindTo, s.sent = &to, seq
	}
	return nil
}

// rewindBytes drops all text after that many bytes, inside a piece, too; the seq that is
// left.
func (s *script) rewindBytes(length int, now time.Time) (int, error) {
	if length < 0 || length > s.length {
		return 0, invalid("length", fmt.Sprintf("cannot rewind to %d bytes: there are %d", length, s.length))
	}
	s.partial = looseText{}
	if length == s.length {
		return s.seq(), nil
	}
	s.cut()
	kept := 0
	for kept < s.seq() && s.pieces[kept].endBytes <= length {
		kept++
	}
	begun, _ := s.ends(kept)
	broken := s.pieces[kept]
	if !utf8.RuneStart(broken.text[length-begun]) {
		return 0, invalid("length", fmt.Sprintf("cannot rewind to %d bytes: that cuts a character", length))
	}
	if err := s.rewind(kept); err != nil {
		return 0, err
	}
	return kept, s.feed(broken.text[:length-begun], broken.source, now)
}

// next is the next message, counted as sent; nil when nothing is due. After finish the
// server takes none: memories that come then, on their way before, make credit that
// nobody needs.
func (s *script) next(now time.Time) *memsidecarv1.RecallDuringRequest {
	switch {
	case s.finishSent:
		return nil
	case s.rewindTo != nil:
		seq := *s.rewindTo
		s.rewindTo = nil
		return &memsidecarv1.RecallDuringRequest{Event: &memsidecarv1.RecallDuringRequest_Rewind{
			Rewind: &memsidecarv1.Rewind{Seq: seq},
		}}
	case s.credit > 0:
		hits := min(s.credit, maxCredit)
		s.credit -= hits
		return &memsidecarv1.RecallDuringRequest{Event: &memsidecarv1.RecallDuringRequest_Credit{
			Credit: &memsidecarv1.Credit{Hits: hits},
		}}
	}
	if due, isPending := s.due(); isPending && !due.After(now) {
		s.cut()
	}
	switch {
	case s.sent < s.seq():
		s.sent++
		s.sentAt = now
		return delta(s.sent, s.pieces[s.sent-1])
	case s.flushing:
		s.flushing = false
		return flushMessage()
	case s.finish != nil:
		message := s.finish
		s.finish, s.finishSent = nil, true
		return &memsidecarv1.RecallDuringRequest{Event: &memsidecarv1.RecallDuringRequest_Finish{Finish: message}}
	}
	return nil
}

// due is when text has to be sent if nothing else happens; isPending is false without text.
func (s *script) due() (at time.Time, isPending bool) {
	if len(s.loose) == 0 {
		return time.Time{}, false
	}
	at = s.looseSince
	if !sentenceEnd.MatchString(s.loose[len(s.loose)-1].text) {
		at = at.Add(pieceDelay)
	}
	if earliest := s.sentAt.Add(s.pause); earliest.After(at) {
		at = earliest
	}
	return at, true
}

// ends are where a piece ends; 0 is the beginning.
func (s *script) ends(seq int) (bytes, points int) {
	if seq == 0 {
		return 0, 0
	}
	return s.pieces[seq-1].endBytes, s.pieces[seq-1].endPoints
}

func (s *script) cut() {
	bytes, points := s.ends(s.seq())
	for len(s.loose) > 0 {
		source := s.loose[0].source
		var run strings.Builder
		for len(s.loose) > 0 && s.loose[0].source == source {
			run.WriteString(s.loose[0].text)
			s.loose = s.loose[1:]
		}
		for text := run.String(); text != ""; {
			part := text
			if len(text) > pieceBytes {
				part = text[:cutAt(text, pieceBytes)]
			}
			text = text[len(part):]
			bytes += len(part)
			points += utf8.RuneCountInString(part)
			s.pieces = append(s.pieces, textPiece{part, source, bytes, points})
		}
	}
}

func delta(seq int, piece textPiece) *memsidecarv1.RecallDuringRequest {
	return &memsidecarv1.RecallDuringRequest{Event: &memsidecarv1.RecallDuringRequest_Text{
		Text: &memsidecarv1.TextDelta{Seq: int64(seq), Text: piece.text, Source: piece.source},
	}}
}
