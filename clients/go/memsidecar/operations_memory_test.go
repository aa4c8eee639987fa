package memsidecar_test

import (
	"context"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

func written(memory *memsidecarv1.Memory, revision *memsidecarv1.Revision) result {
	return result{
		"name": memory.GetName(), "etag": memory.GetEtag(), "state": stateOf(memory),
		"text": memsidecar.TextOf(memory), "revision": revision.GetToken(),
	}
}

func memoryOf(a arguments) *memsidecarv1.Memory {
	if fact, ok := a["fact"].(map[string]any); ok {
		of := arguments(fact)
		return memsidecar.FactOf(&memsidecarv1.Fact{
			Subject: of.text("subject"), Predicate: of.text("predicate"), Statement: of.text("statement"),
			Object: &memsidecarv1.Fact_Text{Text: of.text("text")},
		})
	}
	if name := a.text("entity"); name != "" {
		return memsidecar.EntityOf(&memsidecarv1.Entity{DisplayName: name})
	}
	return memsidecar.PreferenceOf(&memsidecarv1.Preference{Statement: a.text("statement")})
}

var memoryOperations = map[string]operation{
	"remember": func(ctx context.Context, p *played, a arguments) (result, error) {
		item := memsidecar.Said(a.text("text"), a.text("speaker"))
		if turns := a.items("turns"); len(turns) > 0 {
			var said []*memsidecarv1.ConversationTurn
			for _, turn := range turns {
				said = append(said, &memsidecarv1.ConversationTurn{Text: turn.text("text"), Speaker: turn.text("speaker")})
			}
			item = memsidecar.Turns(said...)
		}
		answer, err := p.client.Remember(ctx, &memsidecarv1.RememberRequest{
			Item: item, RequestId: a.text("request_id"),
			Options: &memsidecarv1.RememberOptions{
				ConflictPolicy: a.policy(), SkipExtraction: a.is("skip_extraction"),
			},
		})
		if err != nil {
			return nil, err
		}
		return result{
			"name":  answer.GetOutcomes()[0].GetMemory().GetName(),
			"texts": texts(answer.GetOutcomes(), outcomeText),
			"actions": texts(answer.GetOutcomes(), func(o *memsidecarv1.RememberOutcome) string {
				return short(o.GetAction(), o.GetAction().String())
			}),
			"revision": answer.GetRevision().GetToken(), "job": answer.GetStages().GetJob(),
		}, nil
	},
	"remember_many": func(ctx context.Context, p *played, a arguments) (result, error) {
		var items []*memsidecarv1.RememberItem
		for range max(1, a.number("repeat")) {
			for _, text := range a.texts("texts") {
				items = append(items, memsidecar.Said(text, ""))
			}
		}
		many, err := p.client.RememberMany(ctx, &memsidecarv1.BatchRememberRequest{Items: items})
		if err != nil {
			return nil, err
		}
		failed, reasons := []int64{}, []string{}
		for _, each := range many.Results {
			if failure, ok := memsidecar.ItemFailure(each).(*memsidecar.Error); ok { //nolint:errorlint // as it is
				failed, reasons = append(failed, each.GetIndex()), append(reasons, failure.Reason)
			}
		}
		return result{"count": len(many.Results), "failed": failed, "reasons": reasons}, nil
	},
	"create_memory": func(ctx context.Context, p *played, a arguments) (result, error) {
		answer, err := p.client.CreateMemory(ctx, &memsidecarv1.CreateMemoryRequest{
			Memory: memoryOf(a), MemoryId: a.text("id"), ConflictPolicy: a.policy(),
		})
		return written(answer.GetMemory(), answer.GetRevision()), err
	},
	"get_memory": func(ctx context.Context, p *played, a arguments) (result, error) {
		answer, err := p.client.GetMemory(ctx, &memsidecarv1.GetMemoryRequest{Name: a.text("name")})
		return written(answer.GetMemory(), nil), err
	},
	"batch_get": func(ctx context.Context, p *played, a arguments) (result, error) {
		answer, err := p.client.BatchGetMemories(ctx, &memsidecarv1.BatchGetMemoriesRequest{Names: a.texts("names")})
		return result{"texts": texts(answer.GetMemories(), memsidecar.TextOf)}, err
	},
	"list_memories": func(ctx context.Context, p *played, a arguments) (result, error) {
		request := &memsidecarv1.ListMemoriesRequest{PageSize: a.number("page_size")}
		if a.is("newest_first") {
			request.Order = memsidecarv1.MemoryOrder_MEMORY_ORDER_NEWEST_FIRST
		}
		if kind := a.text("kind"); kind != "" {
			wanted := memsidecarv1.MemoryKind(memsidecarv1.MemoryKind_value["MEMORY_KIND_"+kind])
			request.Filter = &memsidecarv1.MemoryFilter{Kinds: []memsidecarv1.MemoryKind{wanted}}
		}
		memories, err := collected(p.client.AllMemories(ctx, request))
		found := texts(memories, memsidecar.TextOf)
		outcomes := []string{}
		for _, memory := range memories {
			if episode := memory.GetEpisode(); episode != nil {
				outcomes = append(outcomes, short(episode.GetOutcome(), episode.GetOutcome().String()))
			}
		}
		return result{"texts": found, "mentions": found, "outcomes": outcomes}, err
	},
	"update_memory": func(ctx context.Context, p *played, a arguments) (result, error) {
		memory := memoryOf(a)
		memory.Name, memory.Etag = a.text("name"), a.text("etag")
		answer, err := p.client.UpdateMemory(ctx, &memsidecarv1.UpdateMemoryRequest{
			Memory: memory, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"preference.statement"}},
		})
		return written(answer.GetMemory(), answer.GetRevision()), err
	},
	"delete_memory": func(ctx context.Context, p *played, a arguments) (result, error) {
		answer, err := p.client.DeleteMemory(ctx, &memsidecarv1.DeleteMemoryRequest{
			Name: a.text("name"), Purge: a.is("purge"),
		})
		if err == nil && answer.GetMemory() == nil {
			return result{"state": "PURGED"}, nil
		}
		return written(answer.GetMemory(), answer.GetRevision()), err
	},
	"undelete_memory": func(ctx context.Context, p *played, a arguments) (result, error) {
		answer, err := p.client.UndeleteMemory(ctx, &memsidecarv1.UndeleteMemoryRequest{Name: a.text("name")})
		return written(answer.GetMemory(), answer.GetRevision()), err
	},
	"history": func(ctx context.Context, p *played, a arguments) (result, error) {
		revisions, err := collected(p.client.History(ctx, a.text("name")))
		return result{"changes": texts(revisions, func(r *memsidecarv1.MemoryRevision) string {
			return short(r.GetChange(), r.GetChange().String())
		})}, err
	},
}
