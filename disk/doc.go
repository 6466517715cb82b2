// Package disk reads and writes encrypted disks and containers: the sector
// ciphers of dm-crypt by their names, and the volume formats that use them.
//
// It is for programs that must get at data in such volumes without the kernel
// that made them: readers of images, forensics, backup. To protect files of your
// own choose an authenticated mode of package nway: nothing here notices that
// somebody has changed the ciphertext.
//
// A [SectorCipher] encrypts runs of sectors, as "serpent-xts-plain64" says. A
// [Device] is such a cipher over a file or block device and reads and writes at
// any offset.
package disk
