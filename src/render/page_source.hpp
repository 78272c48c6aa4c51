// Source lines and instructions of hot functions, as data of a page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// A line of a function, and what was inlined there. Sums are of all samples.
struct SourceLine {
    std::uint32_t line = 0;
    Amount self;   // samples that end in the line
    Amount total;  // and in its callees; each sample once
    struct Inlined {
        FunctionId function = 0;
        std::vector<SourceLine> lines;
    };
    std::vector<Inlined> inlined;
};

struct SourceText {
    std::uint32_t line = 0;
    std::string text;
};

struct Instruction {
    std::uint64_t address = 0;  // in the file
    Amount self;
    std::string text;
};

/// A function that is not inlined, its place, and what was inlined into it.
struct FunctionSource {
    FunctionId function = 0;
    std::uint64_t self = 0;         // weight, with what is inlined
    std::vector<SourceLine> lines;  // in order
    std::vector<SourceText> text;   // in order; empty: the file was not found. Lines far from samples are missing
    std::vector<Instruction> instructions;
    std::string note;  // why something is missing
};

/// Text of lines of inlined functions, which may stand in any file.
struct InlinedText {
    FunctionId function = 0;
    std::vector<SourceText> text;
};

struct PageSource {
    std::vector<FunctionSource> functions;  // the hottest first
    std::vector<InlinedText> inlined;
};

}  // namespace flameprobe
