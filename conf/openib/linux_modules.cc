// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/openib/linux_modules.hpp"

#include "conf/openib/stack.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <libkmod.h>

namespace openipoib::openib
{

namespace
{

struct Unref {
    void operator()(kmod_module *module) const { kmod_module_unref(module); }
};
using ModulePtr = std::unique_ptr<kmod_module, Unref>;

struct UnrefList {
    void operator()(kmod_list *list) const { kmod_module_unref_list(list); }
};
using ListPtr = std::unique_ptr<kmod_list, UnrefList>;

struct FreeInfo {
    void operator()(kmod_list *list) const { kmod_module_info_free_list(list); }
};
using InfoPtr = std::unique_ptr<kmod_list, FreeInfo>;

ModulePtr byName(kmod_ctx *context, const std::string &name)
{
    kmod_module *module = nullptr;
    if (context)
        kmod_module_new_from_name(context, name.c_str(), &module);
    return ModulePtr(module);
}

} // namespace

void Modules::Free::operator()(kmod_ctx *context) const
{
    kmod_unref(context);
}

Modules::Modules(const std::string &folder)
    : context_(kmod_new(folder.empty() ? nullptr : folder.c_str(), nullptr))
{
    if (context_) {
        kmod_set_log_priority(context_.get(), 0); // errors are returned, not printed
        kmod_load_resources(context_.get());
    }
}

io::Result<void> Modules::load(const std::string &name,
                               const std::vector<std::string> &options) const
{
    const ModulePtr module = byName(context_.get(), name);
    if (!module)
        return io::fail(ENOMEM, name);
    const unsigned flags = name == ipoibModule ? KMOD_PROBE_IGNORE_COMMAND : 0;
    const std::string extra = fmt::format("{}", fmt::join(options, " "));
    const int status = kmod_module_probe_insert_module(
        module.get(), flags, extra.empty() ? nullptr : extra.c_str(), nullptr, nullptr, nullptr);
    if (status < 0)
        return io::fail(-status, name);
    return {};
}

io::Result<void> Modules::unload(const std::string &name) const
{
    const ModulePtr module = byName(context_.get(), name);
    if (!module)
        return io::fail(ENOMEM, name);
    if (const int status = kmod_module_remove_module(module.get(), 0); status < 0)
        return io::fail(-status, name);
    return {};
}

bool Modules::isAvailable(const std::string &name) const
{
    const ModulePtr module = byName(context_.get(), name);
    return module && (kmod_module_get_path(module.get()) || isBuiltIn(name));
}

bool Modules::isBuiltIn(const std::string &name) const
{
    const ModulePtr module = byName(context_.get(), name);
    return module && kmod_module_get_initstate(module.get()) == KMOD_MODULE_BUILTIN;
}

std::optional<Installed> Modules::installed(const std::string &name) const
{
    const ModulePtr module = byName(context_.get(), name);
    const char *file = module ? kmod_module_get_path(module.get()) : nullptr;
    kmod_list *raw = nullptr;
    if (!file || kmod_module_get_info(module.get(), &raw) < 0)
        return std::nullopt;
    const InfoPtr list(raw);
    Installed out{file, {}};
    kmod_list *entry = nullptr;
    kmod_list_foreach(entry, list.get())
    {
        const std::string_view key = kmod_module_info_get_key(entry);
        if (key == "version")
            out.build.version = kmod_module_info_get_value(entry);
        else if (key == "srcversion")
            out.build.source = kmod_module_info_get_value(entry);
    }
    return out;
}

std::set<std::string> Modules::forDevice(const std::string &alias) const
{
    std::set<std::string> names;
    kmod_list *raw = nullptr;
    if (!context_ || kmod_module_new_from_lookup(context_.get(), alias.c_str(), &raw) < 0)
        return names;
    const ListPtr list(raw);
    kmod_list *entry = nullptr;
    kmod_list_foreach(entry, list.get())
    {
        const ModulePtr module(kmod_module_get_module(entry));
        names.insert(kmod_module_get_name(module.get()));
    }
    return names;
}

} // namespace openipoib::openib
