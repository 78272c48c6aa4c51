// PNG and PDF by librsvg and cairo.
#include <cairo-pdf.h>
#include <librsvg/rsvg.h>

#include <cmath>
#include <memory>

#include "image.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

constexpr double most_pixels = 32767;  // cairo's limit for a side of an image

struct Unref {
    void operator()(RsvgHandle* handle) const { g_object_unref(handle); }
    void operator()(GError* error) const { g_error_free(error); }
    void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
    void operator()(cairo_t* context) const { cairo_destroy(context); }
};
template <class T>
using Owned = std::unique_ptr<T, Unref>;

cairo_status_t append(void* sink, const unsigned char* bytes, unsigned size) try {
    (*static_cast<const ByteSink*>(sink))({reinterpret_cast<const char*>(bytes), size});
    return CAIRO_STATUS_SUCCESS;
} catch (...) {
    return CAIRO_STATUS_WRITE_ERROR;
}

Error cairo_error(cairo_status_t status) { return Error{std::string("cairo: ") + cairo_status_to_string(status)}; }

Result<void> render(RsvgHandle* handle, cairo_surface_t* surface, double width, double height) {
    const Owned<cairo_t> context(cairo_create(surface));
    const RsvgRectangle area{0, 0, width, height};
    GError* problem = nullptr;
    if (!rsvg_handle_render_document(handle, context.get(), &area, &problem)) {
        const Owned<GError> owned(problem);
        return Error{std::string("librsvg: ") + problem->message};
    }
    if (cairo_status(context.get()) != CAIRO_STATUS_SUCCESS) return cairo_error(cairo_status(context.get()));
    return {};
}

Result<void> draw(const std::string& svg, ImageKind kind, const ByteSink& out) {
    GError* problem = nullptr;
    const Owned<RsvgHandle> handle(
        rsvg_handle_new_from_data(reinterpret_cast<const guint8*>(svg.data()), svg.size(), &problem));
    if (!handle) {
        const Owned<GError> owned(problem);
        return Error{std::string("librsvg: ") + problem->message};
    }
    double width = 0, height = 0;
    if (!rsvg_handle_get_intrinsic_size_in_pixels(handle.get(), &width, &height)) {
        return Error{"librsvg: the picture has no size"};
    }
    if (kind == ImageKind::png && std::max(width, height) > most_pixels) {
        return Error{"the picture would be " + count_text(static_cast<std::uint64_t>(std::max(width, height))) +
                     " pixels tall, and a PNG holds 32,767: write a .pdf or .svg, or leave out narrow frames "
                     "with --min-width"};
    }
    void* sink = const_cast<ByteSink*>(&out);
    const Owned<cairo_surface_t> surface(
        kind == ImageKind::png
            ? cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(std::ceil(width)),
                                         static_cast<int>(std::ceil(height)))
            : cairo_pdf_surface_create_for_stream(append, sink, width * 0.75, height * 0.75));  // in points
    // Without the time of rendering, so that the same profile gives the same bytes.
    if (kind == ImageKind::pdf) cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATE_DATE, nullptr);
    const double scale = kind == ImageKind::png ? 1 : 0.75;
    if (auto done = render(handle.get(), surface.get(), width * scale, height * scale); !done) return done;
    if (kind == ImageKind::png) {
        const cairo_status_t status = cairo_surface_write_to_png_stream(surface.get(), append, sink);
        if (status != CAIRO_STATUS_SUCCESS) return cairo_error(status);
        return {};
    }
    cairo_surface_finish(surface.get());
    if (cairo_surface_status(surface.get()) != CAIRO_STATUS_SUCCESS)
        return cairo_error(cairo_surface_status(surface.get()));
    return {};
}

}  // namespace

}  // namespace flameprobe

[[gnu::visibility("default")]] void flameprobe_draw_image(const std::string& svg, flameprobe::ImageKind kind,
                                                          const flameprobe::ByteSink& out,
                                                          flameprobe::Result<void>& drawn) {
    drawn = flameprobe::draw(svg, kind, out);
}
