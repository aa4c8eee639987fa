package memsidecar

import (
	"strconv"
	"time"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// After so much silence a stream that may have to take something back says that it is
// there. The server's usual limit is five minutes; a lower one is learned when it ends a
// stream.
const keepaliveAfter = time.Minute

// nextOrSign is next, and on a stream that is watched a flush of nothing as a sign of
// life.
func (s *script) nextOrSign(now time.Time, isWatched bool) *memsidecarv1.RecallDuringRequest {
	message := s.next(now)
	if message == nil && isWatched && !s.finishSent && now.Sub(s.saidAt) >= s.keepalive {
		message = flushMessage()
	}
	if message != nil {
		s.saidAt = now
	}
	return message
}

// dueOrSign is when nextOrSign has something to give if nothing else happens.
func (s *script) dueOrSign(isWatched bool) (at time.Time, isPending bool) {
	if s.finishSent {
		return time.Time{}, false
	}
	at, isPending = s.due()
	if life := s.saidAt.Add(s.keepalive); isWatched && (!isPending || life.Before(at)) {
		return life, true
	}
	return at, isPending
}

// bear learns the silence that a server bears which has ended a stream as idle.
func (s *script) bear(idle *Error) {
	limit, err := strconv.ParseFloat(idle.Metadata["idle_seconds"], 64)
	if borne := time.Duration(limit * float64(time.Second)); err == nil && borne < s.keepalive {
		s.keepalive = borne
	}
	s.keepalive /= 2
}

func flushMessage() *memsidecarv1.RecallDuringRequest {
	return &memsidecarv1.RecallDuringRequest{Event: &memsidecarv1.RecallDuringRequest_Flush{
		Flush: &memsidecarv1.Flush{},
	}}
}
