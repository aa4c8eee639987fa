package memsidecar

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

const model = memsidecarv1.TextSource_TEXT_SOURCE_MODEL

func TestACharacterThatATokenCutsIsPutTogether(t *testing.T) {
	now := time.Now()
	text := "naïve 北京 🌊"
	s := &script{}
	for i := range len(text) {
		if err := s.feed(text[i:i+1], model, now); err != nil {
			t.Fatal(err)
		}
	}
	s.flush()
	if got := s.next(now).GetText().GetText(); got != text || s.length != len(text) {
		t.Errorf("%q of %d bytes", got, s.length)
	}
	if err := s.feed("\xff", model, now); err == nil {
		t.Error("took what is no UTF-8")
	}
	if err := s.feed("ok", model, now); err != nil || s.length != len(text)+2 {
		t.Errorf("after a refusal: %v, %d bytes", err, s.length)
	}
}

func TestOffsetsInCodePointsBecomeOffsetsInBytes(t *testing.T) {
	s := &script{}
	text := "é北🌊a"
	for _, piece := range []string{"é北", "🌊a"} {
		if err := s.feed(piece, model, time.Now()); err != nil {
			t.Fatal(err)
		}
		s.cut()
	}
	for points, want := range []int{0, 2, 5, 9, 10, 10} {
		if got := s.byteOffset(int64(points)); got != want {
			t.Errorf("%d code points are %d bytes, not %d", points, got, want)
		}
		if got := byteOffset(text, points); got != want {
			t.Errorf("of a prompt: %d code points are %d bytes, not %d", points, got, want)
		}
	}
}

func TestRewindingCutsInsideAPieceButNotInsideACharacter(t *testing.T) {
	now := time.Now()
	s := &script{}
	if err := s.feed("ab北c", model, now); err != nil {
		t.Fatal(err)
	}
	s.flush()
	s.next(now)
	if _, err := s.rewindBytes(3, now); err == nil {
		t.Error("cut a character")
	}
	if kept, err := s.rewindBytes(2, now); err != nil || kept != 0 || s.length != 2 {
		t.Errorf("kept %d, %v, %d bytes", kept, err, s.length)
	}
	if rewind := s.next(now).GetRewind(); rewind == nil || rewind.GetSeq() != 0 {
		t.Errorf("told %v", rewind)
	}
	for length := range []int{-1, 3} {
		if _, err := s.rewindBytes(length*4-1, now); err == nil {
			t.Errorf("rewound to %d", length*4-1)
		}
	}
}

func TestLongTextIsCutToPiecesAtCharacters(t *testing.T) {
	s := &script{}
	text := strings.Repeat("北", 100_000)
	if err := s.feed(text, model, time.Now()); err != nil {
		t.Fatal(err)
	}
	s.cut()
	var joined strings.Builder
	for _, piece := range s.pieces {
		if len(piece.text) > pieceBytes {
			t.Errorf("a piece of %d bytes", len(piece.text))
		}
		joined.WriteString(piece.text)
	}
	if joined.String() != text {
		t.Error("the pieces are not the text")
	}
	first, messages := s.replay(false)
	if first != 1 || len(messages) != len(s.pieces) {
		t.Errorf("replayed %d from %d", len(messages), first)
	}
}

func TestAReplayIsJoinedAndItsNumbersAreTranslatedBack(t *testing.T) {
	now := time.Now()
	s := &script{}
	for range 5 {
		_ = s.feed("word ", model, now)
		s.flush()
		s.next(now)
	}
	first, messages := s.replay(true)
	if first != 5 || len(messages) != 1 || messages[0].GetText().GetSeq() != 5 {
		t.Fatalf("first %d: %v", first, messages)
	}
	if s.ownSeq(5) != 5 || s.ownSeq(0) != 0 || s.ownSeq(6) != 6 {
		t.Error("numbers are not translated")
	}
	if err := s.rewind(3); err != nil || !s.replaceCall {
		t.Errorf("a rewind into what was joined needs another call: %v", err)
	}
}

func TestRewindsAreCountedAsTheMessagesThatTheyBecome(t *testing.T) {
	now := time.Now()
	s := &script{}
	for range 3 {
		_ = s.feed("a.", model, now)
		s.next(now)
	}
	rewind := func(seq int, want int64) {
		t.Helper()
		if err := s.rewind(seq); err != nil || s.rewinds != want {
			t.Errorf("rewound to %d: %d messages, not %d; %v", seq, s.rewinds, want, err)
		}
	}
	rewind(3, 0)
	_ = s.feed("never sent", model, now)
	if _, err := s.rewindBytes(6, now); err != nil || s.rewinds != 0 {
		t.Errorf("%d messages for what was never sent, %v", s.rewinds, err)
	}
	rewind(2, 1)
	rewind(1, 1) // the two are one message
	if s.next(now).GetRewind().GetSeq() != 1 {
		t.Error("not told of the last one")
	}
	rewind(0, 2)
	s.replay(false)
	if s.rewinds != 2 || s.rewindsBefore != 2 {
		t.Errorf("%d of %d messages are of calls before", s.rewindsBefore, s.rewinds)
	}
}

func TestEveryCallWithOneRequestMessageIsRepeated(t *testing.T) {
	var config struct {
		MethodConfig []struct {
			Name []struct{ Service, Method string }
		}
	}
	if err := json.Unmarshal([]byte(serviceConfig()), &config); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, name := range config.MethodConfig[0].Name {
		names[name.Method] = true
	}
	if !names["Remember"] || !names["Recall"] || !names["WatchJob"] {
		t.Errorf("not repeated: %v", names)
	}
	if names["StreamRemember"] || names["RecallDuring"] {
		t.Errorf("what was streamed would have to be kept: %v", names)
	}
}

