// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Kernel modules, through libkmod: modprobe's configuration counts.
#pragma once

#include "conf/openib/state.hpp"
#include "io/error.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

struct kmod_ctx;

namespace openipoib::openib
{

class Modules
{
  public:
    // @folder: of a kernel's modules; "": those of the running kernel
    explicit Modules(const std::string &folder = {});

    // With what it depends on. The options come behind those of modprobe's
    // configuration, so that they count; one that the module does not have is
    // ignored by the kernel. The install command that keeps others from
    // loading ib_ipoib against openib.conf does not apply here. Errors: ENOENT
    // (no such module), EKEYREJECTED (not signed), what the module returned.
    [[nodiscard]] io::Result<void> load(const std::string &name,
                                        const std::vector<std::string> &options) const;
    // Errors: EAGAIN when it is in use, ENOENT when it is not loaded.
    [[nodiscard]] io::Result<void> unload(const std::string &name) const;

    [[nodiscard]] bool isAvailable(const std::string &name) const;
    [[nodiscard]] bool isBuiltIn(const std::string &name) const;
    // What modprobe would load; nullopt: there is none, or it cannot be read.
    [[nodiscard]] std::optional<Installed> installed(const std::string &name) const;
    // The modules for a device, by its modalias.
    [[nodiscard]] std::set<std::string> forDevice(const std::string &alias) const;

  private:
    struct Free {
        void operator()(kmod_ctx *context) const;
    };
    std::unique_ptr<kmod_ctx, Free> context_;
};

} // namespace openipoib::openib
