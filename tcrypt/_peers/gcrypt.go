//go:build !nogcrypt

package main

/*
#cgo pkg-config: libgcrypt
#include <gcrypt.h>
#include <stdlib.h>
#include "peers.h"

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
		GCRY_CIPHER_MODE_GCM, GCRY_CIPHER_MODE_CCM, GCRY_CIPHER_MODE_EAX, GCRY_CIPHER_MODE_OCB,
#if GCRYPT_VERSION_NUMBER >= 0x010a00
		GCRY_CIPHER_MODE_SIV, GCRY_CIPHER_MODE_GCM_SIV,
#endif
	};
	if ((size_t)mode >= sizeof modes / sizeof *modes)
		return GPG_ERR_INV_CIPHER_MODE;
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

static gcry_error_t gcrypt_aead(gcry_cipher_hd_t h, int mode, int op, unsigned char *dst, const unsigned char *src,
                        size_t size, int put_back, unsigned char *nonce, size_t nonce_len, long n) {
	gcry_error_t err = 0;
	for (; n > 0 && !err; n--) {
		struct message m = message(mode, op, dst, src, size, put_back, nonce, nonce_len);
		size_t text = op == AUTH ? 0 : size, ad = op == AUTH ? size : 0;
		int tag_first = mode == SIV || mode == GCM_SIV; // when it decrypts
		if (tag_first) // takes no nonce after another
			err |= gcry_cipher_reset(h);
		if (nonce_len)
			err |= gcry_cipher_setiv(h, nonce, nonce_len);
		if (mode == CCM) {
			uint64_t lengths[3] = {text, ad, TAG};
			err |= gcry_cipher_ctl(h, GCRYCTL_SET_CCM_LENGTHS, lengths, sizeof lengths);
		}
#if GCRYPT_VERSION_NUMBER >= 0x010a00
		if (op == DEC && tag_first)
			err |= gcry_cipher_set_decryption_tag(h, m.tag, TAG);
#endif
		if (ad || mode == SIV) // which counts an empty string
			err |= gcry_cipher_authenticate(h, m.in, ad);
		if (mode == OCB)
			err |= gcry_cipher_final(h);
		if (op == ENC || mode == OCB && op == AUTH) // which is not done before
			err |= gcry_cipher_encrypt(h, m.out, text, m.in, text);
		if (op == DEC)
			err |= gcry_cipher_decrypt(h, m.out, size, m.in, size);
		if (op != DEC)
			err |= gcry_cipher_gettag(h, m.tag, TAG);
		else if (!tag_first)
			err |= gcry_cipher_checktag(h, m.tag, TAG);
		done(m, op, dst);
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

// gcryptOpen has every cipher and mode but Twofish with 192 bits, and siv and gcm-siv
// from version 1.10 on. Its ECB calls the cipher's one-block
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
		if C.gcry_err_code(err) == C.GPG_ERR_INV_CIPHER_MODE {
			return nil, errNotOffered
		}
		return nil, gcryptError(err)
	}
	var iv *C.uchar
	if v := j.iv(); v != nil {
		iv = (*C.uchar)(C.CBytes(v))
	}
	free := func() {
		C.gcry_cipher_close(h)
		C.free(unsafe.Pointer(iv))
	}
	if j.aead() {
		op, ivLen := C.int(opNumber(j.op)), C.size_t(len(j.iv()))
		r := &runner{free: free}
		r.run = func(dst, src []byte, n int) error {
			if err := C.gcrypt_aead(h, mode, op, (*C.uchar)(&dst[0]), (*C.uchar)(&src[0]), C.size_t(j.text(src)), cbool[C.int](r.putBack), iv, ivLen, C.long(n)); err != 0 {
				return gcryptError(err)
			}
			return nil
		}
		return r, nil
	}
	decrypt := cbool[C.int](j.decrypt())
	return &runner{
		run: func(dst, src []byte, n int) error {
			if err := C.gcrypt_run(h, mode, decrypt, (*C.uchar)(&dst[0]), (*C.uchar)(&src[0]), C.size_t(len(src)), iv, C.long(n)); err != 0 {
				return gcryptError(err)
			}
			return nil
		},
		free: free,
	}, nil
}

func gcryptError(err C.gcry_error_t) error {
	return errors.New(C.GoString(C.gcry_strerror(err)))
}
