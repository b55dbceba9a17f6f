// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A message authentication code with a key: HMAC-SHA-256 of libcrypto.
#pragma once

#include "io/bytes.hpp"

#include <array>
#include <cstdint>
#include <memory>

struct evp_mac_ctx_st; // EVP_MAC_CTX

namespace openipoib::fabric
{

class Mac
{
  public:
    using Code = std::array<std::uint8_t, 32>;

    // Throws std::runtime_error if libcrypto has none.
    explicit Mac(io::View key);

    [[nodiscard]] Code of(io::View text) const;
    // Whether code is the beginning of text's, in a time that does not tell how much of it.
    [[nodiscard]] bool agrees(io::View text, io::View code) const;

  private:
    struct Free {
        void operator()(evp_mac_ctx_st *context) const;
    };
    std::unique_ptr<evp_mac_ctx_st, Free> context_; // with the key, and no text yet
};

} // namespace openipoib::fabric
