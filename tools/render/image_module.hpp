// What libflameprobe-image.so gives. It is opened when an image is asked for: librsvg brings forty libraries, and 9 ms.
#pragma once

#include <string>

#include "base/result.hpp"
#include "image.hpp"
#include "outside/byte_stream.hpp"

namespace flameprobe {

using DrawImage = void(const std::string& svg, ImageKind kind, const ByteSink& out, Result<void>& drawn);

}  // namespace flameprobe

extern "C" flameprobe::DrawImage flameprobe_draw_image;
