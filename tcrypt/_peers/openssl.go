//go:build !noopenssl

package main

/*
#cgo pkg-config: libcrypto
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/aes.h>
#include <openssl/camellia.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include "peers.h"

static int evp_open(EVP_CIPHER_CTX **ctx, const char *name, int mode, int decrypt, const unsigned char *key, const unsigned char *iv, int iv_len) {
	EVP_CIPHER *c = EVP_CIPHER_fetch(NULL, name, NULL);
	if (!c)
		return -1;
	*ctx = EVP_CIPHER_CTX_new();
	int ok = *ctx && EVP_CipherInit_ex(*ctx, c, NULL, NULL, NULL, !decrypt);
	unsigned char tag[TAG] = {0};
	if (mode >= GCM) // ccm wants to know the sizes before the key
		ok = ok && EVP_CIPHER_CTX_ctrl(*ctx, EVP_CTRL_AEAD_SET_IVLEN, iv_len, NULL)
			&& (mode == GCM || EVP_CIPHER_CTX_ctrl(*ctx, EVP_CTRL_AEAD_SET_TAG, TAG, decrypt ? tag : NULL));
	ok = ok && EVP_CipherInit_ex(*ctx, NULL, NULL, key, iv, -1) && EVP_CIPHER_CTX_set_padding(*ctx, 0);
	EVP_CIPHER_free(c);
	return ok;
}

static int evp_run(EVP_CIPHER_CTX *ctx, int mode, unsigned char *dst, const unsigned char *src, int size, const unsigned char *iv, long n) {
	int len, ok = 1;
	if (mode == CHAIN)
		memcpy(dst, src, 16);
	for (; n > 0; n--) {
		switch (mode) {
		case CHAIN:
			ok &= EVP_CipherUpdate(ctx, dst, &len, dst, 16);
			break;
		case BLOCKS:
			for (int i = 0; i < size; i += 16)
				ok &= EVP_CipherUpdate(ctx, dst + i, &len, src + i, 16);
			break;
		default:
			if (iv)
				ok &= EVP_CipherInit_ex(ctx, NULL, NULL, NULL, iv, -1);
			ok &= EVP_CipherUpdate(ctx, dst, &len, src, size) && len == size;
		}
	}
	return ok;
}

static int evp_aead(EVP_CIPHER_CTX *ctx, int mode, int op, unsigned char *dst, const unsigned char *src, int size, int put_back,
                        unsigned char *nonce, size_t nonce_len, long n) {
	int len, ok = 1;
	for (; n > 0 && ok; n--) {
		struct message m = message(mode, op, dst, src, size, put_back, nonce, nonce_len);
		if (op == DEC) // before the nonce, which ccm wants
			ok &= EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG, m.tag);
		ok &= EVP_CipherInit_ex(ctx, NULL, NULL, NULL, nonce, -1);
		if (op == AUTH) {
			ok &= EVP_CipherUpdate(ctx, NULL, &len, m.in, size);
			len = 0;
		} else {
			if (mode == CCM)
				ok &= EVP_CipherUpdate(ctx, NULL, &len, NULL, size);
			ok &= EVP_CipherUpdate(ctx, m.out, &len, m.in, size);
		}
		if (mode != CCM)
			ok &= EVP_CipherFinal_ex(ctx, m.out + len, &len);
		if (op != DEC)
			ok &= EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TAG, m.tag);
		done(m, op, dst);
	}
	return ok;
}

// The two ciphers whose one-block functions are there to call.
union low_key {
	AES_KEY aes;
	CAMELLIA_KEY camellia;
};

static union low_key *low_open(int aes, int decrypt, const unsigned char *key, int bits) {
	union low_key *k = calloc(1, sizeof *k);
	if (!k)
		abort();
	if (!aes)
		Camellia_set_key(key, bits, &k->camellia);
	else if (decrypt)
		AES_set_decrypt_key(key, bits, &k->aes);
	else
		AES_set_encrypt_key(key, bits, &k->aes);
	return k;
}

#define LOOP(function, key) \
	if (mode == CHAIN) \
		for (; n > 0; n--) \
			function(dst, dst, key); \
	else \
		for (; n > 0; n--) \
			for (size_t i = 0; i < size; i += 16) \
				function(src + i, dst + i, key)

static void low_run(union low_key *k, int aes, int decrypt, int mode, unsigned char *dst, const unsigned char *src, size_t size, long n) {
	if (mode == CHAIN)
		memcpy(dst, src, 16);
	if (aes && decrypt) {
		LOOP(AES_decrypt, &k->aes);
	} else if (aes) {
		LOOP(AES_encrypt, &k->aes);
	} else if (decrypt) {
		LOOP(Camellia_decrypt, &k->camellia);
	} else {
		LOOP(Camellia_encrypt, &k->camellia);
	}
}
*/
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"
)

