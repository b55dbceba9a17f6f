// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/journal.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>

namespace openipoib::io
{

bool isJournal(int fd)
{
    const char *stream = std::getenv("JOURNAL_STREAM");
    struct stat status {
    };
    return stream && ::fstat(fd, &status) == 0 &&
           std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) == stream;
}

PrefixBuffer::int_type PrefixBuffer::overflow(int_type c)
{
    if (traits_type::eq_int_type(c, traits_type::eof()))
        return traits_type::not_eof(c);
    const char next = traits_type::to_char_type(c);
    const auto length = static_cast<std::streamsize>(prefix_.size());
    if (atStart_ && next != '\n' && to_.sputn(prefix_.data(), length) != length)
        return traits_type::eof();
    atStart_ = next == '\n';
    return to_.sputc(next);
}

CerrToJournal::CerrToJournal() : before_(std::cerr.rdbuf()), warnings_(*before_, "<4>")
{
    if (isJournal(STDERR_FILENO))
        std::cerr.rdbuf(&warnings_);
}

CerrToJournal::~CerrToJournal()
{
    std::cerr.rdbuf(before_);
}

} // namespace openipoib::io
