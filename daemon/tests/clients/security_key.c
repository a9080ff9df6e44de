/*
 * A security key in software, as a provider for SSH_SK_PROVIDER: Ed25519 only, no PIN, no resident keys. With the
 * variable FARRIER_SK_ABSENT it signs as if nobody had touched it.
 *
 * The interface is that of sk-api.h of OpenSSH. The functions of libcrypto are those of the program that loads this.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct evp_pkey_st EVP_PKEY;
typedef struct evp_md_ctx_st EVP_MD_CTX;
typedef struct evp_md_st EVP_MD;
EVP_PKEY *EVP_PKEY_new_raw_private_key(int type, void *engine, const unsigned char *key, size_t len);
int EVP_PKEY_get_raw_public_key(const EVP_PKEY *key, unsigned char *pub, size_t *len);
void EVP_PKEY_free(EVP_PKEY *key);
EVP_MD_CTX *EVP_MD_CTX_new(void);
void EVP_MD_CTX_free(EVP_MD_CTX *ctx);
const EVP_MD *EVP_sha256(void);
int EVP_Digest(const void *data, size_t len, unsigned char *out, unsigned int *out_len, const EVP_MD *md, void *engine);
int EVP_DigestSignInit(EVP_MD_CTX *ctx, void *pctx, const EVP_MD *md, void *engine, EVP_PKEY *key);
int EVP_DigestSign(EVP_MD_CTX *ctx, unsigned char *sig, size_t *len, const unsigned char *data, size_t data_len);
int RAND_bytes(unsigned char *bytes, int len);

#define API_VERSION 0x000a0000
#define ERR_GENERAL (-1)
#define ERR_UNSUPPORTED (-2)
#define ALG_ED25519 1
#define PRESENT 1
/* NID_ED25519 */
#define ED25519 1087
#define SEED_BYTES 32
#define PUBLIC_BYTES 32
#define SIGNATURE_BYTES 64

struct sk_enroll_response {
    uint8_t flags;
    uint8_t *public_key;
    size_t public_key_len;
    uint8_t *key_handle;
    size_t key_handle_len;
    uint8_t *signature;
    size_t signature_len;
    uint8_t *attestation_cert;
    size_t attestation_cert_len;
    uint8_t *authdata;
    size_t authdata_len;
};

struct sk_sign_response {
    uint8_t flags;
    uint32_t counter;
    uint8_t *sig_r;
    size_t sig_r_len;
    uint8_t *sig_s;
    size_t sig_s_len;
};

uint32_t sk_api_version(void) { return API_VERSION; }

int sk_enroll(uint32_t alg, const uint8_t *challenge, size_t challenge_len, const char *application, uint8_t flags,
              const char *pin, void **options, struct sk_enroll_response **out) {
    (void)challenge, (void)challenge_len, (void)application, (void)pin, (void)options;
    if (alg != ALG_ED25519) return ERR_UNSUPPORTED;
    struct sk_enroll_response *response = calloc(1, sizeof *response);
    /* The key handle is the private key: this is no real security key. */
    uint8_t *seed = malloc(SEED_BYTES), *public_key = malloc(PUBLIC_BYTES);
    size_t length = PUBLIC_BYTES;
    if (!response || !seed || !public_key || RAND_bytes(seed, SEED_BYTES) != 1) return ERR_GENERAL;
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(ED25519, NULL, seed, SEED_BYTES);
    if (!key || EVP_PKEY_get_raw_public_key(key, public_key, &length) != 1) return ERR_GENERAL;
    EVP_PKEY_free(key);
    response->flags = flags;
    response->public_key = public_key;
    response->public_key_len = PUBLIC_BYTES;
    response->key_handle = seed;
    response->key_handle_len = SEED_BYTES;
    *out = response;
    return 0;
}

int sk_sign(uint32_t alg, const uint8_t *data, size_t data_len, const char *application, const uint8_t *key_handle,
            size_t key_handle_len, uint8_t flags, const char *pin, void **options, struct sk_sign_response **out) {
    (void)flags, (void)pin, (void)options;
    if (alg != ALG_ED25519 || key_handle_len != SEED_BYTES) return ERR_UNSUPPORTED;
    struct sk_sign_response *response = calloc(1, sizeof *response);
    uint8_t *signature = malloc(SIGNATURE_BYTES);
    if (!response || !signature) return ERR_GENERAL;
    response->flags = getenv("FARRIER_SK_ABSENT") ? 0 : PRESENT;
    response->counter = 7;
    /* SHA-256 of the application, flags, counter, SHA-256 of the data. */
    uint8_t message[32 + 1 + 4 + 32] = {0};
    EVP_Digest(application, strlen(application), message, NULL, EVP_sha256(), NULL);
    message[32] = response->flags;
    message[36] = (uint8_t)response->counter;
    EVP_Digest(data, data_len, message + 37, NULL, EVP_sha256(), NULL);
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(ED25519, NULL, key_handle, SEED_BYTES);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    size_t length = SIGNATURE_BYTES;
    if (!key || !context || EVP_DigestSignInit(context, NULL, NULL, NULL, key) != 1 ||
        EVP_DigestSign(context, signature, &length, message, sizeof message) != 1)
        return ERR_GENERAL;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    response->sig_r = signature;
    response->sig_r_len = SIGNATURE_BYTES;
    *out = response;
    return 0;
}

int sk_load_resident_keys(const char *pin, void **options, void ***keys, size_t *count) {
    (void)pin, (void)options, (void)keys, (void)count;
    return ERR_UNSUPPORTED;
}
