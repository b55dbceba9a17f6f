// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/key_file.hpp"

#include "io/unique_fd.hpp"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>

#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

namespace openipoib::fabric
{

namespace
{

constexpr std::size_t mostFile = 2 * keySize + 64; // with space around it

// Nothing if it is no key.
io::Bytes keyOf(std::string_view text)
{
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
        text.remove_suffix(1);
    io::Bytes key;
    if (text.size() != 2 * keySize)
        return key;
    for (; !text.empty(); text.remove_prefix(2)) {
        std::uint8_t byte = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + 2, byte, 16);
        if (error != std::errc{} || end != text.data() + 2)
            return {};
        key.push_back(byte);
    }
    return key;
}

} // namespace

io::Result<io::Bytes> readKey(const std::string &file)
{
    // A FIFO that nobody writes to would never open.
    const io::UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {
    };
    if (!fd || ::fstat(fd.get(), &status) < 0)
        return io::systemFail(file);
    if (!S_ISREG(status.st_mode))
        return io::fail(EINVAL, file + " is no file");
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return io::fail(EACCES, file + ": others may use the key (chmod 600)");
    if (status.st_uid != ::geteuid() && status.st_uid != 0)
        return io::fail(EACCES, file + " is somebody else's");
    std::array<char, mostFile> text{};
    const ssize_t got = ::read(fd.get(), text.data(), text.size());
    if (got < 0)
        return io::systemFail(file);
    const auto size = static_cast<std::size_t>(got);
    auto key = size < text.size() ? keyOf({text.data(), size}) : io::Bytes{};
    OPENSSL_cleanse(text.data(), text.size());
    if (key.empty())
        return io::fail(EINVAL, file + ": expected 64 hexadecimal digits (openssl rand -hex 32)");
    return key;
}

} // namespace openipoib::fabric
