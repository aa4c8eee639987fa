package memsidecar

import (
	"iter"

	"google.golang.org/protobuf/proto"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

const (
	// What the server takes in one call or chunk.
	maxBatchItems = 256

	// Below gRPC's 4 MiB limit of a message, with room for the scope, the options and
	// the framing.
	maxBatchBytes = 3 << 20

	// Tag and length in front of a repeated message of at most 4 MiB.
	itemFramingBytes = 5
)

// Said is something that was said, to be remembered as an episode, and by whom: a name
// or a role, or empty.
func Said(text, speaker string) *memsidecarv1.RememberItem {
	return &memsidecarv1.RememberItem{
		Source: &memsidecarv1.RememberItem_Text{Text: text}, Speaker: speaker,
	}
}

// Typed is a memory that the agent has put into form itself, stored after
// deduplication and conflict checks.
func Typed(memory *memsidecarv1.Memory) *memsidecarv1.RememberItem {
	return &memsidecarv1.RememberItem{Source: &memsidecarv1.RememberItem_Memory{Memory: memory}}
}

// Turns are 1 to 256 turns said in a row; each is stored as an episode.
func Turns(turns ...*memsidecarv1.ConversationTurn) *memsidecarv1.RememberItem {
	return &memsidecarv1.RememberItem{Source: &memsidecarv1.RememberItem_Conversation{
		Conversation: &memsidecarv1.Conversation{Turns: turns},
	}}
}

// FactOf is a memory of a fact.
func FactOf(fact *memsidecarv1.Fact) *memsidecarv1.Memory {
	return &memsidecarv1.Memory{Body: &memsidecarv1.Memory_Fact{Fact: fact}}
}

// PreferenceOf is a memory of a standing wish.
func PreferenceOf(preference *memsidecarv1.Preference) *memsidecarv1.Memory {
	return &memsidecarv1.Memory{Body: &memsidecarv1.Memory_Preference{Preference: preference}}
}

// EntityOf is a memory that other memories point at.
func EntityOf(entity *memsidecarv1.Entity) *memsidecarv1.Memory {
	return &memsidecarv1.Memory{Body: &memsidecarv1.Memory_Entity{Entity: entity}}
}

// EpisodeOf is a memory of something that was said or that happened.
func EpisodeOf(episode *memsidecarv1.Episode) *memsidecarv1.Memory {
	return &memsidecarv1.Memory{Body: &memsidecarv1.Memory_Episode{Episode: episode}}
}

// ProcedureOf is a memory of a way of doing something.
func ProcedureOf(procedure *memsidecarv1.Procedure) *memsidecarv1.Memory {
	return &memsidecarv1.Memory{Body: &memsidecarv1.Memory_Procedure{Procedure: procedure}}
}

// TextOf is the sentence that a memory is searched by and that a prompt shows.
func TextOf(memory *memsidecarv1.Memory) string {
	switch body := memory.GetBody().(type) {
	case *memsidecarv1.Memory_Fact:
		return body.Fact.GetStatement()
	case *memsidecarv1.Memory_Preference:
		return body.Preference.GetStatement()
	case *memsidecarv1.Memory_Entity:
		if summary := body.Entity.GetSummary(); summary != "" {
			return body.Entity.GetDisplayName() + ": " + summary
		}
		return body.Entity.GetDisplayName()
	case *memsidecarv1.Memory_Episode:
		return body.Episode.GetText()
	case *memsidecarv1.Memory_Procedure:
		return body.Procedure.GetStatement()
	}
	return ""
}

// batches gives the items in order, in groups that fit one message. One too large for
// any goes alone; the server refuses it.
func batches(items []*memsidecarv1.RememberItem) iter.Seq[[]*memsidecarv1.RememberItem] {
	return func(yield func([]*memsidecarv1.RememberItem) bool) {
		begin, size, texts := 0, 0, 0
		for i, item := range items {
			itemSize := proto.Size(item) + itemFramingBytes
			// A turn of a conversation counts as an item.
			itemTexts := max(1, len(item.GetConversation().GetTurns()))
			if i > begin && (texts+itemTexts > maxBatchItems || size+itemSize > maxBatchBytes) {
				if !yield(items[begin:i]) {
					return
				}
				begin, size, texts = i, 0, 0
			}
			size += itemSize
			texts += itemTexts
		}
		if begin < len(items) {
			yield(items[begin:])
		}
	}
}
