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
//
// [Open] opens a volume of LUKS1, LUKS2, TrueCrypt or VeraCrypt, and [OpenPlain] one
// of dm-crypt without a header; a [Volume] is a Device that knows what its header
// said. Headers are not trusted: every place and length in them is checked against
// the file, and [Limits] bound the work that they can ask for.
//
// [Create] makes volumes of LUKS, and [AddKey], [ChangeKey] and [RemoveKey] change
// their key slots, so that the volume opens wherever one of their writes may be the
// last. [BackupHeader] and [RestoreHeader] keep headers.
//
// Writing into the outer volume of TrueCrypt or VeraCrypt can destroy a hidden one
// inside of it: nothing here protects that.
package disk
