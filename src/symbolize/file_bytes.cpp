#include "symbolize/file_bytes.hpp"

#include <elf.h>
#include <lzma.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace flameprobe {

namespace {

// mmap(2): a page behind the end of a file that was cut short raises SIGBUS when it is touched.
void put_zeros_there(int, siginfo_t* info, void*) {
    const std::uint64_t size = page_bytes();
    auto* const page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(info->si_addr) / size * size);
    const bool cut =
        info->si_code == BUS_ADRERR &&
        ::mmap(page, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
    if (!cut) ::signal(SIGBUS, SIG_DFL);
}

bool survive_files_that_are_cut() {
    struct sigaction action {};
    action.sa_sigaction = put_zeros_there;
    action.sa_flags = SA_SIGINFO;
    return ::sigaction(SIGBUS, &action, nullptr) == 0;
}

}  // namespace

Result<std::unique_ptr<FileBytes>> FileBytes::open(const std::string& path, int root) {
    [[maybe_unused]] static const bool survives = survive_files_that_are_cut();
    const FoundFile found(path, {.root = root});
    if (found && !found.is_regular()) return Error{path + ": not a regular file"};
    Descriptor file = found.open();
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) return Error{path + ": " + error_text(errno)};

    auto bytes = std::make_unique<FileBytes>();
    bytes->identity_ = FileIdentity::of(status);
    if (const auto size = static_cast<std::size_t>(status.st_size); size > 0) {
        void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
        if (address == MAP_FAILED) return Error{path + ": " + error_text(errno)};
        bytes->map_ = MemoryMap(address, size);
        bytes->whole_ = bytes->map_.bytes();
    }
    bytes->file_ = std::move(file);
    return bytes;
}

std::unique_ptr<FileBytes> FileBytes::from_memory(std::string memory) {
    auto bytes = std::make_unique<FileBytes>();
    bytes->memory_ = std::move(memory);
    bytes->whole_ = std::as_bytes(std::span(bytes->memory_));
    return bytes;
}

std::unique_ptr<FileBytes> FileBytes::borrow(Bytes memory) {
    auto bytes = std::make_unique<FileBytes>();
    bytes->whole_ = memory;
    return bytes;
}

std::string_view FileBytes::text(std::uint64_t offset, std::uint64_t most) const {
    if (offset >= size()) return {};
    const std::string_view text = as_text(whole_.subspan(offset, std::min(most, size() - offset)));
    return text.substr(0, text.find('\0'));
}

bool FileBytes::read_into(std::uint64_t offset, std::span<std::byte> out) const {
    if (!holds(offset, out.size())) return false;
    if (file_) return read_at(file_.get(), offset, out) == out.size();  // fewer: cut short meanwhile
    std::ranges::copy(whole_.subspan(offset, out.size()), out.begin());
    return true;
}

bool FileBytes::map_over(std::uint64_t offset, std::span<std::byte> out) const {
    const std::uint64_t page = page_bytes(), shift = offset % page;
    std::byte* const start = out.data() - shift;
    if (!holds(offset, out.size()) || reinterpret_cast<std::uintptr_t>(start) % page != 0) return false;
    return ::mmap(start, out.size() + shift, PROT_READ, MAP_PRIVATE | MAP_FIXED, file_.get(),
                  static_cast<off_t>(offset - shift)) != MAP_FAILED;
}

namespace {

constexpr std::uint64_t most_output = std::uint64_t{4} << 30;

/// What so many compressed bytes may become: debug information shrinks to a third or a tenth, and what would grow more
/// was made to fill the memory.
std::uint64_t most_of(std::size_t compressed) {
    constexpr std::uint64_t always = std::uint64_t{16} << 20, growth = 64;
    return std::min(most_output, std::max(always, compressed * growth));
}

}  // namespace

std::string decompress_section(Bytes section) {
    constexpr std::uint32_t elfcompress_zstd = 2;  // newer than some elf.h
    Elf64_Chdr header{};
    if (section.size() < sizeof header) return {};
    std::memcpy(&header, section.data(), sizeof header);
    const Bytes packed = section.subspan(sizeof header);
    if (header.ch_size > most_of(packed.size())) return {};
    std::string out(header.ch_size, '\0');
    bool whole = false;
    if (header.ch_type == ELFCOMPRESS_ZLIB) {
        uLongf made = out.size();
        whole = ::uncompress(reinterpret_cast<Bytef*>(out.data()), &made, reinterpret_cast<const Bytef*>(packed.data()),
                             packed.size()) == Z_OK &&
                made == out.size();
    } else if (header.ch_type == elfcompress_zstd) {
        whole = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size()) == out.size();
    }
    return whole ? std::move(out) : std::string();
}

std::string decompress_xz(Bytes file) {
    for (std::uint64_t room = file.size() * 8 + 4096;; room *= 2) {  // its end says how much it is
        std::string out(std::min(room, most_of(file.size())), '\0');
        std::uint64_t memory = std::uint64_t{256} << 20;
        std::size_t taken = 0, made = 0;
        const lzma_ret status =
            ::lzma_stream_buffer_decode(&memory, 0, nullptr, reinterpret_cast<const std::uint8_t*>(file.data()), &taken,
                                        file.size(), reinterpret_cast<std::uint8_t*>(out.data()), &made, out.size());
        if (status == LZMA_OK) return out.substr(0, made);
        if (status != LZMA_BUF_ERROR || out.size() < room) return {};  // LZMA_BUF_ERROR: there was no room
    }
}

}  // namespace flameprobe
