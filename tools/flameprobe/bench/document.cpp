#include "document.hpp"

#include <algorithm>

#include "base/binary_text.hpp"
#include "export/text.hpp"
#include "markdown.hpp"
#include "render/describe.hpp"
#include "render/text.hpp"

namespace flameprobe::bench {

namespace {

bool is_left(const Table& table, std::size_t column) {
    return column == 0 || std::find(table.left.begin(), table.left.end(), column) != table.left.end();
}

std::string markdown_text(const std::string& text) { return markdown_escaped(one_line(text), "`"); }

/// Escapes spaces and parentheses, which names of the user's directories may have.
std::string url_escaped(const std::string& path) { return percent_encoded(path, "/-_.=,+~"); }

/// A flame graph searches for the regular expression after "#s=".
std::string address_of(const Cell& cell) {
    std::string address = url_escaped(cell.link), term;
    if (cell.found.empty()) return address;
    for (const char c : cell.found) {
        if (std::string("\\^$.|?*+()[]{}").find(c) != std::string::npos) term += '\\';
        term += c;
    }
    for (const char c : url_escaped(term))
        address += c == '+' ? "%2B" : std::string(1, c);  // which means a space there
    return address.insert(url_escaped(cell.link).size(), "#s=");
}

std::string ending_of(const std::string& path) { return path.substr(path.rfind('.') + 1); }

struct Markdown {
    std::string out;

    void operator()(const Heading& heading) {
        out += std::string(static_cast<std::size_t>(heading.level), '#') + " " + markdown_text(heading.text) + "\n\n";
    }
    void operator()(const Paragraph& paragraph) { out += markdown_text(paragraph.text) + "\n\n"; }
    void operator()(const Picture& picture) {
        out += "[" + markdown_text(picture.caption) + "](" + url_escaped(picture.path) + ")";
        for (const std::string& path : picture.also) out += " [" + ending_of(path) + "](" + url_escaped(path) + ")";
        out += "\n\n";
    }
    void operator()(const Chart&) {}
    void operator()(const Table& table) {
        for (const std::string& title : table.header) out += "| " + markdown_text(title) + " ";
        out += "|\n";
        for (std::size_t i = 0; i < table.header.size(); ++i) out += is_left(table, i) ? "|---" : "|---:";
        out += "|\n";
        for (const auto& row : table.rows) {
            for (const Cell& cell : row) {
                const std::string text = markdown_text(cell.text);
                out += "| " + (cell.link.empty() ? text : "[" + text + "](" + address_of(cell) + ")") + " ";
            }
            out += "|\n";
        }
        out += "\n";
    }
};

struct Html {
    std::string out;

    void operator()(const Heading& heading) {
        const std::string tag = "h" + std::to_string(heading.level) + ">";
        out += "<" + tag + html_escaped(heading.text) + "</" + tag + "\n";
    }
    void operator()(const Paragraph& paragraph) { out += "<p>" + html_escaped(paragraph.text) + "</p>\n"; }
    void operator()(const Chart& chart) { out += chart.svg + "\n"; }
    void operator()(const Picture& picture) {
        const std::string path = url_escaped(picture.path), width = std::to_string(picture.width);
        out += "<figure><a href=\"" + path + "\"><img style=\"width:" + width + "%\" src=\"" + path + "\" alt=\"" +
               html_escaped(picture.caption) + "\"></a><figcaption>" + html_escaped(picture.caption);
        for (const std::string& also : picture.also)
            out += " <a href=\"" + url_escaped(also) + "\">" + ending_of(also) + "</a>";
        out += "</figcaption></figure>\n";
    }
    void operator()(const Table& table) {
        out += "<table>\n<tr>";
        for (std::size_t i = 0; i < table.header.size(); ++i)
            out += (is_left(table, i) ? "<th class=\"left\">" : "<th>") + html_escaped(table.header[i]) + "</th>";
        out += "</tr>\n";
        for (const auto& row : table.rows) {
            out += "<tr>";
            for (std::size_t i = 0; i < row.size(); ++i) {
                const std::string text = html_escaped(row[i].text);
                out += is_left(table, i) ? "<td class=\"left\"" : "<td";
                if (row[i].whole != row[i].text && !row[i].whole.empty())
                    out += " title=\"" + html_escaped(row[i].whole) + "\"";
                out += ">";
                out += row[i].link.empty() ? text : "<a href=\"" + address_of(row[i]) + "\">" + text + "</a>";
                out += "</td>";
            }
            out += "</tr>\n";
        }
        out += "</table>\n";
    }
};

struct Text {
    std::size_t columns = 0;
    std::string out{};

