//go:build !nobotan

package main

/*
#cgo CFLAGS: -I/usr/include/botan-2 -I/usr/local/include/botan-2
#cgo LDFLAGS: -lbotan-2
#include <botan/ffi.h>
#include <stdlib.h>
#include <string.h>

struct botan {
	botan_cipher_t mode;         // of a mode with an iv
	botan_block_cipher_t blocks; // else
	int chain, one, decrypt;
	const uint8_t *iv;
};

static void botan_close(struct botan *b) {
	if (b->mode)
		botan_cipher_destroy(b->mode);
	if (b->blocks)
		botan_block_cipher_destroy(b->blocks);
	free((void *)b->iv);
	free(b);
}

// botan_open opens a mode if iv is given, else a block cipher.
static int botan_open(struct botan **out, const char *name, int decrypt, const uint8_t *key, size_t len, const uint8_t *iv) {
	struct botan *b = calloc(1, sizeof *b);
	if (!b)
		abort();
	b->decrypt = decrypt;
	b->iv = iv;
	int err;
	if (iv) {
		if (!(err = botan_cipher_init(&b->mode, name, decrypt ? BOTAN_CIPHER_INIT_FLAG_DECRYPT : BOTAN_CIPHER_INIT_FLAG_ENCRYPT)))
			err = botan_cipher_set_key(b->mode, key, len);
	} else if (!(err = botan_block_cipher_init(&b->blocks, name))) {
		err = botan_block_cipher_set_key(b->blocks, key, len);
	}
	if (err)
		botan_close(b);
	else
		*out = b;
	return err;
}

static int botan_run(struct botan *b, uint8_t *dst, const uint8_t *src, size_t size, long n) {
	int (*crypt)(botan_block_cipher_t, const uint8_t *, uint8_t *, size_t) =
		b->decrypt ? botan_block_cipher_decrypt_blocks : botan_block_cipher_encrypt_blocks;
	int err = 0;
	if (b->chain)
		memcpy(dst, src, 16);
	for (; n > 0 && !err; n--) {
		if (b->mode) {
			size_t written, consumed;
			if (!(err = botan_cipher_start(b->mode, b->iv, 16)))
				err = botan_cipher_update(b->mode, BOTAN_CIPHER_UPDATE_FLAG_FINAL, dst, size, &written, src, size, &consumed);
		} else if (b->chain) {
			err = crypt(b->blocks, dst, dst, 1);
		} else if (b->one) {
			for (size_t i = 0; i < size && !err; i += 16)
				err = crypt(b->blocks, src + i, dst + i, 1);
		} else {
			err = crypt(b->blocks, src, dst, size / 16);
		}
	}
	return err;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

func init() {
	peers = append(peers, peer{name: botan, open: botanOpen, version: func() string {
		return fmt.Sprintf("%d.%d.%d", C.botan_version_major(), C.botan_version_minor(), C.botan_version_patch())
	}})
}

// botanOpen has every cipher and mode. Those with an iv go through the C interface's
// cipher objects, which copy the data once more than the C++ ones do.
func botanOpen(j job) (*runner, error) {
	name := map[string]string{
		"aes": fmt.Sprintf("AES-%d", j.bits), "camellia": fmt.Sprintf("Camellia-%d", j.bits), "serpent": "Serpent", "twofish": "Twofish",
	}[j.cipher]
	switch j.mode {
	case cbc:
		name += "/CBC/NoPadding"
	case ctr:
		name = "CTR-BE(" + name + ")"
	case xts:
		name += "/XTS"
	}
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	key := j.key()
	var iv *C.uint8_t
	if v := j.iv(); v != nil {
		iv = (*C.uint8_t)(C.CBytes(v))
	}
	var b *C.struct_botan
	if err := C.botan_open(&b, cname, cbool[C.int](j.decrypt), (*C.uint8_t)(&key[0]), C.size_t(len(key)), iv); err != 0 {
		return nil, botanError(name, err)
	}
	b.chain, b.one = cbool[C.int](j.mode == chain), cbool[C.int](j.mode == blocks)
	return &runner{
		run: func(dst, src []byte, n int) error {
			if err := C.botan_run(b, (*C.uint8_t)(&dst[0]), (*C.uint8_t)(&src[0]), C.size_t(len(src)), C.long(n)); err != 0 {
				return botanError(name, err)
			}
			return nil
		},
		free: func() { C.botan_close(b) },
	}, nil
}

func botanError(name string, err C.int) error {
	return errors.New(name + ": " + C.GoString(C.botan_error_description(err)))
}
