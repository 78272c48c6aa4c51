#include "symbolize/file_bytes.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/descriptor.hpp"
#include "base/regular_file.hpp"

namespace flameprobe {

Result<std::unique_ptr<FileBytes>> FileBytes::open(const std::string& path, FileAccess access) {
    const FoundFile found(path, {.root = access.root});
    if (found && !found.is_regular()) return Error{path + ": not a regular file"};
    Descriptor file = found.open();
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) return Error{path + ": " + std::strerror(errno)};

    auto bytes = std::make_unique<FileBytes>();
    bytes->size_ = static_cast<std::uint64_t>(status.st_size);
    bytes->identity_ = FileIdentity::of(status);
    if (access.how == FileAccess::map && bytes->size_ > 0) {
        void* address = ::mmap(nullptr, bytes->size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
        if (address == MAP_FAILED) return Error{path + ": " + std::strerror(errno)};
        bytes->map_ = MemoryMap(address, bytes->size_);
        bytes->whole_ = bytes->map_.bytes();
    }
    bytes->file_ = std::move(file);
    return bytes;
}

std::unique_ptr<FileBytes> FileBytes::from_memory(std::string memory) {
    auto bytes = std::make_unique<FileBytes>();
    bytes->memory_ = std::move(memory);
    bytes->size_ = bytes->memory_.size();
    bytes->whole_ = std::as_bytes(std::span(bytes->memory_));
    return bytes;
}

std::unique_ptr<FileBytes> FileBytes::borrow(Bytes memory) {
    auto bytes = std::make_unique<FileBytes>();
    bytes->size_ = memory.size();
    bytes->whole_ = memory;
    return bytes;
}

Bytes FileBytes::view(std::uint64_t offset, std::uint64_t size) const {
    if (size == 0 || !holds(offset, size)) return {};
    return whole_.empty() ? read(offset, size) : whole_.subspan(offset, size);
}

std::string_view FileBytes::text(std::uint64_t offset, std::uint64_t most) const {
    if (offset >= size_) return {};
    most = std::min(most, size_ - offset);
    const auto up_to_nul = [](std::string_view text) { return text.substr(0, text.find('\0')); };
    if (!file_ || map_) return up_to_nul(as_text(whole_.subspan(offset, most)));
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = text_in_piece(offset, most)) return texts_.view(texts_.intern(*found));
        constexpr std::uint64_t piece_size = 1024;
        piece_.resize(std::min(piece_size, most));
        piece_begin_ = offset;
        if (!read_into(offset, piece_)) piece_.clear();
        if (const auto found = text_in_piece(offset, most)) return texts_.view(texts_.intern(*found));
    }
    return up_to_nul(as_text(view(offset, most)));
}

std::optional<std::string_view> FileBytes::text_in_piece(std::uint64_t offset, std::uint64_t most) const {
    if (offset - piece_begin_ >= piece_.size()) return std::nullopt;
    const std::string_view rest = as_text(piece_).substr(offset - piece_begin_, most);
    const auto end = rest.find('\0');
    return end == rest.npos ? std::nullopt : std::optional(rest.substr(0, end));
}

bool FileBytes::read_into(std::uint64_t offset, std::span<std::byte> out) const {
    if (!holds(offset, out.size())) return false;
    if (!file_) {
        std::memcpy(out.data(), whole_.data() + offset, out.size());
        return true;
    }
    return read_at(file_.get(), offset, out) == out.size();  // fewer: truncated meanwhile
}

bool FileBytes::map_over(std::uint64_t offset, std::span<std::byte> out) const {
    const std::uint64_t page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)), shift = offset % page;
    std::byte* const start = out.data() - shift;
    if (!holds(offset, out.size()) || reinterpret_cast<std::uintptr_t>(start) % page != 0) return false;
    return ::mmap(start, out.size() + shift, PROT_READ, MAP_PRIVATE | MAP_FIXED, file_.get(),
                  static_cast<off_t>(offset - shift)) != MAP_FAILED;
}

Bytes FileBytes::read(std::uint64_t offset, std::uint64_t size) const {
    std::unique_ptr<std::byte[]> buffer(new (std::nothrow) std::byte[size]);
    if (!buffer || !read_into(offset, {buffer.get(), size})) return {};
    const std::lock_guard lock(mutex_);
    buffers_.push_back(std::move(buffer));
    return {buffers_.back().get(), size};
}

}  // namespace flameprobe
