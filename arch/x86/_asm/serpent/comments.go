package main

import (
	"fmt"
	"log"

	"github.com/mmcloughlin/avo/build"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

// docs returns the documentation of a kernel's declaration.
func (k *kernel) docs() []string {
	verb := "encrypts"
	if k.decrypt {
		verb = "decrypts"
	}
	how := "one at a time in general registers"
	if k.machine.Encoding != avox.General {
		how = fmt.Sprintf("%d at a time in %s", k.width(), k.vectors())
	}
	return []string{
		fmt.Sprintf("%s %s blocks of src into dst, %s.", k.name, verb, how),
		"rk are the round keys in the order of use. Where they are not nil, pre is added",
		"before and post after. There must be at least one block.",
	}
}

// vectors says what a group of blocks is.
func (k *kernel) vectors() string {
	if k.groups == 1 {
		return fmt.Sprintf("one group of four vectors of %d bytes", k.machine.Width)
	}
	return fmt.Sprintf("%d groups of four vectors of %d bytes", k.groups, k.machine.Width)
}

// operations counts what a group's eight rounds with their linear transforms
// are made of.
func (k *kernel) operations() string {
	p := avox.NewProgram(k.machine)
	b := p.Builder()
	x := k.key(p, cursor, 0)
	gates := 0
	for i := range 8 {
		key := k.key(p, cursor, i+1)
		x = k.round(b, i, x, key)
		gates += len(k.box(i).Gates)
	}
	n := float64(len(b.List)) / 8
	return fmt.Sprintf("%.2f operations a round and group, %.2f of them gates of the S-box (circuits %s)", n, float64(gates)/8, k.set)
}

// comments writes the head of a function.
func (k *kernel) comments(c *build.Context, core *core) {
	var sum avox.Stats
	for _, p := range core.pieces()[1:3] {
		sum.Copies += p.Stats.Copies
		sum.Spills += p.Stats.Spills
		sum.Reloads += p.Stats.Reloads
		sum.WordLoads += p.Stats.WordLoads
	}
	if stats {
		log.Printf("%s: in eight rounds %d copies, %d spills, %d reloads, %d loads of keys; %d slots",
			k.name, sum.Copies, sum.Spills, sum.Reloads, sum.WordLoads, core.slots())
	}
	var l []string
	if k.machine.Encoding == avox.General {
		l = append(l, "Registers: R8 keys of the next eight rounds, R9 its last value, R11 pointers, "+
			"the state and temporaries in AX BX CX DX SI DI R10 R12 R13. All are clobbered.")
	} else {
		lanes := k.machine.Width / 4
		l = append(l, "Registers: AX rk, BX blocks left, CX post, DX pre, SI src, DI dst, R8 keys of "+
			"the next eight rounds, R9 its last value, R10 stack, R11 offset into all "+
			"buffers; R12 dst and R13 post during a padded batch. Words of the state and "+
			"temporaries take turns in the vector registers. All are clobbered.",
			fmt.Sprintf("Blocks: group g has blocks %d*g to %d*g+%d of a batch; lane i of word w has "+
				"word w of the block that is at i after a transposition within each 16 bytes.", lanes, lanes, lanes-1))
	}
	added := fmt.Sprintf("Eight rounds of all groups have %d copies", sum.Copies)
	if sum.Spills > 0 {
		added += fmt.Sprintf(", %d spills, %d reloads", sum.Spills, sum.Reloads)
	}
	if sum.WordLoads > 0 {
		added += fmt.Sprintf(", %d loads of key words", sum.WordLoads)
	}
	l = append(l, k.operations()+". "+added+" besides.")
	for _, text := range l {
		c.Comment(avox.Wrap(text)...)
	}
}
