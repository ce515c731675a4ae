# Transom's marks for bash 4.4 or newer: where a prompt, a command and its output begin and end (OSC 133).
# In ~/.bashrc, as the last line:  eval "$(transom shell-init bash)"
if [[ $- == *i* && ${TERM-} != dumb && -n ${BASH_VERSION-} ]]; then
  __transom_a='\[\e]133;A\a\]' __transom_b='\[\e]133;B\a\]' __transom_c='\e]133;C\a'
  # A command has run since the last prompt: noted when PS0 is expanded, which happens before each command.
  __transom_ran=0
  # From 5.1 on, PROMPT_COMMAND may be several commands.
  __transom_many=$((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501))
  if shopt -q promptvars; then __transom_c+='${__transom_none[$((__transom_ran=1,0))]-}'; else __transom_ran=always; fi

  # First of the prompt's commands: says how the last command ended, and leaves $? as it was.
  __transom_end() {
    local code=$?
    # A program that was killed may have left reports of the mouse and of focus on: they would be typed here.
    [[ $__transom_ran == 0 ]] || printf '\e[?1000;1002;1003;1004;1005;1006l\e]133;D;%s\a' "$code"
    [[ $__transom_ran == always ]] || __transom_ran=0
    return "$code"
  }
  # Last of them: whatever the others made of the prompts, the marks stand around them once.
  __transom_begin() {
    local code=$?
    PS1=${PS1//"$__transom_a"/} PS1=${PS1//"$__transom_b"/} PS0=${PS0-}
    PS1=$__transom_a$PS1$__transom_b PS0=${PS0//"$__transom_c"/}$__transom_c
    # One that was added later may write the prompt too: from the next prompt on, this is the last again.
    if ((__transom_many)) && [[ ${PROMPT_COMMAND[-1]} != __transom_begin ]]; then
      local each others=()
      for each in "${PROMPT_COMMAND[@]}"; do [[ $each == __transom_begin ]] || others+=("$each"); done
      PROMPT_COMMAND=("${others[@]}" __transom_begin)
    fi
    return "$code"
  }
  if [[ " ${PROMPT_COMMAND[*]-} " != *__transom_end* ]]; then
    if ((__transom_many)); then
      # Each element begins with the $? and PIPESTATUS of the last command.
      PROMPT_COMMAND=(__transom_end "${PROMPT_COMMAND[@]}" __transom_begin)
    else
      PROMPT_COMMAND=$'__transom_end\n'${PROMPT_COMMAND-}$'\n__transom_begin'
    fi
  fi
fi
