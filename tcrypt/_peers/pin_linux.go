package main

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// pin keeps the calling goroutine on one core from here on.
func pin(cpu int) error {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("cannot pin to core %d: %w", cpu, err)
	}
	return nil
}
