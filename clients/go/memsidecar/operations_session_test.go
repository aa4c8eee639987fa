package memsidecar_test

import (
	"context"
	"strings"

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

func sessionResult(session *memsidecarv1.Session) result {
	return result{
		"name": session.GetName(), "labels": session.GetLabels(), "etag": session.GetEtag(),
		"message_count": session.GetMessageCount(), "last_seq": session.GetLastSeq(), "ended": session.GetEndTime() != nil,
	}
}

func (p *played) session(a arguments) *memsidecar.Session { return p.client.Session(a.text("session")) }

func messageText(message *memsidecarv1.Message) string { return message.GetText() }

var sessionOperations = map[string]operation{
	"create_session": func(ctx context.Context, p *played, a arguments) (result, error) {
		session, err := p.session(a).Create(ctx, &memsidecarv1.Session{Labels: a.labels("labels")})
		return sessionResult(session), err
	},
	"get_session": func(ctx context.Context, p *played, a arguments) (result, error) {
		session, err := p.session(a).Get(ctx)
		return sessionResult(session), err
	},
	"list_sessions": func(ctx context.Context, p *played, _ arguments) (result, error) {
		sessions, err := collected(p.client.AllSessions(ctx, nil))
		return result{"names": texts(sessions, (*memsidecarv1.Session).GetName)}, err
	},
	"update_session": func(ctx context.Context, p *played, a arguments) (result, error) {
		changes := &memsidecarv1.Session{Labels: a.labels("labels"), Etag: a.text("etag")}
		session, err := p.session(a).Update(ctx, changes, "labels")
		return sessionResult(session), err
	},
	"end_session": func(ctx context.Context, p *played, a arguments) (result, error) {
		if !a.is("remember") {
			session, err := p.session(a).End(ctx)
			return sessionResult(session), err
		}
		ended, err := p.session(a).EndAndRemember(ctx)
		return sessionResult(ended.GetSession()), err
	},
	"delete_session": func(ctx context.Context, p *played, a arguments) (result, error) {
		return nil, p.session(a).Delete(ctx)
	},
	"append": func(ctx context.Context, p *played, a arguments) (result, error) {
		var messages []*memsidecarv1.Message
		longer := max(1, int(a.number("text_repeat")))
		for range max(1, a.number("repeat")) {
			for _, each := range a.items("messages") {
				role := memsidecarv1.MessageRole(memsidecarv1.MessageRole_value["MESSAGE_ROLE_"+each.text("role")])
				text := strings.Repeat(each.text("text"), longer)
				messages = append(messages, &memsidecarv1.Message{Role: role, Text: text})
			}
		}
		if _, given := a["expected_last_seq"]; given {
			answer, err := p.session(a).AppendAfter(ctx, int64(a.number("expected_last_seq")), messages...)
			return result{"seqs": answer.GetSeqs()}, err
		}
		answer, err := p.session(a).Append(ctx, messages...)
		return result{"seqs": answer.GetSeqs()}, err
	},
	"messages": func(ctx context.Context, p *played, a arguments) (result, error) {
		messages, err := collected(p.session(a).Messages(ctx, int64(a.number("min_seq"))))
		return result{"texts": texts(messages, messageText)}, err
	},
	"window": func(ctx context.Context, p *played, a arguments) (result, error) {
		window, err := p.session(a).Window(ctx, &memsidecarv1.GetWindowRequest{
			MaxTokens: a.number("max_tokens"), Tokenizer: a.text("tokenizer"),
		})
		return result{
			"texts": texts(window.GetMessages(), messageText), "omitted": window.GetOmittedMessages(),
			"shortened": window.GetShortened(),
		}, err
	},
	"set_scratch": func(ctx context.Context, p *played, a arguments) (result, error) {
		values, _ := a["values"].(map[string]any)
		entries, err := p.session(a).SetScratch(ctx, values, 0)
		keys := map[string]bool{}
		for _, entry := range entries {
			keys[entry.GetKey()] = true
		}
		return result{"keys": sortedKeys(keys)}, err
	},
	"get_scratch": func(ctx context.Context, p *played, a arguments) (result, error) {
		values := map[string]any{}
		found, err := p.session(a).Scratch(ctx, a.texts("keys")...)
		if prefix := a.text("prefix"); prefix != "" {
			var entries []*memsidecarv1.ScratchEntry
			entries, err = collected(p.session(a).AllScratch(ctx, prefix))
			for _, entry := range entries {
				found[entry.GetKey()] = entry
			}
		}
		for key, entry := range found {
			values[key] = entry.GetValue().AsInterface()
		}
		return result{"values": values}, err
	},
	"delete_scratch": func(ctx context.Context, p *played, a arguments) (result, error) {
		deleted, err := p.session(a).DeleteScratch(ctx, a.texts("keys")...)
		return result{"deleted": deleted}, err
	},
}
