#!/bin/sh
# Builds calls.cpp in every form that debug information takes, as far as the tools at hand allow.
#   make_variants.sh OUTPUT_DIRECTORY CXX CLANG GXX PREFIX
# CLANG and GXX are those compilers, whichever of them CXX is; PREFIX stands before the names of binutils' programs for
# another CPU.
# Writes OUTPUT_DIRECTORY/variants.txt, a line for each: NAME WHAT FILE MARKS DEBUG_DIRECTORY, where WHAT is `inlines` if
# chains and lines can be had or `functions` if only names, MARKS is the file with the symbols that tell the addresses, and
# DEBUG_DIRECTORY is `-` if none is needed.
set -eu
export CCACHE_DISABLE=1 # what a cache keeps names another build's directory and .dwo files
out=$1 cxx=$2 clang=$3 gxx=$4 prefix=${5:-}
source=$(cd "$(dirname "$0")" && pwd)/calls.cpp
rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$out"

objcopy() { command "${prefix}objcopy" "$@"; }
strip() { command "${prefix}strip" "$@"; }
readelf() { command "${prefix}readelf" "$@"; }
have() { command -v "$1" >/dev/null 2>&1; }
say() { echo "$1 $2 $out/$3 $out/$4 ${5:--}" >>variants.txt; }
# Compiled to an object first, so that split files are named after it and stay.
compile() {
    name=$1
    compiler=$2
    shift 2
    $compiler -O2 -g -fno-lto -c "$@" -o "$name.o" "$source"
    $compiler -Wl,--build-id "$@" -o "$name" "$name.o" 2>/dev/null
}
family() {
    for version in 4 5; do
        compile "$1-dwarf$version" "$2" -gdwarf-$version
        say "$1-dwarf$version" inlines "$1-dwarf$version" "$1-dwarf$version"
        compile "$1-split$version" "$2" -gdwarf-$version -gsplit-dwarf
        say "$1-split$version" inlines "$1-split$version" "$1-split$version"
        for tool in dwp llvm-dwp-14; do
            program=$tool
            [ $tool != dwp ] || program=${prefix}dwp
            have "$program" || continue
            package=$1-$tool$version
            compile "$package" "$2" -gdwarf-$version -gsplit-dwarf
            if $program -e "$package" -o "$package.dwp" 2>/dev/null; then
                rm -f "$package.dwo"
                say "$package" inlines "$package" "$package"
            fi
        done
    done
    compile "$1-gz" "$2" -gz
    say "$1-gz" inlines "$1-gz" "$1-gz"
    compile "$1-fixed-address" "$2" -no-pie
    say "$1-fixed-address" inlines "$1-fixed-address" "$1-fixed-address"
}
family cxx "$cxx"
family clang "$clang"

base=cxx-dwarf5

if objcopy --compress-debug-sections=zstd $base zstd 2>/dev/null; then say zstd inlines zstd zstd; fi

mkdir -p linked/.debug
objcopy --only-keep-debug $base linked/.debug/calls.debug
objcopy --strip-all --add-gnu-debuglink=linked/.debug/calls.debug $base linked/calls
say debuglink inlines linked/calls $base

mkdir -p wrong-crc/.debug
cp linked/calls wrong-crc/calls
objcopy --only-keep-debug --add-section .more=/dev/null $base wrong-crc/.debug/calls.debug
printf x >>wrong-crc/.debug/calls.debug
say wrong-crc nothing wrong-crc/calls $base

id=$(readelf -n $base | sed -n 's/.*Build ID: //p')
rest=${id#??}
directory=debug-root/.build-id/${id%"$rest"}
mkdir -p "$directory"
objcopy --only-keep-debug --compress-debug-sections $base "$directory/$rest.debug"
strip --strip-all -o by-build-id $base
say by-build-id inlines by-build-id $base "$out/debug-root"

strip --strip-debug -o symtab $base
say symtab functions symtab $base
strip --strip-all -o stripped $base
say stripped nothing stripped $base

if have xz; then
    objcopy --strip-debug $base mini.elf
    xz -k -c mini.elf >mini.xz
    objcopy --strip-all --add-section .gnu_debugdata=mini.xz $base mini
    say mini functions mini $base
fi
if have dwz; then
    for version in 4 5; do
        mkdir "dwz$version"
        cp cxx-dwarf$version "dwz$version/a"
        cp cxx-dwarf$version "dwz$version/b"
        if dwz -m "dwz$version/alternate.debug" -M alternate.debug "dwz$version/a" "dwz$version/b" 2>/dev/null &&
            readelf -SW "dwz$version/a" | grep -q gnu_debugaltlink; then
            say dwz-alternate$version inlines "dwz$version/a" "dwz$version/a"
        fi
        cp cxx-dwarf$version dwz-single$version
        if dwz dwz-single$version 2>/dev/null; then
            say dwz-single$version inlines dwz-single$version dwz-single$version
        fi
    done
fi

# Other small programs.
directory=$(dirname "$source")
$cxx -x c -O1 -Wl,-z,lazy -o plt-lazy "$directory/stubs.c"
$cxx -x c -O1 -Wl,-z,now -o plt-now "$directory/stubs.c"
case $($cxx -dumpmachine) in
    x86_64*) guarded="-fcf-protection=full -Wl,-z,ibtplt" ;;
    *) guarded="-mbranch-protection=standard -Wl,-z,force-bti" ;;
esac
# shellcheck disable=SC2086
$cxx -x c -O1 $guarded -Wl,-z,lazy -o plt-ibt "$directory/stubs.c"
$cxx -x c -O1 -fno-pie -no-pie -Wl,-z,lazy -o plt-fixed-address "$directory/stubs.c"
$cxx -nostdlib -shared -o neighbours-whole.so "$directory/neighbours.S"
strip --strip-all -o neighbours.so neighbours-whole.so
$cxx -nostdlib -shared -o unsized "$directory/unsized.S"
$cxx -O2 -g -shared -fPIC -Wl,--build-id -o library.so "$source"

# As distributions build, so that no path of the builder's is in the file: the unit's directory is relative itself.
for version in 4 5; do
    (cd "$directory" && $cxx -O2 -g -gdwarf-$version "-ffile-prefix-map=$directory=./shop" -o "$out/relative$version" calls.cpp)
done

for version in 4 5; do
    $cxx -O2 -g -gdwarf-$version -o cxx-lambdas$version "$directory/lambdas.cpp"
    $clang -O2 -g -gdwarf-$version -o clang-lambdas$version "$directory/lambdas.cpp"
    $gxx -O2 -g -gdwarf-$version -o gcc-lambdas$version "$directory/lambdas.cpp"
done
