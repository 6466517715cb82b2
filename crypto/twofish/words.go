package twofish

// KeyWord returns what eight bytes of a key contribute to the key-dependent
// boxes: their product with the RS matrix, a word of the paper's list S, low byte
// first. It takes the same time for all keys. It is for drivers that have a key
// set-up of their own.
func KeyWord(m *[8]byte) [4]uint8 { return reedSolomon(m[:]) }
