// What the C sides of the peers share.

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum mode { // as modeNumber has them
	ECB, CBC, CTR, XTS, BLOCKS, CHAIN, GCM, CCM, EAX, OCB, SIV, GCM_SIV
};

enum op { // as opNumber has them
	ENC, DEC, AUTH
};

enum { TAG = 16 };

// A message is one request to an AEAD: size bytes of text from in to out, or with
// AUTH of associated data at in, and the tag.
struct message {
	const uint8_t *in;
	uint8_t *out, *tag;
	size_t size;
	uint8_t *nonce;
	size_t nonce_len;
};

// message lays out a request: the tag is behind the ciphertext, of SIV before it.
// With put_back the input is put into dst first and worked on there.
static inline struct message message(int mode, int op, uint8_t *dst, const uint8_t *src, size_t size, int put_back, uint8_t *nonce, size_t nonce_len) {
	struct message m = {src, dst, dst + size, size, nonce, nonce_len};
	if (op == AUTH) {
		m.tag = dst;
		return m;
	}
	if (op == DEC && put_back)
		m.in = src = memcpy(dst, src, size + TAG);
	if (op == DEC)
		m.tag = (uint8_t *)src + size; // only read
	if (mode != SIV)
		return m;
	m.tag = op == DEC ? (uint8_t *)src : dst;
	if (op == DEC)
		m.in = src + TAG;
	else
		m.out = dst + TAG;
	if (dst == src && op == ENC)
		m.in = memmove(m.out, src, size);
	else if (dst == src)
		m.out = dst + TAG; // see done
	return m;
}

// done ends a request.
static inline void done(struct message m, int op, uint8_t *dst) {
	if (op == DEC && m.out != dst)
		memmove(dst, m.out, m.size);
	if (op != DEC) // of decryption the nonce is that of the input
		while (m.nonce_len-- > 0 && !++m.nonce[m.nonce_len])
			;
}
