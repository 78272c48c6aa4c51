// The interactive SVG flame graph, and the self-contained HTML.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "outside/byte_stream.hpp"
#include "render/run_facts.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// The two sides of a comparison, as data of a page: before and after, in this order.
struct PageSides {
    std::array<std::string, 2> names;           // what the inputs are called
    std::array<bool, 2> is_time{};              // whether weights are nanoseconds
    std::array<std::vector<Amount>, 2> counts;  // of each of the profile's counts; without hits: not sampled
    std::vector<Fact> facts;                    // how it was compared
    std::string summary;                        // plain text, for readers without JavaScript
    bool by_amount = false;                     // amounts are compared, as parts of the larger side, not shares
    std::string title;                          // what changed, in a sentence
    double widening = 1;  // of noise beyond that of samples drawn at random (compare/clusters.hpp)
    std::vector<std::array<double, 2>> widening_of;  // of each function: of its own, of its total
    double units = 1;                                // amounts are shown for each of them: "request"
    std::string unit;                                // empty: amounts are shown as they are
    std::vector<FunctionId> opens;                   // the callers of the largest change, from the root
    bool by_self = false;                            // colours and order are by functions' own samples, else by all
};

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

struct FlameGraphOptions {
    std::string title;  // empty: made from the profile
    std::string subtitle;
    std::string colors = "hot";     // see palette.hpp
    bool icicle = false;            // root at the top
    bool reverse = false;           // merge from the leaves
    bool every_frame = false;       // chains are not folded, and in an SVG narrow towers not cut; with min_width 0 too
    std::optional<bool> by_weight;  // siblings: the heaviest first, as is usual, or by name, as where two are compared
    bool brief = false;             // of an SVG: no footer but where it ran, short tooltips, 150 kB at most
    bool own_code = false;          // of a page: what it begins with
    bool fold_glue = false;         // likewise
    bool each_thread = false;       // a box for each thread, where an SVG otherwise merges threads with like names
    unsigned width = 1200;          // pixels
    const PageSource* source = nullptr;  // for the HTML page; null: none
    double min_width = 0.1;  // percent of the time; narrower frames are gathered in one visible box per caller
};

/// Deterministic: the same profile and options give the same bytes. An Error, and nothing written, where there are no
/// samples or the palette is unknown.
Result<void> write_svg(const NamedProfile& profile, const FlameGraphOptions& options, const ByteSink& out);
Result<void> write_html(const NamedProfile& profile, const FlameGraphOptions& options, const ByteSink& out);
/// Two profiles in one page: `profile` has the stacks of both, with the mean of its shares as a count's weight.
Result<void> write_comparison_html(const NamedProfile& profile, const PageSides& sides,
                                   const FlameGraphOptions& options, const ByteSink& out);

/// The page without data, which it requests at "data", relative to its own address. Until that has come it shows the
/// picture of `profile`, if there is one by now, or says what it waits for.
std::string live_page(const NamedProfile* profile, const std::string& waits_for);

/// The answer to a request for "data": title, subtitle, how it was measured, and the profile as in a page that stands
/// alone. An Error as long as there are no samples.
Result<std::string> live_page_data(const NamedProfile& profile, const FlameGraphOptions& options, bool running);

}  // namespace flameprobe
