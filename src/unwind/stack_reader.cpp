#include "unwind/stack_reader.hpp"

namespace flameprobe {

bool StackReader::word_beyond(std::uint64_t address, std::uint64_t& out) {
    std::uint64_t offset = address - piece_address_;
    if (piece_.size() < 8 || offset > piece_.size() - 8) {
        // A frame's return address is read before the slots below it: begin a little lower, but never inside the copy,
        // whose bytes are those of the sample's time.
        std::uint64_t from = address - std::min<std::uint64_t>(address, 256);
        if (address >= end_) from = std::max(from, end_);
        piece_.resize(piece_size);
        piece_address_ = from;
        piece_.resize(std::min(beyond_->read(from, piece_), piece_size));
        offset = address - from;
        if (piece_.size() < 8 || offset > piece_.size() - 8) return false;
    }
    std::memcpy(&out, piece_.data() + offset, sizeof out);
    beyond_end_ = std::max(beyond_end_, address + 8);
    return true;
}

}  // namespace flameprobe
