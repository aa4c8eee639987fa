package memsidecar

import (
	"context"
	"iter"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// The largest page the server gives: reading scratch values by key then takes one call.
const scratchPageSize = 1000

// SetScratch writes 1 to 256 JSON values, all or none. They live for ttl, or with the
// session when it is 0.
func (s *Session) SetScratch(
	ctx context.Context, values map[string]any, ttl time.Duration,
) ([]*memsidecarv1.ScratchEntry, error) {
	entries := make([]*memsidecarv1.ScratchEntry, 0, len(values))
	for key, value := range values {
		json, err := structpb.NewValue(value)
		if err != nil {
			return nil, invalid("entries["+key+"]", err.Error())
		}
		entries = append(entries, &memsidecarv1.ScratchEntry{Key: key, Value: json})
	}
	return s.SetScratchEntries(ctx, ttl, entries...)
}

// SetScratchEntries is SetScratch for entries with an etag or an expire_time of their
// own. It fails with ErrConflict when an etag does not match; the etag "*" means that
// there must be no such entry.
func (s *Session) SetScratchEntries(
	ctx context.Context, ttl time.Duration, entries ...*memsidecarv1.ScratchEntry,
) ([]*memsidecarv1.ScratchEntry, error) {
	name, err := s.Name(ctx)
	if err != nil {
		return nil, err
	}
	request := &memsidecarv1.SetScratchRequest{Session: name, Entries: entries}
	if ttl != 0 {
		request.Ttl = durationpb.New(ttl)
	}
	answer, err := s.client.SetScratch(ctx, request)
	return answer.GetEntries(), err
}

// Scratch reads the entries of up to 256 keys; keys that are not there are not in the
// answer.
func (s *Session) Scratch(ctx context.Context, keys ...string) (map[string]*memsidecarv1.ScratchEntry, error) {
	found := map[string]*memsidecarv1.ScratchEntry{}
	if len(keys) == 0 {
		return found, nil
	}
	for entry, err := range s.scratch(ctx, keys, "") {
		if err != nil {
			return nil, err
		}
		found[entry.GetKey()] = entry
	}
	return found, nil
}

// AllScratch iterates over the entries whose keys begin with prefix.
func (s *Session) AllScratch(ctx context.Context, prefix string) iter.Seq2[*memsidecarv1.ScratchEntry, error] {
	return s.scratch(ctx, nil, prefix)
}

// DeleteScratch removes 1 to 256 values and gives how many were there.
func (s *Session) DeleteScratch(ctx context.Context, keys ...string) (int64, error) {
	name, err := s.Name(ctx)
	if err != nil {
		return 0, err
	}
	answer, err := s.client.DeleteScratch(ctx, &memsidecarv1.DeleteScratchRequest{Session: name, Keys: keys})
	return answer.GetDeletedCount(), err
}

func (s *Session) scratch(
	ctx context.Context, keys []string, prefix string,
) iter.Seq2[*memsidecarv1.ScratchEntry, error] {
	return paged("", func(token string) ([]*memsidecarv1.ScratchEntry, string, error) {
		name, err := s.Name(ctx)
		if err != nil {
			return nil, "", err
		}
		answer, err := s.client.GetScratch(ctx, &memsidecarv1.GetScratchRequest{
			Session: name, Keys: keys, KeyPrefix: prefix, PageSize: scratchPageSize, PageToken: token,
		})
		return answer.GetEntries(), answer.GetNextPageToken(), err
	})
}