func init() {
	peers = append(peers,
		peer{name: openssl, open: evpOpen, version: func() string {
			return C.GoString(C.OpenSSL_version(C.OPENSSL_VERSION_STRING))
		}},
		peer{name: opensslLow, open: lowOpen},
	)
}

var errOpenSSL = errors.New("a call failed")

// evpOpen is the front door of OpenSSL. It has no Serpent and no Twofish, and of
// Camellia neither XTS nor anything that authenticates; of AES gcm, ccm and ocb. ccm
// takes no associated data without text.
func evpOpen(j job) (*runner, error) {
	if j.cipher != "aes" && j.cipher != "camellia" {
		return nil, errNotOffered
	}
	if j.aead() && (!slices.Contains([]string{gcm, ccm, ocb}, j.mode) || j.mode == ccm && j.op == auth) {
		return nil, errNotOffered
	}
	mode := j.mode
	if mode == blocks || mode == chain {
		mode = ecb
	}
	name := C.CString(fmt.Sprintf("%s-%d-%s", strings.ToUpper(j.cipher), j.bits, strings.ToUpper(mode)))
	defer C.free(unsafe.Pointer(name))
	var iv *C.uchar
	if v := j.iv(); v != nil {
		iv = (*C.uchar)(C.CBytes(v))
	}
	key := j.key()
	var ctx *C.EVP_CIPHER_CTX
	number, ivLen := C.int(modeNumber(j.mode)), len(j.iv())
	switch C.evp_open(&ctx, name, number, cbool[C.int](j.decrypt()), (*C.uchar)(&key[0]), iv, C.int(ivLen)) {
	case -1:
		C.free(unsafe.Pointer(iv))
		return nil, errNotOffered
	case 0:
		C.free(unsafe.Pointer(iv))
		C.EVP_CIPHER_CTX_free(ctx)
		return nil, errOpenSSL
	}
	free := func() {
		C.EVP_CIPHER_CTX_free(ctx)
		C.free(unsafe.Pointer(iv))
	}
	if j.aead() {
		op := C.int(opNumber(j.op))
		r := &runner{free: free}
		r.run = func(dst, src []byte, n int) error {
			if C.evp_aead(ctx, number, op, (*C.uchar)(&dst[0]), (*C.uchar)(&src[0]), C.int(j.text(src)), cbool[C.int](r.putBack), iv, C.size_t(ivLen), C.long(n)) == 0 {
				return errOpenSSL
			}
			return nil
		}
		return r, nil
	}
	return &runner{
		run: func(dst, src []byte, n int) error {
			if C.evp_run(ctx, number, (*C.uchar)(&dst[0]), (*C.uchar)(&src[0]), C.int(len(src)), iv, C.long(n)) == 0 {
				return errOpenSSL
			}
			return nil
		},
		free: free,
	}, nil
}

// lowOpen calls the one-block functions of old: AES_encrypt, which uses tables
// on every CPU, and Camellia_encrypt.
func lowOpen(j job) (*runner, error) {
	if j.cipher != "aes" && j.cipher != "camellia" || j.mode != ecb && j.mode != blocks && j.mode != chain {
		return nil, errNotOffered
	}
	key := j.key()
	aes, decrypt, mode := cbool[C.int](j.cipher == "aes"), cbool[C.int](j.decrypt()), C.int(modeNumber(j.mode))
	k := C.low_open(aes, decrypt, (*C.uchar)(&key[0]), C.int(j.bits))
	return &runner{
		run: func(dst, src []byte, n int) error {
			C.low_run(k, aes, decrypt, mode, (*C.uchar)(&dst[0]), (*C.uchar)(&src[0]), C.size_t(len(src)), C.long(n))
			return nil
		},
		free: func() { C.free(unsafe.Pointer(k)) },
	}, nil
}
