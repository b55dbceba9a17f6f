// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "udp/mac.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <stdexcept>
#include <string>

namespace openipoib::fabric
{

namespace
{

void need(bool isDone)
{
    if (!isDone)
        throw std::runtime_error("libcrypto: HMAC-SHA-256 fails");
}

} // namespace

void Mac::Free::operator()(evp_mac_ctx_st *context) const
{
    EVP_MAC_CTX_free(context);
}

Mac::Mac(io::View key)
{
    const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> kind(
        EVP_MAC_fetch(nullptr, "HMAC", nullptr), EVP_MAC_free);
    need(kind != nullptr);
    context_.reset(EVP_MAC_CTX_new(kind.get()));
    std::string digest = "SHA256";
    const std::array<OSSL_PARAM, 2> parameters{
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
        OSSL_PARAM_construct_end()};
    need(context_ && EVP_MAC_init(context_.get(), key.data(), key.size(), parameters.data()) == 1);
}

Mac::Code Mac::of(io::View text) const
{
    Code code{};
    std::size_t size = 0;
    // Without a key: with that of before.
    need(EVP_MAC_init(context_.get(), nullptr, 0, nullptr) == 1 &&
         EVP_MAC_update(context_.get(), text.data(), text.size()) == 1 &&
         EVP_MAC_final(context_.get(), code.data(), &size, code.size()) == 1 &&
         size == code.size());
    return code;
}

bool Mac::agrees(io::View text, io::View code) const
{
    const Code right = of(text);
    return !code.empty() && code.size() <= right.size() &&
           CRYPTO_memcmp(right.data(), code.data(), code.size()) == 0;
}

} // namespace openipoib::fabric
