// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/recorder.hpp"

#include "io/pcap.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <iostream>

namespace openipoib::fabric
{

namespace
{

constexpr std::size_t mostWaiting = 4 << 20; // bytes, of one capture
constexpr mode_t onlyMine = S_IRUSR | S_IWUSR;

// Neither waits for a reader of a FIFO, nor follows a link.
io::UniqueFd openForWriting(const std::string &path)
{
    return io::UniqueFd(::open(path.c_str(),
                               O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW,
                               onlyMine));
}

// Whether the other end of a socket has been closed. It says nothing otherwise; what it
// says all the same is passed over.
bool isClosed(const io::UniqueFd &fd)
{
    std::array<char, 256> said{};
    ssize_t got = 0;
    do
        got = ::recv(fd.get(), said.data(), said.size(), MSG_DONTWAIT);
    while (got > 0 || (got < 0 && errno == EINTR));
    return got == 0 || errno != EAGAIN;
}

} // namespace

io::Result<void> Recorder::openFile(const std::string &path, std::uint64_t mostBytes)
{
    io::UniqueFd fd = openForWriting(path);
    struct stat about {
    };
    if (!fd || ::fstat(fd.get(), &about) < 0)
        return io::systemFail(path);
    file_ = File{.path = path,
                 .mostBytes = mostBytes,
                 .output = {.fd = std::move(fd)},
                 .isRegular = S_ISREG(about.st_mode)};
    appendPcapHeader(file_->output.bytes);
    file_->size = file_->output.bytes.size();
    return {};
}

void Recorder::addStream(io::UniqueFd fd, PortRef at, std::uint64_t count)
{
    Stream &stream =
        streams_.emplace_back(Stream{.output = {.fd = std::move(fd)}, .at = at, .left = count});
    appendPcapHeader(stream.output.bytes);
}

bool Recorder::isFull()
{
    // A port without packets does not write to who has gone.
    if (streams_.size() >= mostStreams)
        streams_.remove_if([](const Stream &stream) { return isClosed(stream.output.fd); });
    return streams_.size() >= mostStreams;
}

bool Recorder::note(Output &output, io::View packet, Time now)
{
    if (output.bytes.size() + pcapOverhead + packet.size() > mostWaiting) {
        ++lost_;
        return false;
    }
    appendPcapRecord(output.bytes, clock_(now), packet);
    return true;
}

void Recorder::onPacket(PortRef at, Way way, io::View packet, Time now)
{
    // Links within the process are heard at both ends.
    if (file_ && way != Way::in) {
        const std::uint64_t size = pcapOverhead + packet.size();
        if (file_->isRegular && file_->size + size > file_->mostBytes / 2)
            rotate();
        if (file_ && note(file_->output, packet, now))
            file_->size += size;
    }
    for (Stream &stream : streams_) {
        if (stream.isComplete || stream.at != at || !note(stream.output, packet, now))
            continue;
        stream.isComplete = stream.left != 0 && --stream.left == 0;
    }
}

void Recorder::endFile()
{
    std::cerr << "ibfabric: the capture ends: " << io::systemFail(file_->path).error().text()
              << '\n';
    file_.reset();
}

void Recorder::rotate()
{
    const std::string old = file_->path + ".1";
    if (!write(file_->output) || ::rename(file_->path.c_str(), old.c_str()) < 0)
        return endFile();
    file_->output = {.fd = openForWriting(file_->path)};
    if (!file_->output.fd)
        return endFile();
    appendPcapHeader(file_->output.bytes);
    file_->size = file_->output.bytes.size();
}

// False if nobody will take any more.
bool Recorder::write(Output &output)
{
    std::size_t done = 0;
    while (done < output.bytes.size()) {
        const ssize_t written =
            ::write(output.fd.get(), output.bytes.data() + done, output.bytes.size() - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno != EAGAIN)
            return false;
        if (written <= 0)
            break;
        done += static_cast<std::size_t>(written);
    }
    output.bytes.erase(output.bytes.begin(),
                       output.bytes.begin() + static_cast<std::ptrdiff_t>(done));
    return true;
}

void Recorder::flush()
{
    if (file_ && !write(file_->output))
        endFile();
    streams_.remove_if([](Stream &stream) {
        return !write(stream.output) || (stream.isComplete && stream.output.bytes.empty());
    });
}

} // namespace openipoib::fabric
