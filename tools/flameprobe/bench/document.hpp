// A document of headings, paragraphs, tables and pictures, written as Markdown, HTML or for a terminal.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace flameprobe::bench {

struct Heading {
    int level = 1;
    std::string text;
};

struct Paragraph {
    std::string text;
};

struct Cell {
    Cell(std::string what) : text(std::move(what)) {}
    Cell(const char* what) : text(what) {}
    Cell(std::string what, std::string where, std::string name = {})
        : text(std::move(what)), link(std::move(where)), found(std::move(name)) {}
    std::string text;
    std::string link;   // relative; empty: none
    std::string found;  // a function to highlight in the flame graph at `link`
    std::string whole;  // what `text` is short for; a tooltip in HTML
};

/// The first column is text, the others are figures, which are right-aligned, except those in `left`.
struct Table {
    std::vector<std::string> header;
    std::vector<std::vector<Cell>> rows;
    std::vector<std::size_t> left;
};

/// A picture; adjacent ones are shown side by side, each in a place of the same width.
struct Picture {
    std::string path, caption;
    std::vector<std::string> also;  // the same in other formats
    double width = 100;             // percent of its place
};

/// An SVG of a few lines; only in HTML.
struct Chart {
    std::string svg;
};

class Document {
public:
    using Block = std::variant<Heading, Paragraph, Table, Picture, Chart>;

    template <class Kind>
    void push_back(Kind block) {
        blocks_.emplace_back(std::in_place_type<Kind>, std::move(block));
    }
    auto begin() const { return blocks_.begin(); }
    auto end() const { return blocks_.end(); }

private:
    std::vector<Block> blocks_;
};

std::string to_markdown(const Document& document);
std::string to_html(const Document& document, const std::string& title);
/// `columns`: of the terminal, 0 where lines may have any length. Names are cut to fit it.
std::string to_text(const Document& document, std::size_t columns = 0);

std::string html_escaped(const std::string& text);

}  // namespace flameprobe::bench
