// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/diagnostic.hpp"

#include <algorithm>

namespace openipoib::conf
{

std::string_view name(Severity severity)
{
    switch (severity) {
    case Severity::note:
        return "note";
    case Severity::warning:
        return "warning";
    case Severity::error:
        break;
    }
    return "error";
}

std::string printable(std::string_view text, std::size_t limit)
{
    static constexpr char digits[] = "0123456789abcdef";
    std::string out;
    for (const char c : text) {
        if (out.size() >= limit)
            return out + "...";
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7F) {
            out += c;
        } else {
            out += "\\x";
            out += digits[byte >> 4];
            out += digits[byte & 15];
        }
    }
    return out;
}

std::string render(const Diagnostic &diagnostic, std::string_view file)
{
    std::string out(file);
    if (diagnostic.place.line)
        out += ":" + std::to_string(diagnostic.place.line) + ":" +
               std::to_string(diagnostic.place.column);
    out += ": ";
    out += name(diagnostic.severity);
    out += ": ";
    if (!diagnostic.key.empty())
        out += printable(diagnostic.key) + ": ";
    out += diagnostic.what;
    if (!diagnostic.cure.empty())
        out += "; " + diagnostic.cure;
    return out;
}

bool hasErrors(const Diagnostics &diagnostics)
{
    return std::ranges::any_of(diagnostics,
                               [](const Diagnostic &d) { return d.severity == Severity::error; });
}

} // namespace openipoib::conf
