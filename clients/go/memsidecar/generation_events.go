package memsidecar

import (
	"time"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// GenerationEvent is one of *Recalled, *Retracted, *Watermark, *Backoff, *Draining and
// *Resumed.
type GenerationEvent interface{ generationEvent() }

// Recalled is a memory that has become relevant. Each comes once, and once more when it
// was retracted because its text has changed.
type Recalled struct {
	Hit *memsidecarv1.Hit
	// TriggerSeq is the piece of text that brought it up, 0 the prompt.
	TriggerSeq int64
	// Start and End are the text that it was searched with, in bytes: of all text fed so
	// far, or of the prompt. The contract counts code points; this client converts them.
	Start, End int
	// RemainingCredit is how many more hits the server may send.
	RemainingCredit int32
}

// Retracted takes back a memory that is no longer true.
type Retracted struct {
	// Memory is its resource name.
	Memory string
	Reason memsidecarv1.RetractionReason
	// Successor holds instead: another memory or, after an update, the same one in its
	// present form. Nil without one.
	Successor *memsidecarv1.Memory
	// Hit is what had been sent; nil for a memory that was known from the start.
	Hit *memsidecarv1.Hit
}

// Watermark says that every piece of text up to Seq has been considered, and what was
// found in it has been sent.
type Watermark struct {
	Seq int64
	// Coalesced counts triggers that were answered by a later one.
	Coalesced int64
	// WithheldHits wait for credit.
	WithheldHits int32
	// Degraded: a source failed or was late.
	Degraded bool
}

// upTo is what it says of the pieces up to seq.
func (w *Watermark) upTo(seq int64) *Watermark {
	lower := *w
	lower.Seq = min(lower.Seq, seq)
	return &lower
}

// Backoff says that the server is busy; the stream sends larger pieces, less often, from
// now on.
type Backoff struct {
	MinChars    int32
	MinInterval time.Duration
	Reason      string
}

// Draining says that the server goes away within Grace. Finish by then, or go on: the
// stream moves to the next server by itself.
type Draining struct{ Grace time.Duration }

// Resumed says that the stream broke and goes on, on another call.
type Resumed struct {
	Terms *memsidecarv1.GenerationStarted
	// Away is how long nothing could be recalled.
	Away time.Duration
}

func (*Recalled) generationEvent()  {}
func (*Retracted) generationEvent() {}
func (*Watermark) generationEvent() {}
func (*Backoff) generationEvent()   {}
func (*Draining) generationEvent()  {}
func (*Resumed) generationEvent()   {}

// GenerationSummary is what came of a generation.
type GenerationSummary struct {
	// Recalled, Retracted and Resumed count over all of it.
	Recalled, Retracted, Resumed int
	// Evaluations and Coalesced are the server's counts since it was resumed last.
	Evaluations, Coalesced int64
	// EvaluatedSeq is how far the text was considered.
	EvaluatedSeq int64
	// Remembered are the names of the memories that finishing has stored.
	Remembered []string
	// SessionError is why the session has not got what was remembered, a reason as in
	// Error ("SESSION_ENDED"), or empty.
	SessionError string
	Revision     *memsidecarv1.Revision
}
