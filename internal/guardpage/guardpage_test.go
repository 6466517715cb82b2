package guardpage

import (
	"errors"
	"runtime"
	"runtime/debug"
	"testing"
	"unsafe"
)

func alloc(t *testing.T, n int) *Buf {
	t.Helper()
	b, err := Alloc(n)
	if errors.Is(err, errors.ErrUnsupported) && runtime.GOOS != "linux" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// faults reports whether f panics, because of a fault or otherwise.
func faults(f func()) (yes bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { yes = recover() != nil }()
	f()
	return false
}

// sink keeps reads from being optimised away.
var sink byte

// at returns the byte at an offset from the first byte of s, also outside.
//
//go:nosplit
func at(s []byte, offset int) *byte {
	return (*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), offset))
}

func TestGuards(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 4095, 4096, 4097, 70000} {
		b := alloc(t, n)
		if b.Cap() < n || b.Cap() == 0 {
			t.Errorf("Alloc(%d) has %d bytes", n, b.Cap())
		}
		end, start := b.End(n), b.Start(n)
		if len(end) != n || cap(end) != n || len(start) != n || cap(start) != n {
			t.Errorf("%d: lengths %d, %d, capacities %d, %d", n, len(end), len(start), cap(end), cap(start))
		}
		for i := range n {
			if end[i] != 0 || start[i] != 0 {
				t.Fatalf("%d: byte %d is not zero", n, i)
			}
		}
		for i := range n {
			end[i], start[i] = 1, 1
		}
		if n == 0 { // then the slices have no address of their own
			end, start = b.End(b.Cap()), b.Start(b.Cap())
			n = b.Cap()
		}
		for name, f := range map[string]func(){
			"read behind":  func() { sink = *at(end, n) },
			"write behind": func() { *at(end, n) = 1 },
			"read before":  func() { sink = *at(start, -1) },
			"write before": func() { *at(start, -1) = 1 },
		} {
			if !faults(f) {
				t.Errorf("%d: %s did not fault", n, name)
			}
		}
		for name, f := range map[string]func(){
			"last":  func() { sink = *at(end, n-1); *at(end, n-1) = 2 },
			"first": func() { sink = *at(start, 0); *at(start, 0) = 2 },
		} {
			if faults(f) {
				t.Errorf("%d: the %s byte faulted", n, name)
			}
		}
		if err := b.Free(); err != nil {
			t.Error(err)
		}
		if err := b.Free(); err != nil {
			t.Errorf("second Free: %v", err)
		}
	}
}

func TestReadOnly(t *testing.T) {
	b := alloc(t, 100)
	defer b.Free()
	s := b.End(100)
	s[50] = 7
	if err := b.ReadOnly(); err != nil {
		t.Fatal(err)
	}
	if faults(func() { sink = s[50] }) || sink != 7 {
		t.Error("the memory cannot be read")
	}
	if !faults(func() { s[50] = 8 }) {
		t.Error("a write did not fault")
	}
}

func TestRange(t *testing.T) {
	b := alloc(t, 10)
	defer b.Free()
	for _, n := range []int{-1, b.Cap() + 1} {
		if !faults(func() { b.End(n) }) || !faults(func() { b.Start(n) }) {
			t.Errorf("a length of %d was accepted", n)
		}
	}
	if len(b.End(b.Cap())) != b.Cap() {
		t.Error("the whole memory was refused")
	}
	if runtime.GOOS == "linux" {
		if _, err := Alloc(-1); err == nil {
			t.Error("a negative length was accepted")
		}
	}
}