func TestTheSocketThatIsThereIsTheDefaultTarget(t *testing.T) {
	folder := t.TempDir()
	pod, user := filepath.Join(folder, "run", "s"), filepath.Join(folder, "user")
	if got := socketOf(pod, user); got != user {
		t.Errorf("without either: %s", got)
	}
	if err := os.Mkdir(filepath.Dir(pod), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := socketOf(pod, user); got != pod {
		t.Errorf("in a pod whose sidecar is starting: %s", got)
	}
	if err := os.WriteFile(user, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := socketOf(pod, user); got != user {
		t.Errorf("with a user's socket: %s", got)
	}
	if got := socketOf(pod, ""); got != pod {
		t.Errorf("without a home: %s", got)
	}
	t.Setenv(targetVariable, "127.0.0.1:1")
	if DefaultTarget() != "127.0.0.1:1" {
		t.Error("the variable does not win")
	}
}

func TestNamesAreSpelledInOneWay(t *testing.T) {
	if got := resourceName("acme", "an a/é", "sessions", "x@1"); got != "namespaces/acme/users/an%20a%2F%C3%A9/sessions/x@1" {
		t.Error(got)
	}
	if got := resourceName("acme", "", "memories", "m"); got != "namespaces/acme/memories/m" {
		t.Error(got)
	}
}

func TestBatchesFitAMessage(t *testing.T) {
	turns := make([]*memsidecarv1.ConversationTurn, 200)
	for i := range turns {
		turns[i] = &memsidecarv1.ConversationTurn{Text: "x"}
	}
	large := Said(strings.Repeat("y", 2<<20), "")
	items := []*memsidecarv1.RememberItem{Turns(turns...), Turns(turns...), large, large}
	var sizes []int
	for batch := range batches(items) {
		sizes = append(sizes, len(batch))
	}
	if len(sizes) != 3 || sizes[0] != 1 || sizes[1] != 2 || sizes[2] != 1 {
		t.Errorf("batches of %v", sizes)
	}
}

func TestWhatIsWrittenIsMadeSuchThatItCanBeSent(t *testing.T) {
	now := time.Now()
	for _, each := range []struct {
		texts []string
		want  string
	}{
		{[]string{"a\xf0\x9f", "\x8c\x8ab"}, "a🌊b"},
		{[]string{"\xf0", "\x9f", "\x8c", "\x8a"}, "🌊"},
		{[]string{"\xe5\x8c", "b"}, "\uFFFDb"},
		{[]string{"b\xe5\x8c"}, "b\uFFFD"},
		{[]string{"\xffb\x00"}, "\uFFFDb\uFFFD"},
		{[]string{"a", "北"}, "a北"},
	} {
		s := &script{}
		for _, text := range each.texts {
			s.feedAny(text, model, now)
		}
		s.end(nil)
		if got := s.next(now).GetText().GetText(); got != each.want || s.length != len(each.want) {
			t.Errorf("%q became %q of %d bytes", each.texts, got, s.length)
		}
	}
}

func TestACharacterIsNotPutTogetherFromTwoSources(t *testing.T) {
	now := time.Now()
	s := &script{}
	s.feedAny("a\xf0\x9f", model, now)
	s.feedAny("\x8c\x8ab", memsidecarv1.TextSource_TEXT_SOURCE_TOOL, now)
	s.flush()
	first, second := s.next(now).GetText(), s.next(now).GetText()
	if first.GetText() != "a\uFFFD" || second.GetText() != "\uFFFDb" || second.GetSource() == model {
		t.Errorf("%v, %v", first, second)
	}
}

func TestTextThatTheServerWouldRefuseIsNotFedAndSpoilsNothingAfterIt(t *testing.T) {
	now := time.Now()
	s := &script{}
	for _, text := range []string{"a\x00b", "\xff"} {
		var refused *Error
		if err := s.feed(text, model, now); !errors.As(err, &refused) || refused.Violations[0].Field != "text" {
			t.Errorf("%q: %v", text, err)
		}
	}
	_ = s.feed("\xe5\x8c", model, now)
	if err := s.feed("b", model, now); err == nil {
		t.Error("took a character that is not completed")
	}
	if err := s.feed("c", model, now); err != nil || s.length != 1 {
		t.Errorf("after it: %v, %d bytes", err, s.length)
	}
}

func TestAWatchedStreamGivesASignOfLifeBeforeTheServersLimit(t *testing.T) {
	now := time.Now()
	s := &script{keepalive: time.Minute, saidAt: now}
	if _, isPending := s.dueOrSign(false); isPending || s.nextOrSign(now.Add(time.Hour), false) != nil {
		t.Error("a stream that nothing is held of is kept alive")
	}
	s.bear(&Error{Metadata: map[string]string{"idle_seconds": "4"}})
	at, isPending := s.dueOrSign(true)
	if !isPending || at.Sub(now) != 2*time.Second || s.nextOrSign(at.Add(-time.Second), true) != nil {
		t.Errorf("due in %v", at.Sub(now))
	}
	if s.nextOrSign(at, true).GetFlush() == nil || s.nextOrSign(at, true) != nil {
		t.Error("gave no sign, or two")
	}
	s.bear(&Error{})
	if s.keepalive != time.Second {
		t.Errorf("a server that does not say its limit bears %v", s.keepalive)
	}
	s.end(&memsidecarv1.GenerationFinish{})
	s.next(now)
	if _, isPending := s.dueOrSign(true); isPending {
		t.Error("a finished stream is kept alive")
	}
}
