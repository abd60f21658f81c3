# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Completes the command crochet in bash: commands, options and the values of options, as its --help
# prints them; everything else is a file.
_crochet() {
  local word=$2 previous=$3 command='' help words i
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} != -* ]]; then
      command=${COMP_WORDS[i]}
      break
    fi
  done
  help=$("$1" ${command:+"$command"} --help 2>/dev/null) || return

  if [[ $previous == -* && $help =~ " $previous "[A-Z]*:\{([a-z,]+)\} ]]; then
    words=${BASH_REMATCH[1]//,/ }
  elif [[ $word == -* ]]; then
    words=$(sed -n 's/^  \(-[^ ]*\).*/\1/p' <<<"${help//,-/$'\n  -'}")
  elif [[ -z $command ]]; then
    words=$(sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\).*/\1/p' <<<"$help")
  else
    return
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _crochet -o default crochet
