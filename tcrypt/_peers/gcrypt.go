//go:build !nogcrypt

package main

/*
#cgo pkg-config: libgcrypt
#include <gcrypt.h>
#include <stdlib.h>
#include <string.h>

enum mode { // as modeNumber has them
	ECB, CBC, CTR, XTS, BLOCKS, CHAIN
};

static const char *gcrypt_start(const char *disable) {
	if (*disable && gcry_control(GCRYCTL_DISABLE_HWF, disable, NULL))
		return NULL;
	const char *version = gcry_check_version(NULL);
	gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
	gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
	return version;
}

static gcry_error_t gcrypt_open(gcry_cipher_hd_t *h, const char *name, int mode, const unsigned char *key, size_t len) {
	static const int modes[] = {
		GCRY_CIPHER_MODE_ECB, GCRY_CIPHER_MODE_CBC, GCRY_CIPHER_MODE_CTR, GCRY_CIPHER_MODE_XTS,
		GCRY_CIPHER_MODE_ECB, GCRY_CIPHER_MODE_ECB,
	};
	gcry_error_t err = gcry_cipher_open(h, gcry_cipher_map_name(name), modes[mode], 0);
	if (err)
		return err;
	return gcry_cipher_setkey(*h, key, len);
}

static gcry_error_t gcrypt_run(gcry_cipher_hd_t h, int mode, int decrypt, unsigned char *dst, const unsigned char *src,
                        size_t size, const unsigned char *iv, long n) {
	gcry_error_t (*crypt)(gcry_cipher_hd_t, void *, size_t, const void *, size_t) =
		decrypt ? gcry_cipher_decrypt : gcry_cipher_encrypt;
	gcry_error_t err = 0;
	if (mode == CHAIN)
		memcpy(dst, src, 16);
	for (; n > 0; n--) {
		switch (mode) {
		case CHAIN:
			err |= crypt(h, dst, 16, NULL, 0);
			break;
		case BLOCKS:
			for (size_t i = 0; i < size; i += 16)
				err |= crypt(h, dst + i, 16, src + i, 16);
			break;
		case CTR:
			err |= gcry_cipher_setctr(h, iv, 16);
			err |= crypt(h, dst, size, src, size);
			break;
		case CBC:
		case XTS:
			err |= gcry_cipher_setiv(h, iv, 16);
			// fallthrough
		default:
			err |= crypt(h, dst, size, src, size);
		}
	}
	return err;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unsafe"
)

func init() {
	peers = append(peers, peer{name: gcrypt, open: gcryptOpen, version: func() string {
		v, _ := startGcrypt()
		return v
	}})
}

// startGcrypt initialises the library once. The features to leave out are those
// of the flag; libgcrypt looks at them only here.
var startGcrypt = sync.OnceValues(func() (string, error) {
	list := C.CString(*gcryptDisable)
	defer C.free(unsafe.Pointer(list))
	v := C.gcrypt_start(list)
	if v == nil {
		return "", fmt.Errorf("cannot start with hardware features %q left out", *gcryptDisable)
	}
	return C.GoString(v), nil
})

// gcryptOpen has every cipher and mode but Twofish with 192 bits. Its ECB calls the cipher's one-block
// function for every block: for Camellia that is C, whatever the CPU has.
func gcryptOpen(j job) (*runner, error) {
	if _, err := startGcrypt(); err != nil {
		return nil, err
	}
	name := strings.ToUpper(j.cipher)
	switch {
	case j.cipher == "twofish" && j.bits == 192:
		return nil, errNotOffered
	case j.cipher == "twofish" && j.bits == 256:
	case j.cipher == "aes" && j.bits == 128:
	default:
		name += fmt.Sprint(j.bits)
	}
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	var h C.gcry_cipher_hd_t
	key, mode := j.key(), C.int(modeNumber(j.mode))
	if err := C.gcrypt_open(&h, cname, mode, (*C.uchar)(&key[0]), C.size_t(len(key))); err != 0 {
		return nil, gcryptError(err)
	}
	var iv *C.uchar
	if v := j.iv(); v != nil {
		iv = (*C.uchar)(C.CBytes(v))
	}
	decrypt := cbool[C.int](j.decrypt)
	return &runner{
		run: func(dst, src []byte, n int) error {
			if err := C.gcrypt_run(h, mode, decrypt, (*C.uchar)(&dst[0]), (*C.uchar)(&src[0]), C.size_t(len(src)), iv, C.long(n)); err != 0 {
				return gcryptError(err)
			}
			return nil
		},
		free: func() {
			C.gcry_cipher_close(h)
			C.free(unsafe.Pointer(iv))
		},
	}, nil
}

func gcryptError(err C.gcry_error_t) error {
	return errors.New(C.GoString(C.gcry_strerror(err)))
}
