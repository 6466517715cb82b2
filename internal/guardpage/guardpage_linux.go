package guardpage

import (
	"fmt"
	"syscall"
)

// Alloc returns memory for at least n bytes, all zero, between two pages that
// cannot be accessed. For n = 0 there is one accessible page. The error is that
// of the system. The memory is outside of Go's heap and stays until Free.
func Alloc(n int) (*Buf, error) {
	if n < 0 {
		return nil, fmt.Errorf("guardpage: negative length %d", n)
	}
	page := syscall.Getpagesize()
	size := max((n+page-1)/page*page, page)
	whole, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("guardpage: mmap: %w", err)
	}
	inner := whole[page : page+size : page+size]
	if err := syscall.Mprotect(inner, syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
		_ = syscall.Munmap(whole)
		return nil, fmt.Errorf("guardpage: mprotect: %w", err)
	}
	return &Buf{whole: whole, inner: inner}, nil
}

// ReadOnly makes the memory readable only, so that a write to it faults.
func (b *Buf) ReadOnly() error {
	if err := syscall.Mprotect(b.inner, syscall.PROT_READ); err != nil {
		return fmt.Errorf("guardpage: mprotect: %w", err)
	}
	return nil
}

// Free gives the memory back. No slice of it may be used afterwards. It may be
// called again.
func (b *Buf) Free() error {
	if b.whole == nil {
		return nil
	}
	if err := syscall.Munmap(b.whole); err != nil {
		return fmt.Errorf("guardpage: munmap: %w", err)
	}
	*b = Buf{}
	return nil
}