    void operator()(const Heading& heading) { out += heading.text + "\n"; }
    void operator()(const Paragraph& paragraph) { out += paragraph.text + "\n\n"; }
    void operator()(const Picture&) {}
    void operator()(const Chart&) {}
    void operator()(const Table& table) {
        std::vector<std::size_t> widths;
        for (const std::string& title : table.header) widths.push_back(flameprobe::columns(title));
        for (const auto& row : table.rows) {
            for (std::size_t i = 0; i < row.size(); ++i)
                widths[i] = std::max(widths[i], flameprobe::columns(row[i].text));
        }
        fit(widths);
        const auto line = [&](const auto& cells, const auto& text) {
            std::string whole;
            for (std::size_t i = 0; i < cells.size(); ++i) {
                const std::string pad(widths[i] - flameprobe::columns(text(cells[i])), ' ');
                whole += (i == 0 ? "  " : "   ") + (is_left(table, i) ? text(cells[i]) + pad : pad + text(cells[i]));
            }
            whole.erase(whole.find_last_not_of(' ') + 1);
            out += whole + "\n";
        };
        line(table.header, [](const std::string& title) { return title; });
        for (const auto& row : table.rows)
            line(row, [&](const Cell& cell) {
                const std::string text = one_line(cell.text);
                return &cell == &row.front() ? fit_name(text, widths.front()) : text;
            });
        out += "\n";
    }
    /// Takes from the first column, the names, what the line has too much.
    void fit(std::vector<std::size_t>& widths) const {
        constexpr std::size_t least = 20, between = 3, before = 2;
        std::size_t all = before;
        for (const std::size_t width : widths) all += width + between;
        all -= between;
        if (columns == 0 || all <= columns || widths.front() <= least) return;
        widths.front() = std::max(least, widths.front() - std::min(widths.front(), all - columns));
    }
};

constexpr const char* style =
    ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:72em;padding:0 "
    "1em;color:#222;background:#fff}"
    "table{border-collapse:collapse;margin:1em 0;font-variant-numeric:tabular-nums;display:block;overflow-x:auto}"
    "th,td{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}"
    "td{white-space:nowrap}.left{text-align:left}"
    "td.left{min-width:8em;max-width:40em;white-space:normal;overflow-wrap:break-word}"
    ".pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30em),1fr));gap:0 1em;"
    "width:min(94vw,150em);margin-left:calc(50% - min(47vw,75em))}"
    "figure{margin:1em 0}figure img{box-sizing:border-box;border:1px solid #8886}"
    "figcaption{color:#555}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}th,td{border-color:#444}a{color:#8bf}"
    "figcaption{color:#aaa}}";

}  // namespace

std::string html_escaped(const std::string& text) {
    std::string out;
    append_xml(out, one_line(text));
    return out;
}

std::string to_markdown(const Document& document) {
    Markdown markdown;
    for (const auto& block : document) std::visit(markdown, block);
    return markdown.out;
}

std::string to_html(const Document& document, const std::string& title) {
    Html html;
    bool among_pictures = false;
    for (const auto& block : document) {
        const bool picture = std::holds_alternative<Picture>(block);
        if (picture != among_pictures) html.out += picture ? "<div class=\"pictures\">\n" : "</div>\n";
        among_pictures = picture;
        std::visit(html, block);
    }
    if (among_pictures) html.out += "</div>\n";
    return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
           "content=\"width=device-width\"><title>" +
           html_escaped(title) + "</title><style>" + style + "</style></head>\n<body>\n" + html.out +
           "</body></html>\n";
}

std::string to_text(const Document& document, std::size_t columns) {
    Text text{columns};
    for (const auto& block : document) std::visit(text, block);
    return text.out;
}

}  // namespace flameprobe::bench
