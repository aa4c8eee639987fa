package memsidecar_test

import (
	"context"

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

func recallOptions(a arguments) *memsidecarv1.RecallOptions {
	options := &memsidecarv1.RecallOptions{MaxHits: a.number("max_hits")}
	if revision := a.text("min_revision"); revision != "" {
		options.MinRevision = &memsidecarv1.Revision{Token: revision}
	}
	if tier := a.text("tier"); tier != "" {
		options.Tiers = []memsidecarv1.Tier{memsidecarv1.Tier(memsidecarv1.Tier_value["TIER_"+tier])}
	}
	return options
}

func queryOf(a arguments) *memsidecarv1.Query {
	query := &memsidecarv1.Query{Text: a.text("query")}
	if numbers, ok := a["embedding"].([]any); ok {
		query.Embedding = &memsidecarv1.Embedding{}
		for _, number := range numbers {
			value, _ := number.(float64)
			query.Embedding.Values = append(query.Embedding.Values, float32(value))
		}
	}
	return query
}

var recallOperations = map[string]operation{
	"server_info": func(ctx context.Context, p *played, _ arguments) (result, error) {
		info, err := p.client.Ready(ctx)
		return result{
			"default_namespace": info.GetDefaultNamespace(), "max_batch_items": info.GetMaxBatchItems(),
		}, err
	},
	"recall": func(ctx context.Context, p *played, a arguments) (result, error) {
		answer, err := p.client.RecallOnce(ctx, &memsidecarv1.RecallOnceRequest{
			Query: queryOf(a), Options: recallOptions(a),
		})
		return result{"texts": texts(answer.GetHits(), hitText)}, err
	},
	"recall_stream": func(ctx context.Context, p *played, a arguments) (result, error) {
		request := &memsidecarv1.RecallRequest{
			Query: &memsidecarv1.Query{Text: a.text("query")}, Options: recallOptions(a),
		}
		for event, err := range p.client.Recall(ctx, request) {
			if err != nil {
				return nil, err
			}
			if done, ok := event.(*memsidecar.RecallDone); ok {
				return result{"texts": texts(done.Hits, hitText), "done": true}, nil
			}
			if a.is("leave") {
				break
			}
		}
		return result{"done": false}, nil
	},
	"build_context": func(ctx context.Context, p *played, a arguments) (result, error) {
		answer, err := p.client.BuildContext(ctx, &memsidecarv1.BuildContextRequest{
			Query: &memsidecarv1.Query{Text: a.text("query")}, MaxTokens: a.number("max_tokens"),
		})
		return result{"mentions": answer.GetText()}, err
	},
	"feedback": func(ctx context.Context, p *played, a arguments) (result, error) {
		kind := memsidecarv1.FeedbackKind(memsidecarv1.FeedbackKind_value["FEEDBACK_KIND_"+a.text("kind")])
		_, err := p.client.Feedback(ctx, &memsidecarv1.FeedbackRequest{
			Items: []*memsidecarv1.FeedbackItem{{Memory: a.text("memory"), Kind: kind}},
		})
		return nil, err
	},
}
