// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What watches an input run: the journal, by which the machine outside knows what ran when
// the kernel stopped; and what the kernel says of itself, looked at after each input.
#pragma once

#include "io/bytes.hpp"

#include <string>
#include <string_view>

namespace openipoib::kfuzz
{

// What a fuzz program leaves in its folder, which the machine outside sees
inline constexpr const char *folder = "/run/out";
inline constexpr int foundStatus = 77; // exit status: an input has found something

// End the program: its surroundings are not as they have to be.
void need(bool condition, std::string_view what);

// Have a function called when an input has found something, before the program ends.
void atEnd(void (*last)());

// End the program: the input has found something.
[[noreturn]] void found(const std::string &what);

// What the input promises; to be told from what the kernel says.
inline void promise(bool kept, const std::string &what)
{
    if (!kept)
        found("broken promise: " + what);
}

class Guard
{
  public:
    Guard();
    Guard(const Guard &) = delete;
    Guard &operator=(const Guard &) = delete;

    // Note the input before it runs: its size and the milliseconds since boot, as numbers of
    // four octets, then itself.
    void begin(io::View input);
    // Ends the program if the kernel has complained.
    void check();

  private:
    [[nodiscard]] std::string taint() const;
    void readLog();
    void line(std::string_view text);

    int journal_, taint_, log_;
    std::string before_;
    bool suspicious_ = false; // the next line says what of RCU is
};

} // namespace openipoib::kfuzz
