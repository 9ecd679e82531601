"""The completion scripts of the shells.

Rules:
- A script passes the words up to the cursor to `kafkawire completion words`, and offers the values that it prints.
  Bash passes the line, because its words are split at `=` and `:`.
- A line is `value<TAB>description`. The line `@files` stands for the names of files, which the shell completes itself.
- A value that ends in `=` is not followed by a space.
- Errors print nothing, because they would disturb the line that is being typed.
"""

from typing import Final

_BASH: Final = r"""# bash completion for kafkawire; load it with: source <(kafkawire completion bash)
_kafkawire() {
    local value description
    COMPREPLY=()
    while IFS=$'\t' read -r value description; do
        if [[ $value == @files ]]; then
            compopt -o filenames 2>/dev/null
            while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -f -- "$2")
            continue
        fi
        [[ $value == *= ]] && compopt -o nospace 2>/dev/null
        printf -v description %q "$value"
        [[ $value == *[[:space:]\'\"\\\$\&\|\;\(\)\<\>\`*?[\]!#]* ]] && value=$description
        COMPREPLY+=("$value")
    done < <(kafkawire completion words --line "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -F _kafkawire kafkawire
"""
_ZSH: Final = r"""#compdef kafkawire
# zsh completion for kafkawire; load it with: source <(kafkawire completion zsh)
_kafkawire() {
    local line value
    local -a plain open plain_text open_text
    while IFS= read -r line; do
        value=${line%%$'\t'*}
        if [[ $value == @files ]]; then
            _files
        elif [[ $value == *= ]]; then
            open+=("$value")
            open_text+=("$value  ${line#*$'\t'}")
        else
            plain+=("$value")
            plain_text+=("$value  ${line#*$'\t'}")
        fi
    done < <(kafkawire completion words -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
    (( $#plain )) && compadd -l -d plain_text -a plain
    (( $#open )) && compadd -l -S '' -d open_text -a open
    return 0
}
if [[ $funcstack[1] == _kafkawire ]]; then
    _kafkawire "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
    compdef _kafkawire kafkawire
fi
"""
_FISH: Final = r"""# fish completion for kafkawire; load it with: kafkawire completion fish | source
function __kafkawire_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (kafkawire completion words -- $words[2..-1] 2>/dev/null)
        if test "$line" = @files
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c kafkawire -f -a '(__kafkawire_complete)'
"""
SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
