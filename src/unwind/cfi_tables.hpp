// The unwind tables of ELF files, as rules.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>

#include "unwind/cfi_row.hpp"
#include "unwind/elf_image.hpp"
#include "unwind/frame_sections.hpp"
#include "unwind/unwind_rule.hpp"

namespace flameprobe {

/// What a table says of an instruction.
struct TableFrame {
    CfiEntry entry;
    CfiRow row;

    CfiRule return_address() const { return row.lookup(entry.common.return_column); }
    std::span<const std::byte> expression(const CfiRule& rule) const { return expression_of(entry.section, rule); }
};

/// One thread only.
class CfiTables {
public:
    /// `path`: of the file, beside which separate debug files are looked for.
    explicit CfiTables(ElfImage image, std::string path = {});
    CfiTables(const CfiTables&) = delete;
    CfiTables& operator=(const CfiTables&) = delete;

    const ElfImage& image() const { return image_; }
    /// Whether Go's linker made it.
    bool is_go() const { return is_go_; }
    /// The rule for the instruction at `address` of the process, which the file has at `address - bias`. Its kind is
    /// no_cfi where neither .eh_frame nor .debug_frame covers it.
    UnwindRule rule(std::uint64_t address, std::uint64_t bias);
    /// What the tables say of the instruction at the file's virtual address; nothing where neither covers it. Its bytes
    /// belong to the tables.
    std::optional<TableFrame> frame(std::uint64_t file_address);

    /// Which function an address lies in, as far as the tables tell functions apart.
    struct Function {
        /// The file's virtual address of the last function that begins at or before the address; 0 if none.
        std::uint64_t start = 0;
        bool described = false;  // false: in a hole after that function, where code without CFI lies
        bool split_off = false;  // not entered by a call: its first rule already has a frame
        std::uint64_t end = 0;   // where the next function starts; 0 if there is none
        bool operator==(const Function&) const = default;
    };
    Function function(std::uint64_t address, std::uint64_t bias);
    /// Where the last of a function's rules begins, or of its first 64; 0 if it has none.
    std::uint64_t last_rule_of(std::uint64_t function, std::uint64_t bias);
    bool begins_function(std::uint64_t address, std::uint64_t bias) const {
        return eh_frame_.start_of(address - bias) == address - bias;
    }

private:
    ElfImage image_;
    std::string path_;
    EhFrame eh_frame_;
    std::optional<DebugFrame> debug_frame_;  // nothing: not looked for yet
    bool is_go_ = false;
};

/// Unwind tables by code region: opened when an address in them is first met, shared by the regions of one file. One
/// thread only.
class ModuleTable {
public:
    /// Null for code without tables: anonymous memory, files that can be read neither from disk nor from memory.
    struct Tables {
        CfiTables* cfi = nullptr;
        std::uint64_t bias = 0;
    };
    Tables find(const CodeRegion& region);
    /// Drops the tables of regions that are no longer in the map.
    void forget_all_but(const CodeMap& map);
    void close_files();

private:
    using FileKey = std::tuple<std::string, std::string, std::uint64_t, std::uint64_t>;
    struct Module {
        std::shared_ptr<CfiTables> cfi;
        std::uint64_t bias = 0;
    };
    Module open(const CodeRegion& region);

    std::unordered_map<std::uint32_t, Module> regions_;
    std::map<FileKey, std::weak_ptr<CfiTables>> files_;
};

}  // namespace flameprobe
