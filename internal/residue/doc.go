// Package residue tells tests what a call leaves behind: in the vector registers,
// and in the part of the stack that it has given back.
//
// What is public is the same whatever the secrets are. [Compare] makes a call under
// several secrets, with all that is public unchanged, and fails if anything that is
// left differs: round keys, text, and every value in between, none of which the test
// has to know.
//
// Of register 15 the lower 16 bytes are out of sight, and out of everybody's reach:
// they are zero whenever Go code runs.
//
// It is internal and carries no compatibility promise.
package residue

//go:generate go -C ../../arch/x86/_asm run ./residue -out ../../../internal/residue
