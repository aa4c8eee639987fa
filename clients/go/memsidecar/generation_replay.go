package memsidecar

import (
	"sort"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// replay is for a call that replaces another: the seq of its first delta, and all text
// that is cut, in few messages. Credit that was not sent is forgotten: the start of the
// call grants all there is. flush asks for one again.
func (s *script) replay(flush bool) (first int, messages []*memsidecarv1.RecallDuringRequest) {
	var runs []textPiece
	s.joined = nil
	for i, piece := range s.pieces {
		last := len(runs) - 1
		if last >= 0 && runs[last].source == piece.source && len(runs[last].text)+len(piece.text) <= pieceBytes {
			runs[last].text += piece.text
			s.joined[last] = i + 1
			continue
		}
		runs = append(runs, textPiece{text: piece.text, source: piece.source})
		s.joined = append(s.joined, i+1)
	}
	s.sent, s.rewindsBefore = s.seq(), s.rewinds
	s.rewindTo, s.credit, s.flushing, s.replaceCall = nil, 0, flush, false
	first = s.seq() - len(runs) + 1
	for i, run := range runs {
		messages = append(messages, delta(first+i, run))
	}
	return first, messages
}

// ownSeq is the number that a piece has here; the server counts those that were joined
// for it in another way.
func (s *script) ownSeq(seq int64) int64 {
	offset := seq - int64(s.lastJoined()-len(s.joined)) - 1
	if offset >= 0 && offset < int64(len(s.joined)) {
		return int64(s.joined[offset])
	}
	return seq
}

func (s *script) lastJoined() int {
	if len(s.joined) == 0 {
		return 0
	}
	return s.joined[len(s.joined)-1]
}

// byteOffset converts an offset of the server's, in code points of all text that it was
// sent, into one in bytes. What was rewound since ends where the text ends.
func (s *script) byteOffset(points int64) int {
	at := sort.Search(s.seq(), func(i int) bool { return int64(s.pieces[i].endPoints) >= points })
	bytes, before := s.ends(min(at, s.seq()))
	if at == s.seq() {
		return bytes
	}
	return bytes + byteOffset(s.pieces[at].text, int(points)-before)
}
