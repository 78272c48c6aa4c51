#include "image.hpp"

#include <dlfcn.h>

#include "installed_file.hpp"

namespace flameprobe {

std::optional<ImageKind> image_by_name(std::string_view name) {
    if (name == "png") return ImageKind::png;
    if (name == "pdf") return ImageKind::pdf;
    return std::nullopt;
}

std::optional<ImageKind> image_by_path(std::string_view path) {
    const auto dot = path.rfind('.');
    return dot == path.npos ? std::nullopt : image_by_name(path.substr(dot + 1));
}

#ifdef FLAMEPROBE_HAVE_RSVG

Result<void> write_image(const std::string& svg, ImageKind kind, const ByteSink& out) {
    const auto path = installed_file("flameprobe/libflameprobe-image.so", "../render/libflameprobe-image.so");
    if (!path) return Error{path.error().message + "; write an .svg"};
    void* const module = ::dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr)
        return Error{std::string(::dlerror()) + "; images need librsvg (package librsvg2-2): write an .svg"};
    const auto draw = reinterpret_cast<DrawImage*>(::dlsym(module, "flameprobe_draw_image"));
    if (draw == nullptr) return Error{*path + " is of another version"};
    Result<void> drawn;
    draw(svg, kind, out, drawn);
    return drawn;  // the module stays: glib cannot be unloaded
}

#else

Result<void> write_image(const std::string&, ImageKind, const ByteSink&) {
    return Error{"this flameprobe-render was built without librsvg (package librsvg2-dev): write an .svg"};
}

#endif

}  // namespace flameprobe
