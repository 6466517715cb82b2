// Package alias checks how buffers overlap and holds the argument checks that
// every block cipher of this module makes. It is internal and carries no
// compatibility promise.
package alias

import "unsafe"

// AnyOverlap reports whether x and y share memory at any index. Memory beyond
// the slices' lengths is ignored.
func AnyOverlap(x, y []byte) bool {
	return len(x) > 0 && len(y) > 0 &&
		uintptr(unsafe.Pointer(&x[0])) <= uintptr(unsafe.Pointer(&y[len(y)-1])) &&
		uintptr(unsafe.Pointer(&y[0])) <= uintptr(unsafe.Pointer(&x[len(x)-1]))
}

// InexactOverlap reports whether x and y share memory without starting at the
// same byte. Working in place (the same start) is fine for every cipher here;
// any other overlap is not.
func InexactOverlap(x, y []byte) bool {
	if len(x) == 0 || len(y) == 0 || &x[0] == &y[0] {
		return false
	}
	return AnyOverlap(x, y)
}

// Block checks the arguments of a one-block call the way crypto/aes does and
// panics, naming pkg, if src or dst is shorter than one 16-byte block or if
// they overlap inexactly. It is small enough to be inlined.
func Block(pkg string, dst, src []byte) {
	// Two blocks overlap if their addresses are less than 16 apart.
	apart := uintptr(unsafe.Pointer(unsafe.SliceData(dst))) - uintptr(unsafe.Pointer(unsafe.SliceData(src)))
	if len(src) < 16 || len(dst) < 16 || apart != 0 && apart+15 < 31 {
		blockPanic(pkg, dst, src)
	}
}

//go:noinline
func blockPanic(pkg string, dst, src []byte) {
	switch {
	case len(src) < 16:
		panic(pkg + ": input not full block")
	case len(dst) < 16:
		panic(pkg + ": output not full block")
	}
	panic(pkg + ": invalid buffer overlap")
}

// Blocks checks the arguments of a many-block call and panics, naming pkg, if
// src is not a whole number of 16-byte blocks, if dst is shorter than src, or
// if they overlap inexactly. An empty src is fine.
func Blocks(pkg string, dst, src []byte) {
	// Buffers are apart if each begins behind the other's end, modulo 2^64.
	apart := uintptr(unsafe.Pointer(unsafe.SliceData(dst))) - uintptr(unsafe.Pointer(unsafe.SliceData(src)))
	n := uintptr(len(src))
	if n%16 != 0 || len(dst) < len(src) || apart != 0 && (apart < n || -apart < n) {
		blocksPanic(pkg, dst, src)
	}
}

//go:noinline
func blocksPanic(pkg string, dst, src []byte) {
	switch {
	case len(src)%16 != 0:
		panic(pkg + ": input not full blocks")
	case len(dst) < len(src):
		panic(pkg + ": output smaller than input")
	}
	panic(pkg + ": invalid buffer overlap")
}
