//go:build !linux

package main

import "errors"

func pin(int) error { return errors.New("cannot pin to a core on this system; use -cpu -1") }
