package memsidecar

import (
	"unicode/utf8"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// textPiece is one delta. The ends count from the beginning of all text.
type textPiece struct {
	text      string
	source    memsidecarv1.TextSource
	endBytes  int
	endPoints int
}

// wholePoints splits bytes that a model may have cut in the middle of a character: what
// is whole, and the begin of one that may be completed later. ok is false for bytes that
// are no UTF-8 whatever follows.
func wholePoints(text string) (whole, rest string, ok bool) {
	if utf8.ValidString(text) {
		return text, "", true
	}
	for tail := 1; tail < utf8.UTFMax && tail <= len(text); tail++ {
		begun := text[len(text)-tail:]
		if utf8.RuneStart(begun[0]) {
			whole = text[:len(text)-tail]
			return whole, begun, utf8.ValidString(whole) && !utf8.FullRuneInString(begun)
		}
	}
	return "", "", false
}

// byteOffset converts an offset in code points, 0 to all, into one in bytes.
func byteOffset(text string, points int) int {
	if points <= 0 {
		return 0
	}
	for at := range text {
		if points == 0 {
			return at
		}
		points--
	}
	return len(text)
}

// cutAt is the largest offset up to limit at which no character is cut.
func cutAt(text string, limit int) int {
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return limit
}
