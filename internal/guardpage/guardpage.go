// Package guardpage gives tests buffers that end, or begin, exactly at memory
// that must not be touched, so that a read or write of a single byte too far
// faults.
//
// Use it as
//
//	b, err := guardpage.Alloc(len(msg))
//	if errors.Is(err, errors.ErrUnsupported) {
//		t.Skip(err)
//	}
//	defer b.Free()
//	src := b.End(len(msg)) // the byte behind src faults
//
// and call [runtime/debug.SetPanicOnFault] to turn a fault into a panic.
//
// It is internal and carries no compatibility promise.
package guardpage

// Buf is memory between two pages that cannot be accessed. It is not safe for
// concurrent use, but its slices may be used as any memory.
type Buf struct {
	whole []byte // with the guard pages
	inner []byte // without
}

// Cap returns the number of accessible bytes, a multiple of the page size.
func (b *Buf) Cap() int { return len(b.inner) }

// End returns n bytes that end where the memory ends: the byte behind the last
// cannot be accessed. The capacity of the slice is n. It panics if n is
// negative or more than [Buf.Cap].
func (b *Buf) End(n int) []byte {
	b.check(n)
	start := len(b.inner) - n
	return b.inner[start:len(b.inner):len(b.inner)]
}

// Start returns n bytes that begin where the memory begins: the byte before the
// first cannot be accessed. The capacity of the slice is n. It panics if n is
// negative or more than [Buf.Cap].
func (b *Buf) Start(n int) []byte {
	b.check(n)
	return b.inner[:n:n]
}

func (b *Buf) check(n int) {
	if n < 0 || n > len(b.inner) {
		panic("guardpage: length out of range")
	}
}
