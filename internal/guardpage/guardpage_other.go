//go:build !linux

package guardpage

import (
	"errors"
	"fmt"
)

// Alloc is not supported on this system: the error wraps
// [errors.ErrUnsupported].
func Alloc(n int) (*Buf, error) {
	return nil, fmt.Errorf("guardpage: %w on this system", errors.ErrUnsupported)
}

// ReadOnly is not supported on this system: the error wraps
// [errors.ErrUnsupported].
func (b *Buf) ReadOnly() error {
	return fmt.Errorf("guardpage: %w on this system", errors.ErrUnsupported)
}

// Free does nothing on this system.
func (b *Buf) Free() error { return nil }
