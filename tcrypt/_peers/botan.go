//go:build !nobotan

package main

/*
#cgo CFLAGS: -I/usr/include/botan-2 -I/usr/local/include/botan-2
#cgo LDFLAGS: -lbotan-2
#include <botan/ffi.h>
#include <stdlib.h>
#include "peers.h"

struct botan {
	botan_cipher_t mode;         // of a mode with an iv
	botan_block_cipher_t blocks; // else
	int chain, one, decrypt;
	uint8_t *iv;
};

static void botan_close(struct botan *b) {
	if (b->mode)
		botan_cipher_destroy(b->mode);
	if (b->blocks)
		botan_block_cipher_destroy(b->blocks);
	free(b->iv);
	free(b);
}

// botan_open opens a mode, or a block cipher; iv becomes the object's.
static int botan_open(struct botan **out, const char *name, int is_mode, int decrypt, const uint8_t *key, size_t len, uint8_t *iv) {
	struct botan *b = calloc(1, sizeof *b);
	if (!b)
		abort();
	b->decrypt = decrypt;
	b->iv = iv;
	int err;
	if (is_mode) {
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

// Associated data stays until there is other: only AUTH gives it for every message.
static int botan_aead(struct botan *b, int mode, int op, uint8_t *dst, const uint8_t *src, size_t size, int put_back, size_t nonce_len, long n) {
	int err = 0;
	if (mode == SIV && op != AUTH) // which counts an empty string
		err = botan_cipher_set_associated_data(b->mode, src, 0);
	for (; n > 0 && !err; n--) {
		const uint8_t *from = put_back ? memcpy(dst, src, size + TAG) : src;
		size_t in = op == AUTH ? 0 : op == DEC ? size + TAG : size;
		size_t out = op == DEC ? size : in + TAG;
		size_t written, consumed;
		if (op == AUTH && !(err = botan_cipher_reset(b->mode)))
			err = botan_cipher_set_associated_data(b->mode, src, size);
		if (!err && !(err = botan_cipher_start(b->mode, b->iv, nonce_len)))
			err = botan_cipher_update(b->mode, BOTAN_CIPHER_UPDATE_FLAG_FINAL, dst, out, &written, from, in, &consumed);
		if (op != DEC)
			for (size_t i = nonce_len; i-- > 0 && !++b->iv[i];)
				;
	}
	return err;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"
)

func init() {
	peers = append(peers, peer{name: botan, open: botanOpen, version: func() string {
		return fmt.Sprintf("%d.%d.%d", C.botan_version_major(), C.botan_version_minor(), C.botan_version_patch())
	}})
}

// botanOpen has every cipher and mode but gcm-siv. Those with an iv go through the C interface's
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
	case gcmSIV:
		return nil, errNotOffered
	}
	if j.aead() {
		name += "/" + strings.ToUpper(j.mode)
	}
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	key := j.key()
	var iv *C.uint8_t
	if v := j.iv(); v != nil {
		iv = (*C.uint8_t)(C.CBytes(v))
	}
	var b *C.struct_botan
	isMode := cbool[C.int](iv != nil || j.aead())
	if err := C.botan_open(&b, cname, isMode, cbool[C.int](j.decrypt()), (*C.uint8_t)(&key[0]), C.size_t(len(key)), iv); err != 0 {
		return nil, botanError(name, err)
	}
	if j.aead() {
		mode, op, ivLen := C.int(modeNumber(j.mode)), C.int(opNumber(j.op)), C.size_t(len(j.iv()))
		r := &runner{free: func() { C.botan_close(b) }}
		r.run = func(dst, src []byte, n int) error {
			if err := C.botan_aead(b, mode, op, (*C.uint8_t)(&dst[0]), (*C.uint8_t)(&src[0]), C.size_t(j.text(src)), cbool[C.int](r.putBack), ivLen, C.long(n)); err != 0 {
				return botanError(name, err)
			}
			return nil
		}
		return r, nil
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
