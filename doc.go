// Package nway gives bulk encryption by name: a program asks for an algorithm
// such as "xts(serpent)" and gets the fastest implementation that this CPU can
// run and that has just passed its self-tests.
//
// It is for programs that read or write the formats of disk encryption and file
// encryption tools (LUKS, VeraCrypt, KeePass, OpenPGP, Picocrypt), and for
// comparing ciphers. Who is free to choose, and needs nothing but AES-GCM or
// ChaCha20-Poly1305, should use the standard library.
//
// Ciphers are serpent, twofish, camellia and aes; modes are ecb, cbc, cts, cfb,
// cfb8, ofb, ctr, lrw, xts, essiv, and the MAC cmac. None of these modes
// authenticates data: whoever can change the ciphertext can change the
// plaintext. The modes that do are gcm, ccm, eax, ocb, siv and gcm-siv, by
// [NewAEAD].
//
//	c, err := nway.NewSkcipher("xts(serpent)", key) // 64 bytes: two 256-bit keys
//	...
//	err = c.EncryptSectors(dst, src, 0, 512)
//
// The names follow the Linux kernel: a cipher, a mode over it in parentheses, or
// the name of one driver in place of the cipher: xts(serpent-generic). [List]
// shows what there is.
//
// An object is made with its key, never changes afterwards and is safe for
// concurrent use; [Stream], [BlockMode], [Sealer], [Opener] and hashes are not. No
// call allocates memory in its steady state, except with [Workers], and for
// gcm-siv over aes-std, which cannot be given another key.
//
// Drivers that are not marked as constant time look up tables by secret data;
// [RequireConstantTime] refuses them. Wiping of keys is a best effort: the Go
// runtime may have moved or copied memory before.
package nway
