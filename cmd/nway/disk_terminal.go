package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// restoreOnSignal has a signal that ends the program turn the terminal's echo on
// again first, until the function that it returns is called.
func restoreOnSignal(fd int, state *term.State) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			_ = term.Restore(fd, state)
			status := statusFailed
			if n, ok := s.(syscall.Signal); ok {
				status = statusSignal + int(n)
			}
			os.Exit(status)
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}
