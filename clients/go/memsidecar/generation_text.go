package memsidecar

import (
	"strings"
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
	whole, rest = splitPartial(text)
	return whole, rest, utf8.ValidString(whole)
}

// splitPartial is what comes before the begin of a character that may be completed later,
// and that begin.
func splitPartial(text string) (whole, rest string) {
	for tail := 1; tail < utf8.UTFMax && tail <= len(text); tail++ {
		begun := text[len(text)-tail:]
		if utf8.RuneStart(begun[0]) {
			if utf8.FullRuneInString(begun) {
				break
			}
			return text[:len(text)-tail], begun
		}
	}
	return text, ""
}

// sendable has U+FFFD for NUL, and for each run of bytes that are no UTF-8.
func sendable(text string) string {
	const replacement = string(utf8.RuneError)
	return strings.ReplaceAll(strings.ToValidUTF8(text, replacement), "\x00", replacement)
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
