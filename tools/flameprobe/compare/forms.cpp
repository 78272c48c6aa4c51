#include "forms.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "diff_answer.hpp"
#include "diff_pictures.hpp"
#include "document.hpp"
#include "export/output_file.hpp"
#include "export/text.hpp"
#include "render/function_totals.hpp"
#include "render/text.hpp"
#include "tables.hpp"

namespace flameprobe::compare {

namespace {

using Json = nlohmann::ordered_json;

std::string what_of(const ProfileDiff& diff) {
    const std::string of = diff.of.substr(diff.of.starts_with("the ") ? 4 : 0);
    if (!diff.unit.empty()) return of + each_unit(diff.unit);
    return diff.by_amount ? of : "shares of " + of;
}

Json change_json(const ProfileDiff& diff, const std::string& kind, const std::string& name,
                 const flameprobe::Change& change) {
    // Amounts are weights for each unit of work, or what is alive.
    const double scale = diff.by_amount ? static_cast<double>(change.before().of) / diff.units : 1;
    const double before = change.before().value(), difference = change.difference(), half = change.half();
    return {{"kind", kind},
            {"name", name},
            {"before", before * scale},
            {"after", change.after().value() * scale},
            {"difference", difference * scale},
            {"difference_low", std::max(difference - half, std::min(-before, difference)) * scale},
            {"difference_high", (difference + half) * scale},
            {"change", before == 0 ? Json(nullptr) : Json(difference / before)},
            {"p", change.p()},
            {"beyond_noise", !change.is_noise()}};
}

Json json_of(Compared& compared, const FormOptions& options) {
    ProfileDiff& diff = compared.diff;
    const DiffAnswer& answer = answer_of(diff);
    Json findings = Json::array(), changes = Json::array();
    for (const Finding& finding : answer.findings) {
        Json one = change_json(diff, "stacks", finding.name, finding.change);
        one["where"] = finding.where;
        one["in_words"] = finding.amount;
        findings.push_back(std::move(one));
    }
    std::vector<FunctionChange> all = function_changes(diff);
    std::erase_if(all, [&](const FunctionChange& one) {
        return std::max(one.self.before().value(), one.self.after().value()) < options.least_share;
    });
    std::ranges::stable_sort(all, std::ranges::greater(),
                             [](const FunctionChange& one) { return std::abs(one.self.difference()); });
    for (const FunctionChange& one : all)
        changes.push_back(change_json(diff, "function", display_name(diff.profile, one.function), one.self));
    Json json = Json::object();
    if (!compared.title.empty()) json["scenario"] = compared.title;
    json.update({{"before", compared.names.before},
                 {"after", compared.names.after},
                 {"of", what_of(diff)},
                 {"answer", answer.sentence},
                 {"nothing_else_above", answer.rest},
                 {"not_seen_below", answer.seen},
                 {"throughput_fell", answer.least_fall},
                 {"findings", findings},
                 {"changes", changes},
                 {"remarks", answer.doubts}});
    return json;
}

std::string json_text(std::vector<Compared>& all, const FormOptions& options) {
    Json json = {{"format", "flameprobe-compare"}, {"format_version", 2}};
    if (all.front().title.empty()) {
        json.update(json_of(all.front(), options));
    } else {
        json["comparisons"] = Json::array();
        for (Compared& one : all) json["comparisons"].push_back(json_of(one, options));
        json["remarks"] = options.remarks;
    }
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Of at most 20 lines, for a pull request.
std::string markdown_of(Compared& compared) {
    constexpr std::size_t most = 8;
    const DiffAnswer& answer = answer_of(compared.diff);
    const auto cell = [](const std::string& text) {
        std::string out;
        for (const char letter : text) out += letter == '|' ? std::string("\\|") : std::string(1, letter);
        return out;
    };
    std::string out = "**" + answer.sentence + "**\n\n";
    if (!answer.findings.empty()) out += "| change (95 %) | before | after | function | in |\n|--:|--:|--:|---|---|\n";
    const std::size_t shown = std::min(most, answer.findings.size());
    for (std::size_t at = 0; at < shown; ++at) {
        const Finding& one = answer.findings[at];
        out += "| " + one.amount + " | " + one.before + " | " + one.after + " | `" + cell(one.name) + "` | " +
               (one.where.empty() ? "" : "`" + cell(one.where) + "`") + " |\n";
    }
    if (shown < answer.findings.size()) out += "\nand " + std::to_string(answer.findings.size() - shown) + " more\n";
    out += "\n" + compared.names.before + " → " + compared.names.after + ", " + what_of(compared.diff);
    for (const std::string& doubt : answer.doubts) out += "; " + doubt;
    return out + ".\n";
}

bool has_changed(Compared& one) {
    const DiffAnswer& answer = answer_of(one.diff);
    return !answer.findings.empty() || answer.least_fall > 0;
}

/// "io=2: aggregate: −38 % CPU time a request …"
std::string line_of(Compared& one) { return one.title + ": " + answer_of(one.diff).sentence; }

std::string markdown_text(std::vector<Compared>& all, const FormOptions& options) {
    if (all.front().title.empty()) return markdown_of(all.front());
    std::string out, unchanged;
    for (Compared& one : all) {
        if (has_changed(one))
            out += "### " + one.title + "\n" + markdown_of(one) + "\n";
        else
            unchanged += "- " + line_of(one) + "\n";
    }
    for (const std::string& remark : options.remarks) unchanged += "- " + remark + "\n";
    return out + unchanged;
}

bench::Document document_of(std::vector<Compared>& all, const FormOptions& options) {
    bench::Document document;
    const DiffNames& names = all.front().names;
    document.push_back(bench::Heading{2, names.before + " → " + names.after});
    for (Compared& one : all) {
        const DiffAnswer& answer = answer_of(one.diff);
        document.push_back(bench::Heading{3, one.title});
        document.push_back(bench::Paragraph{answer.sentence});
        bench::Table table{{"function", "before", "after", "change (95 %)", "in"}, {}, {4}};
        for (const Finding& found : answer.findings)
            table.rows.push_back({found.name, found.before, found.after, found.amount, found.where});
        if (!table.rows.empty()) document.push_back(std::move(table));
        for (const std::string& doubt : answer.doubts) document.push_back(bench::Paragraph{doubt + "."});
    }
    for (const std::string& remark : options.remarks) document.push_back(bench::Paragraph{remark + "."});
    return document;
}

Result<void> write_page(const std::string& path, Compared& compared, const std::string& text) {
    OutputFile file(path);
    if (!file.failed()) {
        const ByteSink sink = [&file](std::string_view piece) { file.write(piece); };
        auto written = write_diff_html(compared.diff, compared.names, SortBy::total, text, {}, sink);
        if (!written) return written;
    }
    return file.commit();
}

}  // namespace

ComparedText text_of(std::vector<Compared>& all, const FormOptions& options) {
    TableNames names;
    names.whole = options.long_names;
    names.width = terminal_columns();
    const auto gate = options.fail_above ? std::optional(100 * *options.fail_above) : std::nullopt;
    ComparedText made;
    std::string unchanged;
    for (Compared& one : all) {
        const DiffTable table = diff_table(one.diff, {}, SortBy::total, gate, names);
        made.grown += table.grown;
        const bool alone = all.size() == 1;
        if (!alone && !has_changed(one))
            unchanged += line_of(one) + "\n";
        else
            made.text += (alone ? "" : (made.text.empty() ? "" : "\n") + one.title + "\n") + table.text;
    }
    made.text += (made.text.empty() || unchanged.empty() ? "" : "\n") + unchanged;
    for (const std::string& remark : options.remarks) made.text += remark + "\n";
    return made;
}

Result<void> write_form(const std::string& path, std::vector<Compared>& all, const std::string& text,
                        const FormOptions& options) {
    if (path.ends_with(".json")) return write_file(path, json_text(all, options));
    if (path.ends_with(".md")) return write_file(path, markdown_text(all, options));
    if (all.size() == 1) return write_page(path, all.front(), text);
    return write_file(path, bench::to_html(document_of(all, options), "FlameProbe compare"));
}

}  // namespace flameprobe::compare
