#include "cut_away.hpp"

#include <regex.h>

#include <vector>

#include "export/text.hpp"
#include "render/describe.hpp"
#include "render/function_totals.hpp"
#include "render/role.hpp"

namespace flameprobe {

namespace {

/// A regular expression of POSIX, as grep -E has them; std::regex would recurse over long names.
class Expression {
public:
    explicit Expression(const std::string& text)
        : status_(regcomp(&compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB)) {}
    ~Expression() {
        if (status_ == 0) regfree(&compiled_);
    }
    Expression(const Expression&) = delete;
    Expression& operator=(const Expression&) = delete;

    std::string problem() const {
        if (status_ == 0) return {};
        char text[200];
        regerror(status_, &compiled_, text, sizeof text);
        return text;
    }
    bool matches(const std::string& name) const { return regexec(&compiled_, name.c_str(), 0, nullptr, 0) == 0; }

private:
    regex_t compiled_;
    const int status_;
};

using Marks = std::vector<bool>;  // by function

Result<Marks> matching(const NamedProfile& profile, const std::string& text) {
    const Expression expression(text);
    if (const std::string problem = expression.problem(); !problem.empty()) {
        return Error{"'" + text + "' is no regular expression: " + problem};
    }
    Marks marks(profile.functions.size());
    for (FunctionId id = 0; id < marks.size(); ++id) {
        const std::string name(profile.strings.view(profile.functions[id].name));
        marks[id] = expression.matches(name) || expression.matches(short_name(profile, id)) ||
                    expression.matches(display_name(profile, id));
    }
    return marks;
}

/// Removes counts, and their times with them.
void keep_counts(NamedProfile& profile, auto&& kept) {
    constexpr std::uint32_t gone = ~std::uint32_t{0};
    std::vector<std::uint32_t> now(profile.counts.size(), gone);
    std::uint32_t left = 0;
    for (std::uint32_t at = 0; at < now.size(); ++at) {
        if (!kept(profile.counts[at])) continue;
        now[at] = left;
        profile.counts[left++] = profile.counts[at];
    }
    profile.counts.resize(left);
    std::erase_if(profile.times, [&](const TimedWeight& time) { return now[time.count] == gone; });
    for (TimedWeight& time : profile.times) time.count = now[time.count];
}

Result<void> select(NamedProfile& profile, const std::string& text, bool keep) {
    if (text.empty()) return {};
    const auto marks = matching(profile, text);
    if (!marks) return marks.error();
    Marks inside(profile.nodes.size());
    for (NodeId id = 1; id < inside.size(); ++id)  // a parent comes before its children
        inside[id] = inside[profile.nodes[id].parent] || (*marks)[profile.function_of(id)];
    keep_counts(profile, [&](const NamedCount& count) { return inside[count.node] == keep; });
    return {};
}

NodeId add_hidden_note(NamedProfile& profile) {
    const auto function = static_cast<FunctionId>(profile.functions.size());
    profile.functions.push_back({.name = profile.strings.intern("[hidden]"), .kind = FrameKind::note});
    profile.frames.push_back({.function = function});
    profile.nodes.push_back({0, static_cast<FrameId>(profile.frames.size() - 1)});
    return static_cast<NodeId>(profile.nodes.size() - 1);
}

/// `hidden`: by node. recursion: a function that calls itself is one frame.
void hide(NamedProfile& profile, const Marks& hidden, bool recursion) {
    std::vector<NodeId> now(profile.nodes.size());
    for (NodeId id = 1; id < now.size(); ++id) {
        NamedNode& node = profile.nodes[id];
        node.parent = now[node.parent];
        const bool again = recursion && node.parent != 0 && profile.function_of(node.parent) == profile.function_of(id);
        now[id] = hidden[id] || again ? node.parent : id;
    }
    NodeId note = 0;
    for (NamedCount& count : profile.counts) {
        const bool had_frames = count.node != 0;
        count.node = now[count.node];
        if (count.node != 0 || !had_frames) continue;
        if (note == 0) note = add_hidden_note(profile);
        count.node = note;
    }
}

/// The nodes of glue, and with own_code those of other's code that other's code called.
void mark_by_role(const NamedProfile& profile, const CutOptions& options, Marks& hidden) {
    if (!options.own_code && !options.fold_glue) return;
    const std::vector<Role> roles = function_roles(profile);
    const auto role = [&](NodeId id) { return id == 0 ? Role::own : roles[profile.function_of(id)]; };
    const auto foreign = [](Role of) { return of == Role::library || of == Role::glue || of == Role::kernel; };
    for (NodeId id = 1; id < hidden.size(); ++id) {
        const bool inner = options.own_code && foreign(role(id)) && foreign(role(profile.nodes[id].parent));
        if (role(id) == Role::glue || inner) hidden[id] = true;
    }
}

Result<void> hide_frames(NamedProfile& profile, const CutOptions& options) {
    if (options.hide.empty() && options.inlined && !options.own_code && !options.fold_glue) return {};
    Marks hidden(profile.functions.size());
    if (!options.hide.empty()) {
        auto marks = matching(profile, options.hide);
        if (!marks) return marks.error();
        hidden = std::move(*marks);
    }
    for (FunctionId id = 0; id < hidden.size(); ++id) {
        const FrameKind kind = profile.functions[id].kind;
        if (kind == FrameKind::thread) hidden[id] = false;
        if (kind == FrameKind::inlined && !options.inlined) hidden[id] = true;
    }
    Marks nodes(profile.nodes.size());
    for (NodeId id = 1; id < nodes.size(); ++id) nodes[id] = hidden[profile.function_of(id)];
    mark_by_role(profile, options, nodes);
    hide(profile, nodes, options.fold_glue);
    return {};
}

}  // namespace

std::string CutOptions::description() const {
    std::string text;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    if (!focus.empty()) add("only stacks with '" + focus + "'");
    if (!ignore.empty()) add("without stacks of '" + ignore + "'");
    if (!hide.empty()) add("without frames '" + hide + "'");
    if (!inlined) add("without inlined frames");
    if (own_code) add("own code");
    if (fold_glue) add("without glue");
    return text;
}

Result<void> check_expression(const std::string& text) {
    const std::string problem = Expression(text).problem();
    if (!problem.empty()) return Error{"'" + text + "' is no regular expression: " + problem};
    return {};
}

bool matches_expression(const std::string& text, const std::string& name) { return Expression(text).matches(name); }

Result<void> cut_away(NamedProfile& profile, const CutOptions& options) {
    if (auto done = select(profile, options.focus, true); !done) return done;
    if (auto done = select(profile, options.ignore, false); !done) return done;
    if (auto done = hide_frames(profile, options); !done) return done;
    if (options.merge_threads) merge_threads(profile);
    if (options.short_names) shorten_names(profile);
    return {};
}

}  // namespace flameprobe
