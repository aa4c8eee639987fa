package memsidecar

import (
	"slices"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// knownMemory is what the application has of a memory, so that another stream can tell
// what has changed since.
type knownMemory struct {
	// As the application has it; nil when it gave a name only.
	form *memsidecarv1.Memory
	// Names of what it knows to be superseded, of the memory itself and what was read from
	// it; meaningless until somebody has said.
	superseded []string
	isSaid     bool
}

func knownHit(hit *memsidecarv1.Hit) knownMemory {
	known := knownMemory{form: hit.GetMemory(), isSaid: true}
	for _, standing := range hit.GetStandings() {
		if standing.GetState() == memsidecarv1.MemoryState_MEMORY_STATE_SUPERSEDED {
			known.superseded = append(known.superseded, standing.GetMemory())
		}
	}
	if known.form.GetState() == memsidecarv1.MemoryState_MEMORY_STATE_SUPERSEDED {
		known.superseded = append(known.superseded, known.form.GetName())
	}
	return known
}

func (k knownMemory) says(name string) bool { return slices.Contains(k.superseded, name) }

// knows is what the server takes to be known, where nobody has said.
func (b *inbox) knows(told []*memsidecarv1.KnownMemory) {
	for _, each := range told {
		if known, ok := b.known[each.GetMemory()]; ok && !known.isSaid {
			known.superseded, known.isSaid = each.GetSuperseded(), true
			b.known[each.GetMemory()] = known
		}
	}
}

// watched says whether there is anything that may have to be taken back.
func (b *inbox) watched() bool { return len(b.held) > 0 || len(b.known) > 0 }

// told is what the application takes to hold, by name; what was sent comes first.
func (b *inbox) told() (names []string, told map[string]knownMemory) {
	told = make(map[string]knownMemory, len(b.held)+len(b.known))
	for _, name := range b.order {
		names, told[name] = append(names, name), knownHit(b.held[name])
	}
	for _, name := range sortedNames(b.known) {
		if _, held := told[name]; !held {
			names = append(names, name)
		}
		told[name] = b.known[name]
	}
	return names, told
}

// toldNow is for a start: those of which somebody has said what is superseded.
func (b *inbox) toldNow() []*memsidecarv1.KnownMemory {
	var known []*memsidecarv1.KnownMemory
	names, told := b.told()
	for _, name := range names {
		if told[name].isSaid {
			known = append(known, &memsidecarv1.KnownMemory{Memory: name, Superseded: told[name].superseded})
		}
	}
	return known[:min(len(known), maxKnownMemories)]
}
