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
#include <string.h>

enum mode { // as modeNumber has them
	ECB, CBC, CTR, XTS, BLOCKS, CHAIN
};

static int evp_open(EVP_CIPHER_CTX **ctx, const char *name, int decrypt, const unsigned char *key, const unsigned char *iv) {
	EVP_CIPHER *c = EVP_CIPHER_fetch(NULL, name, NULL);
	if (!c)
		return -1;
	*ctx = EVP_CIPHER_CTX_new();
	int ok = *ctx && EVP_CipherInit_ex(*ctx, c, NULL, key, iv, !decrypt) && EVP_CIPHER_CTX_set_padding(*ctx, 0);
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

// evpOpen is the front door of OpenSSL. It has no Serpent and no Twofish, and no
// XTS of Camellia.
func evpOpen(j job) (*runner, error) {
	if j.cipher != "aes" && j.cipher != "camellia" {
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
	switch C.evp_open(&ctx, name, cbool[C.int](j.decrypt), (*C.uchar)(&key[0]), iv) {
	case -1:
		C.free(unsafe.Pointer(iv))
		return nil, errNotOffered
	case 0:
		C.free(unsafe.Pointer(iv))
		C.EVP_CIPHER_CTX_free(ctx)
		return nil, errOpenSSL
	}
	number := C.int(modeNumber(j.mode))
	return &runner{
		run: func(dst, src []byte, n int) error {
			if C.evp_run(ctx, number, (*C.uchar)(&dst[0]), (*C.uchar)(&src[0]), C.int(len(src)), iv, C.long(n)) == 0 {
				return errOpenSSL
			}
			return nil
		},
		free: func() {
			C.EVP_CIPHER_CTX_free(ctx)
			C.free(unsafe.Pointer(iv))
		},
	}, nil
}

// lowOpen calls the one-block functions of old: AES_encrypt, which uses tables
// on every CPU, and Camellia_encrypt.
func lowOpen(j job) (*runner, error) {
	if j.cipher != "aes" && j.cipher != "camellia" || j.mode != ecb && j.mode != blocks && j.mode != chain {
		return nil, errNotOffered
	}
	key := j.key()
	aes, decrypt, mode := cbool[C.int](j.cipher == "aes"), cbool[C.int](j.decrypt), C.int(modeNumber(j.mode))
	k := C.low_open(aes, decrypt, (*C.uchar)(&key[0]), C.int(j.bits))
	return &runner{
		run: func(dst, src []byte, n int) error {
			C.low_run(k, aes, decrypt, mode, (*C.uchar)(&dst[0]), (*C.uchar)(&src[0]), C.size_t(len(src)), C.long(n))
			return nil
		},
		free: func() { C.free(unsafe.Pointer(k)) },
	}, nil
}
