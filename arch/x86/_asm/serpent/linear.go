package main

import "github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"

// linear is the linear transform of encryption with the next round's key added
// where it is off the longest chain: words 0 and 2 before the rotation that ends
// them, for which the keys have been rotated back.
func linear(b *avox.Builder, y, k [4]avox.Value) [4]avox.Value {
	x0, x2 := b.Rol(y[0], 13), b.Rol(y[2], 3)
	x1 := b.Rol(b.Xor(y[1], x0, x2), 1)
	x3 := b.Rol(b.Xor(y[3], x2, b.Shl(x0, 3)), 7)
	z0 := b.Rol(b.Xor(x0, k[0], x1, x3), 5)
	z2 := b.Rol(b.Xor(x2, k[2], x3, b.Shl(x1, 7)), 22)
	return [4]avox.Value{z0, b.Xor(x1, k[1]), z2, b.Xor(x3, k[3])}
}

// inverse is the inverse of the linear transform with the key of the round
// before it, which encryption added just before its own transform, carried
// through: what is added here are rotated sums of key words.
func inverse(b *avox.Builder, y, k [4]avox.Value) [4]avox.Value {
	x2 := b.Xor(b.Rol(y[2], -22), b.Shl(y[1], 7), y[3], k[2])
	x0 := b.Xor(b.Rol(y[0], -5), y[1], y[3], k[0])
	x3 := b.Xor(b.Rol(y[3], -7), k[3], x2, b.Shl(x0, 3))
	x1 := b.Xor(b.Rol(y[1], -1), k[1], x0, x2)
	return [4]avox.Value{b.Rol(x0, -13), x1, b.Rol(x2, -3), x3}
}
