package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"time"
)

// What the scripted model says whatever it knows: one suggestion, and two answers.
var tonight = []string{
	"Let us cook at home first.",
	"After dinner we could go to the Fado concert in Alfama.",
	"最后带豆包去散步吧。",
}

const (
	notKnown = "I do not know that yet. Tell me, and I will remember."
	noted    = "Noted."
)

// remarks is how it says what it is told while it writes.
var remarks = map[string]string{
	"recalled": "You told me", "no longer true": "That has changed", "true instead": "It is now",
}

var (
	whenTonight = regexp.MustCompile(`(?i)tonight|今晚`)
	itemLine    = regexp.MustCompile(`(?m)^- (?:\([^)]*\) )?(.*)$`)
	newsLine    = regexp.MustCompile(`(?m)^- (recalled|no longer true|true instead): (".*")$`)
	escaped     = regexp.MustCompile(`\\(.)`)
	saidBefore  = regexp.MustCompile(`^(\[[^]]*\] )?(User: )?`)
	saidAfter   = regexp.MustCompile(`\s+Assistant: `)
	keyword     = regexp.MustCompile(`[a-z]{4,}|[\x{4e00}-\x{9fff}]`)
	token       = regexp.MustCompile(`\s*\S+`)
)

// scripted is a stand-in for a language model: it needs no key, and answers from nothing
// but the messages it is given. It quotes the memory that shares most words with a
// question, and says what it is told while it writes. A word takes it that long.
func scripted(pace time.Duration) model {
	return func(ctx context.Context, messages []message) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for _, text := range token.FindAllString(scriptedAnswer(messages), -1) {
				select {
				case <-time.After(pace):
				case <-ctx.Done():
					yield("", ctx.Err())
					return
				}
				if !yield(text, nil) {
					return
				}
			}
		}
	}
}

func scriptedAnswer(messages []message) string {
	last := len(messages) - 1
	before, line := messages[:last], messages[last].text
	written, news := "", ""
	if last >= 2 && before[last-1].role == "assistant" && strings.HasPrefix(line, "Recalled") {
		// It was interrupted: what it had written, and what it is told now.
		written, news = before[last-1].text, line
		before, line = messages[:last-2], messages[last-2].text
	}
	var sentences []string
	for _, told := range newsLine.FindAllStringSubmatch(news, -1) {
		var text string
		if json.Unmarshal([]byte(told[2]), &text) == nil {
			sentences = append(sentences, fmt.Sprintf("%s: %s", remarks[told[1]], endedSentence(userPart(text))))
		}
	}
	var unsaid []string
	for _, sentence := range append(sentences, scriptedSentences(before, line)...) {
		if !strings.Contains(written, sentence) {
			unsaid = append(unsaid, sentence)
		}
	}
	text := strings.Join(unsaid, " ")
	if written != "" && text != "" {
		return " " + text
	}
	return text
}

func scriptedSentences(before []message, line string) []string {
	if whenTonight.MatchString(line) {
		return tonight
	}
	if !isQuestion(line) {
		return []string{noted}
	}
	best, most := "", 0
	for _, statement := range statements(before) {
		if shared := sharedWords(line, statement); shared > most {
			best, most = statement, shared
		}
	}
	if most == 0 {
		return []string{notKnown}
	}
	return []string{fmt.Sprintf("%s: %s", remarks["recalled"], endedSentence(best))}
}

// statements is what the user has said, as far as the messages tell: recalled, or earlier
// in the conversation.
func statements(messages []message) []string {
	var found []string
	for _, each := range messages {
		if each.role != "user" {
			continue
		}
		texts := []string{each.text}
		if strings.HasPrefix(each.text, "# Memory") || strings.HasPrefix(each.text, "Recalled") {
			texts = nil
			for _, item := range itemLine.FindAllStringSubmatch(each.text, -1) {
				texts = append(texts, item[1])
			}
		}
		for _, text := range texts {
			if said := userPart(escaped.ReplaceAllString(text, "$1")); !isQuestion(said) {
				found = append(found, said)
			}
		}
	}
	return found
}

// userPart is the user's words of an exchange: "[date] User: ... Assistant: ...".
func userPart(memory string) string {
	words := saidBefore.ReplaceAllString(memory, "")
	return strings.Trim(saidAfter.Split(words, 2)[0], `"`)
}

func sharedWords(one, other string) int {
	asked := map[string]bool{}
	for _, word := range keyword.FindAllString(strings.ToLower(one), -1) {
		asked[word] = true
	}
	shared := 0
	for _, word := range keyword.FindAllString(strings.ToLower(other), -1) {
		if asked[word] {
			shared++
			delete(asked, word)
		}
	}
	return shared
}

func isQuestion(text string) bool {
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？")
}

func endedSentence(text string) string {
	for _, end := range []string{".", "!", "。", "！"} {
		if strings.HasSuffix(text, end) {
			return text
		}
	}
	return text + "."
}
