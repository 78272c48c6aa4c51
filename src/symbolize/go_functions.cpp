// Functions by Go's own table, which a stripped program still has.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/byte_reader.hpp"
#include "symbolize/symbol_table.hpp"

namespace flameprobe {

namespace {

struct GoTable {
    Bytes bytes;
    std::uint64_t count = 0, text = 0, names = 0, functions = 0;

    std::uint32_t u32(std::uint64_t at) const { return ByteReader(bytes, at).u32(); }
    /// Offset of a function's code from `text`. The index after the last function's gives that function's end.
    std::uint32_t start(std::uint64_t index) const { return u32(functions + 8 * index); }
    std::string_view name(std::uint64_t index) const {
        constexpr std::uint64_t name_offset = 4;
        const std::uint64_t function = functions + u32(functions + 8 * index + 4);
        return ByteReader(bytes, names + u32(function + name_offset)).text();
    }
};

std::optional<GoTable> table_of(const ElfFile& file) {
    constexpr std::uint32_t go_1_18 = 0xfffffff0, go_1_20 = 0xfffffff1;
    Bytes bytes = file.contents(".gopclntab");
    if (bytes.empty()) bytes = file.contents(".data.rel.ro.gopclntab");
    ByteReader header(bytes);
    const std::uint32_t magic = header.u32();
    header.skip(3);
    const std::uint8_t pointer_size = header.u8();
    if ((magic != go_1_18 && magic != go_1_20) || pointer_size != 8) return std::nullopt;
    GoTable table{bytes};
    table.count = header.u64();
    header.skip(8);  // the number of files
    table.text = header.u64();
    table.names = header.u64();
    header.skip(3 * 8);  // units, files, programs of line numbers
    table.functions = header.u64();
    const bool fits = table.functions < bytes.size() && table.count < (bytes.size() - table.functions) / 8;
    return fits ? std::optional(table) : std::nullopt;
}

/// Later releases leave the code's address out, since it takes a relocation. runtime.goexit is a nop and a call of
/// runtime.goexit1 (nop; call; nop on x86-64, mov x0, x0; bl on aarch64), and the table says how far they are apart.
std::optional<std::uint64_t> find_text(const ElfFile& file, const GoTable& table) {
    std::optional<std::uint32_t> exit;
    std::vector<std::uint32_t> callees;  // one for each of Go's calling conventions
    for (std::uint64_t i = 0; i < table.count; ++i) {
        if (table.name(i) == "runtime.goexit") exit = table.start(i);
        if (table.name(i) == "runtime.goexit1") callees.push_back(table.start(i));
    }
    const ElfSection* const section = file.find(".text");
    if (!exit || section == nullptr) return std::nullopt;
    const std::string_view code = as_text(file.contents(*section));
    constexpr std::string_view x86_64("\x90\xe8", 2), aarch64("\xe0\x03\x00\xaa", 4);
    const std::string_view sought = file.machine() == EM_AARCH64 ? aarch64 : x86_64;
    for (auto at = code.find(sought); at != code.npos; at = code.find(sought, at + 1)) {
        std::int32_t distance = 0;
        if (code.size() - at < sought.size() + sizeof distance) break;
        std::memcpy(&distance, code.data() + at + sought.size(), sizeof distance);
        std::int64_t from_start = distance + 6;
        if (file.machine() == EM_AARCH64) {
            constexpr int other_bits = 6;  // an instruction's, beside the distance in instructions
            from_start =
                (static_cast<std::int32_t>(static_cast<std::uint32_t>(distance) << other_bits) >> other_bits) * 4 + 4;
        }
        const auto callee = static_cast<std::uint32_t>(*exit + from_start);
        if (std::ranges::find(callees, callee) != callees.end()) return section->address + at - *exit;
    }
    return std::nullopt;
}

}  // namespace

void add_go_functions(const ElfFile& file, SymbolTable& symbols) {
    const auto table = table_of(file);
    if (!table) return;
    const auto text = table->text != 0 ? table->text : find_text(file, *table);
    if (!text) return;
    for (std::uint64_t i = 0; i < table->count; ++i) {
        const std::string_view name = table->name(i);
        const std::uint64_t start = *text + table->start(i), end = *text + table->start(i + 1);
        if (!name.empty() && start < end) symbols.add({start, end, name});
    }
}

}  // namespace flameprobe
