#include "export/folded_reader.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "export/text.hpp"

namespace flameprobe {

namespace {

constexpr std::size_t head_size = 64 * 1024;            // looked at before the meaning of two columns is decided
constexpr std::size_t longest_line = 64 * 1024 * 1024;  // 10,000 frames of 6 kB; what is longer is no folded text
constexpr std::uint64_t most_samples = std::numeric_limits<std::int64_t>::max();  // pprof and JSON tools have int64
constexpr const char* expected = "expected lines of FRAME;FRAME;... COUNT";
constexpr std::uint32_t no_count = ~std::uint32_t{0};

/// Where a frame of the line before ended, and its node.
struct FrameEnd {
    std::size_t end;
    NodeId node;
};

/// Bytes that both start with. Byte by byte it took a quarter of the time of reading and writing.
std::size_t common_prefix(std::string_view a, std::string_view b) {
    constexpr std::size_t block = 64;
    std::size_t at = 0;
    while (at + block <= std::min(a.size(), b.size()) && std::memcmp(a.data() + at, b.data() + at, block) == 0)
        at += block;
    return static_cast<std::size_t>(std::ranges::mismatch(a.substr(at), b.substr(at)).in1 - a.begin());
}

std::string excerpt(std::string_view line) {
    constexpr std::size_t most = 60;
    std::string shown = one_line(line.substr(0, most));
    while (!shown.empty() && shown.back() == ' ') shown.pop_back();
    return '"' + shown + (line.size() > most ? "...\"" : "\"");
}

/// Of one input.
struct Input {
    std::string where;
    ThreadId thread = 0;
    std::string head;  // the input up to the decision on columns
    bool decided = false;
    bool two_counts = false;
    std::string carry;      // a line that began in an earlier piece
    bool skipping = false;  // the rest of a line that is too long
    std::string previous;   // the stack of the line before: neighbours share most of their frames
    std::vector<FrameEnd> path;
    std::vector<std::uint32_t> count_of_node;
    std::uint64_t lines = 0, bytes = 0, good = 0, bad = 0, first_bad = 0, below_zero = 0;
    std::string bad_excerpt;
    std::string failure;
};

}  // namespace

struct FoldedReader::State : Input {
    State(NamedProfile& p, std::string w) : profile(p), names(p) {
        if (profile.nodes.empty()) profile.nodes.emplace_back();
        for (NodeId id = 1; id < profile.nodes.size(); ++id) index.add(profile.nodes, id);
        for (const NamedCount& count : profile.counts) total += count.weight;
        start(std::move(w));
    }

    void start(std::string w) {
        static_cast<Input&>(*this) = {};
        where = std::move(w);
        // Folded text has no threads: in a profile with threads its samples get one of their own.
        thread = static_cast<ThreadId>(profile.threads.size());
        if (!profile.threads.empty()) profile.threads.push_back({0, where});
    }

