// Package algapi is the contract between ciphers, modes and the programs that
// ask for them by name: algorithm descriptors, the registry that chooses among
// providers by priority, the interfaces of keyed transforms, and the errors.
//
// It is for providers of ciphers and modes and for programs that keep a
// registry of their own. Everybody else wants package nway, whose default
// registry is filled and gated by self-tests already.
//
// A registry hands out nothing that its [Tester] has not passed. Without a
// tester every lookup fails.
//
// The shape follows the Linux kernel crypto API: generic names and driver
// names, priorities, templates such as xts(serpent), internal algorithms.
package algapi
