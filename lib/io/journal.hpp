// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Standard error as systemd's journal takes it: a line's first characters say how grave it is.
#pragma once

#include <streambuf>
#include <string_view>

namespace openipoib::io
{

// Whether the descriptor is the stream to the journal that systemd has opened for this
// service, and not one to somebody else whom the environment has been handed on to.
[[nodiscard]] bool isJournal(int fd);

// Puts a prefix before every line that goes to another buffer.
class PrefixBuffer final : public std::streambuf
{
  public:
    PrefixBuffer(std::streambuf &to, std::string_view prefix) : to_(to), prefix_(prefix) {}

  protected:
    int_type overflow(int_type c) override;
    int sync() override { return to_.pubsync(); }

  private:
    std::streambuf &to_;
    std::string_view prefix_;
    bool atStart_ = true; // of a line
};

// While this is there, lines of std::cerr are warnings to the journal, if that gets them.
class CerrToJournal
{
  public:
    CerrToJournal();
    CerrToJournal(const CerrToJournal &) = delete;
    CerrToJournal &operator=(const CerrToJournal &) = delete;
    ~CerrToJournal();

  private:
    std::streambuf *before_;
    PrefixBuffer warnings_;
};

} // namespace openipoib::io
