#!/bin/sh
# fuzz.sh TARGET FINDS CORPUS SECONDS: fuzzes on from what was found before and from the corpus.
set -eu
target=$1 finds=$2 corpus=$3 seconds=$4
mkdir -p "$finds"
# No limit on memory: libdw makes room for every register up to the highest number that a hostile file names, which is
# mostly never touched.
ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1 exec "$target" -max_total_time="$seconds" -timeout=100 \
    -rss_limit_mb=0 -print_final_stats=1 -verbosity=0 -artifact_prefix="$finds-broken-" "$finds" "$corpus"