    void decide() {
        decided = true;
        // Lines of a binary file may happen to end in a number, so a zero byte decides.
        if (head.find('\0') != std::string::npos) failure = where + ": this is no text: " + expected;
        std::string_view rest = head;
        std::size_t with_two = 0, with_one = 0;
        while (!rest.empty()) {
            const std::size_t end = rest.find('\n');
            if (end == std::string_view::npos && head.size() >= head_size) break;  // cut in the middle
            const std::string_view text = rest.substr(0, end);
            if (has_two_counts(text))
                ++with_two;
            else if (parse_folded_line(text, false).well_formed)
                ++with_one;
            rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
        }
        two_counts = with_two > 0 && with_one == 0;
        const std::string text = std::exchange(head, {});
        process(text);
    }
    void process(std::string_view text) {
        while (!text.empty()) {
            const std::size_t end = text.find('\n');
            if (end == std::string_view::npos) {
                if (skipping) return;
                carry += text;
                if (carry.size() > longest_line) {
                    ++lines;
                    bad_line(carry);
                    std::exchange(carry, {});
                    skipping = true;
                }
                return;
            }
            if (skipping) {
                skipping = false;
            } else if (carry.empty()) {
                line(text.substr(0, end));
            } else {
                carry += text.substr(0, end);
                line(carry);
                carry.clear();
            }
            text.remove_prefix(end + 1);
        }
    }
    void line(std::string_view text) {
        ++lines;
        const FoldedLine parsed = parse_folded_line(text, two_counts);
        if (!parsed.well_formed) return bad_line(text);
        ++good;
        below_zero += parsed.below_zero ? 1 : 0;
        if (parsed.count == 0 || !failure.empty()) return;
        if (parsed.count > most_samples - std::min(total, most_samples)) {
            failure = where + ": line " + std::to_string(lines) + ": the counts add up to more than 2^63 - 1";
            return;
        }
        add(stack(parsed.stack), parsed.count);
    }
    NodeId stack(std::string_view text) {
        const std::size_t common = common_prefix(text, previous);
        const auto still_there = [&](const FrameEnd& step) {
            return step.end <= common && (step.end == text.size() || text[step.end] == ';');
        };
        while (!path.empty() && !still_there(path.back())) path.pop_back();
        NodeId node = path.empty() ? 0 : path.back().node;
        std::size_t at = path.empty() ? 0 : path.back().end + 1;
        while (at < text.size()) {
            const std::size_t end = std::min(text.find(';', at), text.size());
            if (end > at) {
                node = index.child(profile.nodes, node, names.intern(text.substr(at, end - at)));
                path.push_back({end, node});
            }
            at = end + 1;
        }
        previous.resize(common);
        previous += text.substr(common);
        return node;
    }
    void add(NodeId node, std::uint64_t weight) {
        total += weight;
        if (node >= count_of_node.size()) count_of_node.resize(profile.nodes.size(), no_count);
        std::uint32_t& count = count_of_node[node];
        if (count == no_count) {
            count = static_cast<std::uint32_t>(profile.counts.size());
            profile.counts.push_back({node, thread, 0, 0});
        }
        profile.counts[count].weight += weight;
        profile.counts[count].hits += weight;  // folded text has no separate number of samples
    }
    void bad_line(std::string_view text) {
        if (text.find_first_not_of(" \t\r\v\f") == std::string_view::npos) return;  // blank lines are passed over
        if (bad++ > 0) return;
        first_bad = lines;
        bad_excerpt = excerpt(text);
    }

    NamedProfile& profile;
    FrameNames names;
    NodeIndex index;
    std::uint64_t total = 0;
};

FoldedReader::FoldedReader(NamedProfile& profile, std::string where)
    : state_(std::make_unique<State>(profile, std::move(where))) {}

FoldedReader::~FoldedReader() = default;

void FoldedReader::feed(std::string_view piece) {
    State& s = *state_;
    s.bytes += piece.size();
    try {
        if (s.decided) return s.process(piece);
        s.head += piece;
        if (s.head.size() >= head_size) s.decide();
    } catch (const std::bad_alloc&) {
        s.failure = s.where + ": out of memory after line " + std::to_string(s.lines);
    }
}

bool FoldedReader::has_failed() const { return !state_->failure.empty(); }

void FoldedReader::next_input(std::string where) { state_->start(std::move(where)); }

Result<void> FoldedReader::finish() {
    State& s = *state_;
    if (!s.decided) s.decide();
    if (!s.carry.empty()) s.line(std::exchange(s.carry, {}));
    if (!s.failure.empty()) return Error{s.failure};
    if (s.bytes == 0) return Error{s.where + ": the input is empty: " + expected};
    if (s.good == 0) {
        if (s.bad == 0) return Error{s.where + ": the input has only blank lines: " + expected};
        return Error{s.where + ": line " + std::to_string(s.first_bad) + ": no count after the stack in " +
                     s.bad_excerpt + ": " + expected};
    }
    if (s.below_zero > 0)
        s.profile.warnings.push_back(s.where + ": " + std::to_string(s.below_zero) +
                                     (s.below_zero == 1 ? " line" : " lines") + " with a count below zero left out");
    if (s.bad > 0)
        s.profile.warnings.push_back(s.where + ": " + std::to_string(s.bad) + (s.bad == 1 ? " line" : " lines") +
                                     " without a count left out; the first is line " + std::to_string(s.first_bad) +
                                     ": " + s.bad_excerpt);
    return {};
}

}  // namespace flameprobe
