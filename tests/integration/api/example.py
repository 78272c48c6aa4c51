"""FlameProbe from Python, through ctypes: starts, works in labelled scopes, writes what was sampled, and stops.
Run: python3 example.py LIBRARY RESULT"""

import ctypes
import functools
import sys
import time


class Error(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("code", ctypes.c_int32), ("message", ctypes.c_char * 500)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("frequency", ctypes.c_uint32), ("stack_bytes", ctypes.c_uint32)] + [
        (name, ctypes.c_char_p) for name in ("output", "format", "engine", "unwind", "event", "kernel", "dump_every",
                                             "children", "log", "signal", "max_size", "debug_dir")]


BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def load(path):
    library = ctypes.CDLL(path)
    library.flameprobe_start.argtypes = [ctypes.POINTER(Options), ctypes.POINTER(Error)]
    library.flameprobe_stop.argtypes = [ctypes.POINTER(Error)]
    library.flameprobe_dump.argtypes = [ctypes.c_char_p, ctypes.POINTER(Error)]
    library.flameprobe_label.argtypes = [ctypes.c_char_p]
    library.flameprobe_label.restype = ctypes.c_void_p
    library.flameprobe_scope_call.argtypes = [ctypes.c_void_p, BODY, ctypes.c_void_p]
    return library


def scoped(library, text):
    """A decorator: calls of the function are inside a scope. Python keeps its variables on the heap, where no scope is
    seen, so the library keeps the record in its own frame and calls back."""
    label = library.flameprobe_label(text.encode())

    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            result, error = None, None

            def body(_):
                nonlocal result, error
                try:
                    result = function(*args, **kwargs)
                except BaseException as e:  # it must not be lost on its way through C
                    error = e

            library.flameprobe_scope_call(label, BODY(body), None)
            if error is not None:
                raise error
            return result
        return wrapper
    return decorate


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def main():
    library = load(sys.argv[1])

    @scoped(library, "pay")
    def pay():
        work(0.3)
        return "paid"

    @scoped(library, "checkout")
    def checkout():
        work(0.3)
        return pay()

    @scoped(library, "fails")
    def fails():
        raise ValueError("through the scope")

    error = Error(size=ctypes.sizeof(Error))
    options = Options(size=ctypes.sizeof(Options), frequency=999, output=sys.argv[2].encode(), format=b"folded")
    if library.flameprobe_start(ctypes.byref(options), ctypes.byref(error)) != 0:
        sys.exit(f"start: {error.message.decode()}")
    assert library.flameprobe_is_running() == 1
    assert checkout() == "paid"
    try:
        fails()
        sys.exit("the exception got lost")
    except ValueError:
        pass
    work(0.2)
    for what, code in (("dump", library.flameprobe_dump(None, ctypes.byref(error))),
                       ("stop", library.flameprobe_stop(ctypes.byref(error)))):
        if code != 0:
            sys.exit(f"{what}: {error.message.decode()}")


if __name__ == "__main__":
    main()
