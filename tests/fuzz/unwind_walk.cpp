// Registers and a stack out of the fuzzer's bytes, walked over this program's own tables. Eight bytes make a word; a
// word's lowest bits choose whether it is taken as it is, as a stack address or as a code address.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/proc_maps.hpp"
#include "unwind/unwinder.hpp"

using namespace flameprobe;

namespace {

constexpr std::uint64_t stack_at = 0x7fff00000000;

struct World {
    CodeMap map;
    std::unique_ptr<Unwinder> by_cfi = make_dwarf_unwinder(map);
    std::unique_ptr<Unwinder> by_frame_pointer = make_fp_unwinder(map);

    World() {
        const auto maps = read_proc_maps();
        for (const MapsLine& line : maps->lines) {
            if (!line.executable) continue;
            CodeRegion region;
            region.start = line.start;
            region.end = line.end;
            region.file_offset = line.offset;
            region.kind = line.path.starts_with('/') ? RegionKind::file : RegionKind::anonymous;
            region.path = line.path;
            map.add(region);
        }
    }
    std::uint64_t word(std::uint64_t raw) const {
        const CodeRegion& region = *map.regions()[(raw >> 3) % map.regions().size()];
        switch (raw & 7) {
            case 0:
                return raw;
            case 1:
                return stack_at + (raw >> 3) % 8192;
            case 2:
                return stack_at + (raw >> 3) % 1024 * 8;
            default:
                return region.start + (raw >> 8) % (region.end - region.start);
        }
    }
};

class Live final : public StackBeyond {
public:
    explicit Live(const std::vector<std::uint64_t>& words) : words_(words) {}
    std::size_t read(std::uint64_t address, std::span<std::byte> out) override {
        const std::uint64_t offset = address - stack_at;
        const auto bytes = std::as_bytes(std::span(words_));
        if (offset >= bytes.size()) return 0;
        const std::size_t size = std::min(out.size(), bytes.size() - offset);
        std::memcpy(out.data(), bytes.data() + offset, size);
        return size;
    }

private:
    const std::vector<std::uint64_t>& words_;
};

void check(const Walk& walk, const CodeMap& map, std::size_t words) {
    if (walk.frames.empty() || walk.frames_in_copy > walk.frames.size()) std::abort();
    // Every frame but those across signal frames takes at least a word of the stack.
    if (walk.frames.size() > 2 * words + 64) std::abort();
    for (std::size_t i = 1; i < walk.frames.size(); ++i)
        if (map.find(walk.frames[i].address) == nullptr) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static World world;
    std::vector<std::uint64_t> words(size / 8);
    if (words.size() <= Registers::count) return 0;
    std::memcpy(words.data(), data, words.size() * 8);
    for (auto& value : words) value = world.word(value);
    Registers registers;
    std::copy_n(words.begin(), Registers::count, registers.value.begin());
    registers.value[Registers::stack_pointer] = stack_at;
    words.erase(words.begin(), words.begin() + Registers::count);
    // The copy is a part of it, in memory of its own, so that a read past its end is seen.
    const std::vector<std::uint64_t> copied(words.begin(), words.begin() + static_cast<long>(words.size() / 2));
    Live live(words);
    Walk walk;
    for (Unwinder* const unwinder : {world.by_cfi.get(), world.by_frame_pointer.get()}) {
        unwinder->walk(registers, {stack_at, std::as_bytes(std::span(copied))}, nullptr, walk);
        check(walk, world.map, words.size());
        unwinder->walk(registers, {stack_at, std::as_bytes(std::span(copied))}, &live, walk);
        check(walk, world.map, words.size());
    }
    return 0;
}
