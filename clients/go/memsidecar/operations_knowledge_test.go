package memsidecar_test

import (
	"context"

	"github.com/memsidecar/memsidecar/clients/go/memsidecar"
	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

func conflictResult(conflict *memsidecarv1.Conflict, memories []*memsidecarv1.Memory) result {
	return result{
		"name": conflict.GetName(), "state": short(conflict.GetState(), conflict.GetState().String()),
		"rule":       short(conflict.GetRule(), conflict.GetRule().String()),
		"resolution": short(conflict.GetResolution(), conflict.GetResolution().String()),
		"winner":     conflict.GetWinner(), "texts": texts(memories, memsidecar.TextOf),
	}
}

var knowledgeOperations = map[string]operation{
	"list_conflicts": func(ctx context.Context, p *played, a arguments) (result, error) {
		request := &memsidecarv1.ListConflictsRequest{PageSize: a.number("page_size")}
		for _, name := range a.texts("states") {
			state := memsidecarv1.ConflictState(memsidecarv1.ConflictState_value["CONFLICT_STATE_"+name])
			request.States = append(request.States, state)
		}
		conflicts, err := collected(p.client.AllConflicts(ctx, request))
		if err != nil {
			return nil, err
		}
		names := texts(conflicts, (*memsidecarv1.Conflict).GetName)
		return result{
			"states": texts(conflicts, func(c *memsidecarv1.Conflict) string {
				return short(c.GetState(), c.GetState().String())
			}),
			"first": append(names, "")[0], "last": append([]string{""}, names...)[len(names)],
		}, nil
	},
	"get_conflict": func(ctx context.Context, p *played, a arguments) (result, error) {
		answer, err := p.client.GetConflict(ctx, &memsidecarv1.GetConflictRequest{Name: a.text("name")})
		return conflictResult(answer.GetConflict(), answer.GetMemories()), err
	},
	"resolve_conflict": func(ctx context.Context, p *played, a arguments) (result, error) {
		request := &memsidecarv1.ResolveConflictRequest{Name: a.text("name"), Etag: a.text("etag")}
		switch {
		case a.text("keep") != "":
			request.Resolution = &memsidecarv1.ResolveConflictRequest_KeepMemory{KeepMemory: a.text("keep")}
		case a.text("answer") != "":
			request.Resolution = &memsidecarv1.ResolveConflictRequest_Answer{Answer: a.text("answer")}
		case a.is("dismiss"):
			request.Resolution = &memsidecarv1.ResolveConflictRequest_Dismissal{Dismissal: &memsidecarv1.Dismissal{}}
		}
		answer, err := p.client.ResolveConflict(ctx, request)
		return conflictResult(answer.GetConflict(), answer.GetMemories()), err
	},
	"undo_resolution": func(ctx context.Context, p *played, a arguments) (result, error) {
		answer, err := p.client.UndoResolution(ctx, &memsidecarv1.UndoResolutionRequest{Name: a.text("name")})
		return conflictResult(answer.GetConflict(), answer.GetMemories()), err
	},
	"slot_history": func(ctx context.Context, p *played, a arguments) (result, error) {
		values, err := collected(p.client.SlotHistory(ctx, &memsidecarv1.ListSlotHistoryRequest{
			Slot: &memsidecarv1.Slot{Attribute: a.text("attribute")},
		}))
		return result{"texts": texts(values, func(v *memsidecarv1.SlotValue) string {
			return memsidecar.TextOf(v.GetMemory())
		})}, err
	},
	"neighbors": func(ctx context.Context, p *played, a arguments) (result, error) {
		neighbors, err := collected(p.client.Neighbors(ctx, &memsidecarv1.ListNeighborsRequest{
			Memory: a.text("memory"), MaxDepth: a.number("max_depth"), Relations: a.texts("relations"),
		}))
		return result{"texts": texts(neighbors, func(n *memsidecarv1.Neighbor) string {
			return memsidecar.TextOf(n.GetMemory())
		})}, err
	},
	"merge_entities": func(ctx context.Context, p *played, a arguments) (result, error) {
		answer, err := p.client.MergeEntities(ctx, &memsidecarv1.MergeEntitiesRequest{
			Target: a.text("target"), Sources: a.texts("sources"),
		})
		return result{"text": memsidecar.TextOf(answer.GetEntity()), "moved": answer.GetMovedMemories()}, err
	},
	"undo_merge": func(ctx context.Context, p *played, a arguments) (result, error) {
		answer, err := p.client.UndoMergeEntities(ctx, &memsidecarv1.UndoMergeEntitiesRequest{Source: a.text("source")})
		return result{"moved": answer.GetMovedMemories()}, err
	},
}

func jobResult(job *memsidecarv1.Job) result {
	return result{
		"name": job.GetName(), "state": short(job.GetState(), job.GetState().String()), "ended": memsidecar.JobEnded(job),
	}
}

var jobOperations = map[string]operation{
	"get_job": func(ctx context.Context, p *played, a arguments) (result, error) {
		answer, err := p.client.GetJob(ctx, &memsidecarv1.GetJobRequest{Name: a.text("name")})
		return jobResult(answer.GetJob()), err
	},
	"list_jobs": func(ctx context.Context, p *played, a arguments) (result, error) {
		request := &memsidecarv1.ListJobsRequest{PageSize: a.number("page_size")}
		jobs, err := collected(p.client.AllJobs(ctx, request))
		return result{"names": texts(jobs, (*memsidecarv1.Job).GetName)}, err
	},
	"cancel_job": func(ctx context.Context, p *played, a arguments) (result, error) {
		answer, err := p.client.CancelJob(ctx, &memsidecarv1.CancelJobRequest{Name: a.text("name")})
		return jobResult(answer.GetJob()), err
	},
	"watch_job": func(ctx context.Context, p *played, a arguments) (result, error) {
		var last result
		for job, err := range p.client.WatchJob(ctx, a.text("name")) {
			if err != nil {
				return nil, err
			}
			isFirst := last == nil
			last = jobResult(job)
			if a.is("leave") {
				return last, nil
			}
			if isFirst {
				p.performAll(ctx, a["between"])
			}
		}
		return result{"last": last["state"]}, nil
	},
}
