package memsidecar

import (
	"fmt"
	"slices"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

const (
	// The server's own default, counted here before it says so.
	defaultCredit = 16

	// English has four characters a token and more, Chinese about three bytes: never
	// fewer tokens than there are.
	bytesPerToken = 3
)

// inbox is what a generation has brought: the events that nobody has taken yet, and the
// memories that hold. Bounded by the hits that the stream may send at all: of every
// other kind of event only the newest waits.
type inbox struct {
	// What the application had before, by name.
	known map[string]knownMemory
	// Told of credit that has come free; nil leaves credit to the application.
	allow func(hits int32)

	waiting []GenerationEvent
	held    map[string]*memsidecarv1.Hit
	order   []string // of held, by arrival
	// Retracted for good: never to be sent again.
	gone map[string]bool

	batch, taken        int32
	over                bool
	credit              int32
	recalled, retracted int
	tokens              int
	arrived             chan struct{} // closed and replaced when something has come
}

func newInbox(known map[string]knownMemory, allow func(int32)) *inbox {
	return &inbox{
		known: known, allow: allow, held: map[string]*memsidecarv1.Hit{}, gone: map[string]bool{},
		batch: 1, credit: defaultCredit, arrived: make(chan struct{}),
	}
}

// settle is what the server has granted. Credit is renewed in halves of it: a message a
// hit would be many.
func (b *inbox) settle(initialCredit int32) {
	b.credit = initialCredit
	b.batch = max(1, initialCredit/2)
}

// seen are names that another call must not send: what holds first, as the most
// important.
func (b *inbox) seen() []string {
	names := slices.Clone(b.order)
	rest := sortedNames(b.known)
	for name := range b.gone {
		if _, known := b.known[name]; !known {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	for _, name := range rest {
		if b.held[name] == nil {
			names = append(names, name)
		}
	}
	return names
}

// found takes a memory. One that is here already gives its credit back.
func (b *inbox) found(event *Recalled) {
	name := event.Hit.GetMemory().GetName()
	b.credit = max(0, b.credit-1)
	if _, known := b.known[name]; known || b.held[name] != nil {
		b.renew()
		return
	}
	b.held[name] = event.Hit
	b.order = append(b.order, name)
	delete(b.gone, name)
	b.recalled++
	b.tokens += 1 + len(event.Hit.GetText())/bytesPerToken
	b.put(event)
}

func (b *inbox) takeBack(event *Retracted) {
	event.Hit = b.held[event.Memory]
	_, known := b.known[event.Memory]
	if event.Hit == nil && !known {
		return
	}
	delete(b.held, event.Memory)
	delete(b.known, event.Memory)
	b.order = slices.DeleteFunc(b.order, func(name string) bool { return name == event.Memory })
	if event.Reason != memsidecarv1.RetractionReason_RETRACTION_REASON_UPDATED {
		b.gone[event.Memory] = true
	}
	b.retracted++
	b.put(event)
}

// tell is any other event, of which only the newest of its kind matters.
func (b *inbox) tell(event GenerationEvent) {
	kind := fmt.Sprintf("%T", event)
	b.waiting = slices.DeleteFunc(b.waiting, func(before GenerationEvent) bool {
		return fmt.Sprintf("%T", before) == kind
	})
	b.put(event)
}

// rewound: a watermark that waits is not to speak of the text that will have the numbers
// after seq.
func (b *inbox) rewound(seq int64) {
	for i, event := range b.waiting {
		if mark, ok := event.(*Watermark); ok {
			b.waiting[i] = mark.upTo(seq)
		}
	}
}

func (b *inbox) end() {
	b.over = true
	b.announce()
}

// take is the oldest event, nil when there is none; taking a memory allows another one.
func (b *inbox) take() GenerationEvent {
	if len(b.waiting) == 0 {
		return nil
	}
	event := b.waiting[0]
	b.waiting = b.waiting[1:]
	if _, memory := event.(*Recalled); memory {
		b.renew()
	}
	return event
}

func (b *inbox) put(event GenerationEvent) {
	b.waiting = append(b.waiting, event)
	b.announce()
}

func (b *inbox) announce() {
	close(b.arrived)
	b.arrived = make(chan struct{})
}

func (b *inbox) renew() {
	b.taken++
	if b.allow != nil && !b.over && b.taken >= b.batch {
		allowed := b.taken
		b.taken = 0
		b.credit += allowed
		b.allow(allowed)
	}
}

func sortedNames(memories map[string]knownMemory) []string {
	names := make([]string, 0, len(memories))
	for name := range memories {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
