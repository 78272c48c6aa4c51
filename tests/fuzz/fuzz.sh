#!/bin/sh
# fuzz.sh TARGET FINDS CORPUS SECONDS MEGABYTES: fuzzes on from what was found before and from the corpus. Requests for
# more memory at once than MEGABYTES are refused.
set -eu
target=$1 finds=$2 corpus=$3 seconds=$4 megabytes=$5
mkdir -p "$finds"
ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=$megabytes exec "$target" -max_total_time="$seconds" \
    -timeout=100 -rss_limit_mb=0 -print_final_stats=1 -verbosity=0 -artifact_prefix="$finds-broken-" "$finds" "$corpus"
