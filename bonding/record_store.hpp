// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Records as files, one a bond; gone with the next boot, as what they are about.
#pragma once

#include "bonding/record.hpp"

#include <map>
#include <string>

namespace openipoib::bonding
{

class RecordStore
{
  public:
    explicit RecordStore(std::string folder = "/run/ib-bond") : folder_(std::move(folder)) {}

    // By bond. Errors: EINVAL when one is broken.
    [[nodiscard]] io::Result<std::map<std::string, Record, std::less<>>> read() const;
    // Whole or not at all.
    [[nodiscard]] io::Result<void> keep(const std::string &bond, const Record &record) const;
    [[nodiscard]] io::Result<void> drop(const std::string &bond) const;

  private:
    [[nodiscard]] std::string path(const std::string &bond) const
    {
        return folder_ + "/" + bond + ".json";
    }

    std::string folder_;
};

} // namespace openipoib::bonding
