// Static pictures: PNG and PDF, drawn by librsvg from the SVG.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "outside/byte_stream.hpp"

namespace flameprobe {

enum class ImageKind { png, pdf };

/// "png", "pdf"
std::optional<ImageKind> image_by_name(std::string_view name);
/// By ending: .png, .pdf
std::optional<ImageKind> image_by_path(std::string_view path);

/// Draws `svg` at its own size. An Error, and nothing written, if the picture is taller than a PNG may be here
/// (32,767 pixels), or if librsvg is not there.
Result<void> write_image(const std::string& svg, ImageKind kind, const ByteSink& out);

/// What libflameprobe-image.so gives. It is opened when an image is asked for: librsvg brings forty libraries, and 9
/// ms.
using DrawImage = void(const std::string& svg, ImageKind kind, const ByteSink& out, Result<void>& drawn);

}  // namespace flameprobe

extern "C" flameprobe::DrawImage flameprobe_draw_image;
