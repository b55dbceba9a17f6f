// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A module that is loaded and the one that is installed.
#include "openib_machine.hpp"

#include "conf/openib/commands.hpp"
#include "conf/openib/linux_modules.hpp"
#include "conf/openib/linux_state.hpp"
#include "io/process.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace openipoib::openib
{
namespace
{

namespace fs = std::filesystem;

template <typename T> std::string_view bytesOf(const T &value)
{
    return {reinterpret_cast<const char *>(&value), sizeof value};
}

// The file of a module that has nothing but what modinfo shows: "key=value" and a zero, each.
std::string moduleFile(const std::string &information)
{
    const std::string names("\0.modinfo\0.shstrtab", 20);
    Elf64_Ehdr header{};
    std::ranges::copy(std::string_view(ELFMAG), header.e_ident);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] =
        std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_REL;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shstrndx = 2;
    header.e_shoff = (sizeof header + information.size() + names.size() + 7) & ~7UL;
    Elf64_Shdr info{};
    info.sh_name = 1;
    info.sh_type = SHT_PROGBITS;
    info.sh_offset = sizeof header;
    info.sh_size = information.size();
    Elf64_Shdr strings{};
    strings.sh_name = 10;
    strings.sh_type = SHT_STRTAB;
    strings.sh_offset = info.sh_offset + information.size();
    strings.sh_size = names.size();
    std::string out(bytesOf(header));
    out += information + names;
    out.resize(header.e_shoff);
    out += bytesOf(Elf64_Shdr{});
    out += bytesOf(info);
    return out += bytesOf(strings);
}

class OpenibModules : public testing::Test
{
  protected:
    void SetUp() override
    {
        std::string name = (fs::temp_directory_path() / "openib-XXXXXX").string();
        ASSERT_TRUE(::mkdtemp(name.data()));
        top = name;
    }
    void TearDown() override { fs::remove_all(top); }

    void put(const std::string &path, const std::string &text) const
    {
        fs::create_directories((top / path).parent_path());
        std::ofstream(top / path, std::ios::binary) << text;
    }
    void install(const std::string &path, const std::string &information) const
    {
        put("lib/modules/6.1.0/" + path, moduleFile(information));
        const auto done = io::runProgram({"/sbin/depmod", "-b", top.string(), "6.1.0"});
        ASSERT_TRUE(done) << done.error().text();
        ASSERT_EQ(done->status, 0) << done->errors;
    }
    [[nodiscard]] std::optional<Installed> installed(const std::string &module) const
    {
        return Modules((top / "lib/modules/6.1.0").string()).installed(module);
    }

    // What openib status says of this machine
    std::string status(bool asJson)
    {
        std::ostringstream out;
        std::ostringstream err;
        Options options{.file = "openib.conf"};
        options.json = asJson;
        Commands commands(machine, options, out, err);
        EXPECT_EQ(commands.configure("", {.hostName = "node1"}), Exit::done);
        (void)commands.status();
        return out.str();
    }

    fs::path top;
    Machine machine;
};

TEST_F(OpenibModules, TheOneThatModprobeWouldLoad)
{
    install("kernel/ib_ipoib.ko", std::string("license=GPL\0", 12));
    ASSERT_TRUE(installed("ib_ipoib"));
    EXPECT_EQ(installed("ib_ipoib")->build, Build()) << "the kernel's own";
    install("updates/ib_ipoib.ko", std::string("version=0.2.0\0srcversion=ABC\0", 29));
    EXPECT_EQ(installed("ib_ipoib")->build, (Build{"0.2.0", "ABC"}));
    EXPECT_TRUE(installed("ib_ipoib")->file.ends_with("6.1.0/updates/ib_ipoib.ko"));
    EXPECT_FALSE(installed("sib")) << "there is none";
}

TEST_F(OpenibModules, TheOneThatIsLoaded)
{
    const Roots roots{.sys = (top / "sys").string(), .proc = {}};
    EXPECT_FALSE(readBuild(roots, "ib_ipoib"));
    put("sys/module/ib_ipoib/initstate", "live\n");
    EXPECT_EQ(readBuild(roots, "ib_ipoib"), Build()) << "the kernel's own";
    put("sys/module/ib_ipoib/version", "0.1.0\n");
    put("sys/module/ib_ipoib/srcversion", "ABC\n");
    EXPECT_EQ(readBuild(roots, "ib_ipoib"), (Build{"0.1.0", "ABC"}));
    put("sys/module/ib_ipoib/initstate", "going\n");
    EXPECT_FALSE(readBuild(roots, "ib_ipoib"));
}

TEST_F(OpenibModules, AnotherOneIsNamedWithItsCure)
{
    EXPECT_EQ(status(false).find("not current"), std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(status(true))["stale"], nlohmann::json::array());
    machine.staleModules = {{"ib_ipoib",
                             {"0.1.0", "ABC"},
                             {"/lib/modules/6.1.0/updates/ib_ipoib.ko", {"0.2.0", "DEF"}}},
                            {"sib", {"0.1.0", "ABC"}, {"/lib/modules/6.1.0/kernel/sib.ko", {}}}};
    const std::string text = status(false);
    EXPECT_NE(text.find("\nnot current  ib_ipoib that is loaded is 0.1.0 (ABC), "
                        "/lib/modules/6.1.0/updates/ib_ipoib.ko is 0.2.0 (DEF); "
                        "cure: openib restart\n"),
              text.npos)
        << text;
    EXPECT_NE(text.find("sib.ko is without a version; cure: modprobe -r sib"), text.npos) << text;
    const auto stale = nlohmann::json::parse(status(true))["stale"];
    ASSERT_EQ(stale.size(), 2u);
    EXPECT_EQ(stale[0]["loaded"]["srcversion"], "ABC");
    EXPECT_EQ(stale[0]["installed"]["version"], "0.2.0");
    EXPECT_EQ(stale[0]["cure"], "openib restart");
    EXPECT_TRUE(stale[1]["installed"]["version"].is_null());
}

} // namespace
} // namespace openipoib::openib
