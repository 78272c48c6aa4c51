# bash completion of flameprobe and flameprobe-render. Commands and options are asked of the programs themselves.

_flameprobe_options() {  # PROGRAM [COMMAND]
    "$@" --help 2>/dev/null </dev/null | grep -oE -- '(^|[[:space:],])--?[A-Za-z][A-Za-z-]*' | tr -d ' ,\t' | sort -u
}

_flameprobe_words() {  # WORDS
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "${COMP_WORDS[COMP_CWORD]}")
}

_flameprobe() {
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} i
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _flameprobe_words "$("$program" --help 2>/dev/null </dev/null |
            sed -nE 's/^(Usage:)? *flameprobe ([a-z]+)( .*|$)/\2/p') --help --version"
        return
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then  # what follows is a command
            if ((i + 1 == COMP_CWORD)); then mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word"); fi
            return
        fi
    done
    if [[ $word == -* ]]; then
        _flameprobe_words "$(_flameprobe_options "$program" "$command")"
    elif [[ $command == doctor || $command == stat || $command == run ]] && [[ $before == "$command" ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word")
    fi
}

_flameprobe_render() {
    COMPREPLY=()
    if [[ ${COMP_WORDS[COMP_CWORD]} == -* ]]; then _flameprobe_words "$(_flameprobe_options "${COMP_WORDS[0]}")"; fi
}

# Where there is nothing of ours: names of files.
complete -o bashdefault -o default -F _flameprobe flameprobe
complete -o bashdefault -o default -F _flameprobe_render flameprobe-render
