// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a failed operation returns: an errno and what was being done. Functions
// return it and do not log; the program's edge prints it once.
#pragma once

#include <cerrno>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>

namespace openipoib::io
{

struct Error {
    int code = 0;        // errno value
    std::string context; // what was attempted, on which object

    [[nodiscard]] std::string text() const
    {
        return context + ": " + std::generic_category().message(code);
    }
};

template <typename T> using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(int code, std::string_view context)
{
    return std::unexpected(Error{code, std::string(context)});
}

// The failure of the system call that has just set errno.
[[nodiscard]] inline std::unexpected<Error> systemFail(std::string_view context)
{
    return fail(errno, context);
}

} // namespace openipoib::io
