# fish completion of flameprobe and flameprobe-render. Commands and options are asked of the programs themselves.

function __flameprobe_options  # PROGRAM [COMMAND]
    $argv --help 2>/dev/null </dev/null | string match -rag -- '(?:^|[\s,])(--?[A-Za-z][A-Za-z-]*)' | sort -u
end

function __flameprobe_commands
    flameprobe --help 2>/dev/null </dev/null | string match -rg -- '^(?:Usage:)? *flameprobe ([a-z]+)(?: |$)'
end

complete -c flameprobe -n __fish_use_subcommand -f -a '(__flameprobe_commands)'
complete -c flameprobe -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -f \
    -a '(__flameprobe_options flameprobe (commandline -opc)[2])'
complete -c flameprobe-render -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__flameprobe_options flameprobe-render)'
